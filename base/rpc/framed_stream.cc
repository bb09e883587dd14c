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
    : stream_(stream), timer_(timer), writer_(stream), share_(std::move(share)), grown_(kj::mv(grown)) {}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> FramedStream::tryReadMessage(kj::ArrayPtr<kj::AutoCloseFd>,
                                                                                capnp::ReaderOptions options,
                                                                                kj::ArrayPtr<capnp::word>) {
  using Message = kj::Maybe<capnp::MessageReaderAndFds>;
  auto own = kj::heap<Incoming>(share_);
  Incoming& message = *own;
  return stream_.tryRead(message.first, 1, sizeof message.first)
      .then([this, options, own = kj::mv(own)](std::size_t got) mutable -> kj::Promise<Message> {
        if (got == 0) return Message(nullptr);
        reading_since_ = timer_.now();
        Incoming& arriving = *own;
        return ReadAll(arriving.first + got, sizeof arriving.first - got)
            .then([this, options, &arriving] { return ReadSizes(arriving, options); })
            .then([this, &arriving] { return ReadBody(arriving); })
            .then([this, options, own = kj::mv(own)]() mutable -> Message {
              reading_since_.reset();
              const auto segments = own->Segments();
              auto reader = kj::heap<capnp::SegmentArrayMessageReader>(segments, options);
              return capnp::MessageReaderAndFds{reader.attach(kj::mv(own)), nullptr};
            });
      });
}

kj::Promise<void> FramedStream::ReadAll(void* out, std::size_t size) {
  if (size == 0) return kj::READY_NOW;
  return stream_.tryRead(out, size, size).then([size](std::size_t got) -> kj::Promise<void> {
    if (got < size) return ToException(Unavailable("the peer left in the middle of a message"));
    return kj::READY_NOW;
  });
}

kj::Promise<void> FramedStream::ReadSizes(Incoming& message, const capnp::ReaderOptions& options) {
  const std::uint32_t more = LittleEndian(message.first);  // the segments after the first
  if (more >= kMostSegments) return ToException(Unavailable("a message has too many segments"));
  message.others.resize((more + more % 2) * 4);
  return ReadAll(message.others.data(), message.others.size())
      .then([&message, more, most = options.traversalLimitInWords]() -> kj::Promise<void> {
        std::vector<std::uint32_t> sizes = {LittleEndian(message.first + 4)};
        for (std::uint32_t i = 0; i < more; ++i) sizes.push_back(LittleEndian(message.others.data() + i * 4));
        message.SetSizes(std::move(sizes));
        if (message.total() <= most) return kj::READY_NOW;
        return ToException(Unavailable("a message has " + std::to_string(message.total() * 8) +
                                       " bytes, more than the " + std::to_string(most * 8) + " that are taken"));
      });
}

kj::Promise<void> FramedStream::ReadBody(Incoming& message) {
  if (message.Complete()) return kj::READY_NOW;
  if (message.Full()) {
    message.Grow();
    grown_();
  }
  kj::ArrayPtr<kj::byte> room = message.Room();
  const std::size_t some =
      std::min(room.size(), kMostAtOnce);  // so that even thousands of senders do not hold up the loop
  return stream_.tryRead(room.begin(), some, some)
      .then([this, &message, size = some](std::size_t got) -> kj::Promise<void> {
        if (got < size) return ToException(Unavailable("the peer left in the middle of a message"));
        message.Came(got);
        return ReadBody(message);
      });
}

kj::Promise<void> FramedStream::Timed(kj::Promise<void> write) {
  writing_since_ = timer_.now();
  return write.then([this] { writing_since_.reset(); });
}

kj::Promise<void> FramedStream::writeMessage(kj::ArrayPtr<const int>,
                                             kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  return Timed(writer_.writeMessage(nullptr, segments));
}

kj::Promise<void> FramedStream::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  return Timed(writer_.writeMessages(messages));
}

}  // namespace millrace::rpc
