// SPDX-License-Identifier: Apache-2.0
// Cap'n Proto's framing: a u32 with the number of segments minus one, a u32 with the words of each segment, padding to
// a whole word, then the segments. Numbers are little-endian.
#include "base/rpc/framed_stream.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rpc/status_codec.h"

namespace millrace::rpc {
namespace {

constexpr std::uint32_t kMostSegments = 512;
constexpr std::size_t kMostAtOnce = 64 << 10;
constexpr std::size_t kAheadBytes = 1 << 10;           // room for a few common messages, which each connection holds
constexpr std::size_t kMostGathered = 4 << 10;         // bytes that are not counted as waiting for the peer
constexpr std::size_t kFirstWords = 512, kGrowth = 4;  // 4 KiB are taken before a byte of the body has come

std::uint32_t LittleEndian(const kj::byte* bytes) {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

}  // namespace

void MessageMemory::Share::Add(std::uint64_t bytes) {
  bytes_ += bytes;
  if (!left_) all_->bytes_ += bytes;
}

void MessageMemory::Share::Remove(std::uint64_t bytes) {
  MILLRACE_CHECK(bytes <= bytes_, "more is given back than was taken");
  bytes_ -= bytes;
  if (!left_) all_->bytes_ -= bytes;
}

void MessageMemory::Share::Leave() {
  if (std::exchange(left_, true)) return;
  all_->bytes_ -= bytes_;
}

// A message that is arriving. Once it is complete, its reader points into it.
class FramedStream::Incoming {
 public:
  explicit Incoming(std::shared_ptr<MessageMemory::Share> share) : share_(std::move(share)) {}
  ~Incoming() { share_->Remove(words_.size() * sizeof(capnp::word)); }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  [[nodiscard]] bool Full() const { return have_ == words_.size() * sizeof(capnp::word); }
  [[nodiscard]] bool Complete() const { return have_ == total_ * sizeof(capnp::word); }
  void Grow() {
    const std::size_t size = std::min(total_, std::max(kFirstWords, words_.size() * kGrowth));
    auto larger = kj::heapArray<capnp::word>(size);
    if (have_ > 0) std::memcpy(larger.begin(), words_.begin(), have_);
    share_->Add((size - words_.size()) * sizeof(capnp::word));
    words_ = kj::mv(larger);
  }
  [[nodiscard]] kj::ArrayPtr<kj::byte> Room() { return words_.asBytes().slice(have_, words_.size() * 8); }
  void Came(std::size_t bytes) { have_ += bytes; }
  void SetSizes(std::vector<std::uint32_t> sizes) {
    sizes_ = std::move(sizes);
    for (const std::uint32_t size : sizes_) total_ += size;
  }
  [[nodiscard]] std::size_t total() const { return total_; }

  // Returns the segments of the message, which live as long as this object. Requires: it is called once.
  kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> Segments() {
    std::size_t at = 0;
    for (const std::uint32_t size : sizes_) {
      segments_.emplace_back(words_.begin() + at, size);
      at += size;
    }
    return {segments_.data(), segments_.size()};
  }

  kj::byte first[8] = {};        // the count of segments and the size of the first
  std::vector<kj::byte> others;  // the sizes of the others

 private:
  std::shared_ptr<MessageMemory::Share> share_;
  std::vector<std::uint32_t> sizes_;
  std::vector<kj::ArrayPtr<const capnp::word>> segments_;
  kj::Array<capnp::word> words_;
  std::size_t total_ = 0;  // words
  std::size_t have_ = 0;   // bytes
};

FramedStream::FramedStream(kj::AsyncIoStream& stream, kj::Timer& timer, std::shared_ptr<MessageMemory::Share> share,
                           kj::Function<void()> grown)
    : stream_(stream),
      timer_(timer),
      share_(std::move(share)),
      grown_(kj::mv(grown)),
      ahead_(kj::heapArray<kj::byte>(kAheadBytes)) {}

kj::Promise<FramedStream::MaybeMessage> FramedStream::tryReadMessage(kj::ArrayPtr<kj::AutoCloseFd>,
                                                                     capnp::ReaderOptions options,
                                                                     kj::ArrayPtr<capnp::word>) {
  if (unread_.size() > 0) return ReadMessage(options);
  return stream_.tryRead(ahead_.begin(), 1, ahead_.size())
      .then([this, options](std::size_t got) -> kj::Promise<MaybeMessage> {
        if (got == 0) return MaybeMessage(nullptr);
        unread_ = ahead_.slice(0, got);
        return ReadMessage(options);
      });
}

// Nothing below waits for a message that was read ahead as a whole, as most are.
kj::Promise<FramedStream::MaybeMessage> FramedStream::ReadMessage(const capnp::ReaderOptions& options) {
  reading_since_ = timer_.now();
  auto own = kj::heap<Incoming>(share_);
  Incoming& message = *own;
  return AfterRead(kj::arrayPtr(message.first, sizeof message.first),
                   [this, options, own = kj::mv(own)]() mutable { return ReadSizes(kj::mv(own), options); });
}

std::size_t FramedStream::TakeUnread(kj::ArrayPtr<kj::byte> out) {
  const std::size_t size = std::min(out.size(), unread_.size());
  if (size > 0) std::memcpy(out.begin(), unread_.begin(), size);
  unread_ = unread_.slice(size, unread_.size());
  return size;
}

template <class Then>
kj::Promise<FramedStream::MaybeMessage> FramedStream::AfterRead(kj::ArrayPtr<kj::byte> out, Then then) {
  const std::size_t missing = out.size() - TakeUnread(out);
  if (missing == 0) return then();
  return stream_.tryRead(out.end() - missing, missing, missing)
      .then([missing, then = kj::mv(then)](std::size_t got) mutable -> kj::Promise<MaybeMessage> {
        if (got < missing) return ToException(Unavailable("the peer hung up in the middle of a message"));
        return then();
      });
}

kj::Promise<FramedStream::MaybeMessage> FramedStream::ReadSizes(kj::Own<Incoming> own,
                                                                const capnp::ReaderOptions& options) {
  Incoming& message = *own;
  const std::uint32_t more = LittleEndian(message.first);  // the segments after the first
  if (more >= kMostSegments) return ToException(Unavailable("a message has too many segments"));
  message.others.resize((more + more % 2) * 4);
  return AfterRead(
      {message.others.data(), message.others.size()},
      [this, options, more, own = kj::mv(own)]() mutable -> kj::Promise<MaybeMessage> {
        std::vector<std::uint32_t> sizes = {LittleEndian(own->first + 4)};
        for (std::uint32_t i = 0; i < more; ++i) sizes.push_back(LittleEndian(own->others.data() + i * 4));
        own->SetSizes(std::move(sizes));
        const std::uint64_t most = options.traversalLimitInWords;
        if (own->total() <= most) return ReadBody(kj::mv(own), options);
        return ToException(Unavailable("a message has " + std::to_string(own->total() * 8) + " bytes, more than the " +
                                       std::to_string(most * 8) + " that are allowed"));
      });
}

kj::Promise<FramedStream::MaybeMessage> FramedStream::ReadBody(kj::Own<Incoming> own,
                                                               const capnp::ReaderOptions& options) {
  Incoming& message = *own;
  if (message.Complete()) {
    reading_since_.reset();
    auto reader = kj::heap<capnp::SegmentArrayMessageReader>(message.Segments(), options);
    return MaybeMessage(capnp::MessageReaderAndFds{reader.attach(kj::mv(own)), nullptr});
  }
  if (message.Full()) {
    message.Grow();
    grown_();
  }
  kj::ArrayPtr<kj::byte> room = message.Room();
  // No more at once, so that even thousands of senders do not hold up the loop.
  room = room.slice(0, std::min(room.size(), kMostAtOnce));
  return AfterRead(room, [this, options, size = room.size(), own = kj::mv(own)]() mutable {
    own->Came(size);
    return ReadBody(kj::mv(own), options);
  });
}

void FramedStream::Gather(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  const auto number = [this](std::size_t value) {
    for (int shift = 0; shift < 32; shift += 8) gathered_.push_back(static_cast<kj::byte>(value >> shift));
  };
  number(segments.size() - 1);
  for (const auto& segment : segments) number(segment.size());
  if (segments.size() % 2 == 0) number(0);
  for (const auto& segment : segments) {
    const auto bytes = segment.asBytes();
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  }
}

kj::Promise<void> FramedStream::Write() {
  writing_ = true;
  writing_since_ = timer_.now();
  return stream_.write(gathered_.data(), gathered_.size()).then([this] {
    writing_ = false;
    writing_since_.reset();
    gathered_.clear();
    if (gathered_.capacity() > kMostGathered) gathered_.shrink_to_fit();
  });
}

kj::Promise<void> FramedStream::writeMessage(kj::ArrayPtr<const int>,
                                             kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  if (writing_) {
    return KJ_ASSERT_NONNULL(write_).addBranch().then([this, segments] { return writeMessage(nullptr, segments); });
  }
  if (gathered_.empty()) write_ = kj::evalLast([this] { return Write(); }).fork();
  Gather(segments);
  if (gathered_.size() <= kMostGathered) return kj::READY_NOW;
  return KJ_ASSERT_NONNULL(write_).addBranch();
}

kj::Promise<void> FramedStream::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  if (messages.size() == 0) return kj::READY_NOW;
  return writeMessage(nullptr, messages[0]).then([this, rest = messages.slice(1, messages.size())]() mutable {
    return writeMessages(rest);
  });
}

kj::Promise<void> FramedStream::end() {
  KJ_IF_MAYBE (write, write_) return write->addBranch().then([this] { stream_.shutdownWrite(); });
  stream_.shutdownWrite();
  return kj::READY_NOW;
}

}  // namespace millrace::rpc
