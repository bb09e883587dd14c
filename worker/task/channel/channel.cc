// SPDX-License-Identifier: Apache-2.0
#include "worker/task/channel/channel.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace::task {
namespace {

constexpr std::uint32_t kMagic = 0x4b53544d;  // "MTSK"
constexpr std::size_t kReceiveBytes = std::size_t{64} << 10;

capnp::ReaderOptions Limits(std::size_t words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 4 * words + 1024;
  options.nestingLimit = 16;
  return options;
}

}  // namespace

Message::Message(std::vector<capnp::word> words)
    : words_(std::move(words)),
      reader_(std::make_unique<capnp::FlatArrayMessageReader>(kj::arrayPtr(words_.data(), words_.size()),
                                                              Limits(words_.size()))) {}

Result<std::string> EncodeFrame(capnp::MessageBuilder& message) {
  const std::size_t size = capnp::computeSerializedSizeInWords(message) * sizeof(capnp::word);
  if (size > kMaxMessageBytes) {
    return Invalid("task channel: a message of " + std::to_string(size) + " bytes is longer than the limit of " +
                   std::to_string(kMaxMessageBytes));
  }
  const kj::Array<capnp::word> flat = capnp::messageToFlatArray(message);
  const auto bytes = flat.asBytes();
  const std::string_view body(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  Encoder frame;
  frame.U32(kMagic);
  frame.U32(static_cast<std::uint32_t>(body.size()));
  frame.U32(Crc32c(body));
  frame.Raw(body.data(), body.size());
  return frame.Take();
}

void FrameParser::Feed(std::string_view bytes) {
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  } else if (consumed_ > kReceiveBytes) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<Message>> FrameParser::Next() {
  MILLRACE_TRY(failure_);
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (rest.size() < kFrameHeaderBytes) return std::optional<Message>();
  Decoder header(rest.substr(0, kFrameHeaderBytes));
  const std::uint32_t magic = header.U32(), length = header.U32(), crc = header.U32();
  if (magic == kMagic && length > longest_) {
    return failure_ =
               Corrupt("task channel: a message of " + std::to_string(length) + " bytes is longer than the limit of " +
                       std::to_string(longest_) + "; use fewer counters, and a shorter status");
  }
  if (magic != kMagic || length == 0 || length % sizeof(capnp::word) != 0) {
    return failure_ = Corrupt("task channel: what came is not the beginning of a message");
  }
  if (rest.size() - kFrameHeaderBytes < length) return std::optional<Message>();
  const std::string_view body = rest.substr(kFrameHeaderBytes, length);
  if (Crc32c(body) != crc) return failure_ = Corrupt("task channel: a message does not match its checksum");
  std::vector<capnp::word> words(length / sizeof(capnp::word));
  std::memcpy(words.data(), body.data(), body.size());
  consumed_ += kFrameHeaderBytes + length;
  try {
    return std::optional<Message>(std::in_place, std::move(words));
  } catch (const kj::Exception& e) {
    return failure_ = Corrupt(std::string("task channel: malformed message: ") + e.getDescription().cStr());
  }
}

Result<std::optional<Message>> Channel::Read() {
  char bytes[kReceiveBytes];
  while (true) {
    MILLRACE_ASSIGN(std::optional<Message> message, parser_.Next());
    if (message) return message;
    const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != ECONNRESET) return FromErrno(errno, "task channel: receive");
    if (got <= 0) {
      if (!parser_.AtBoundary()) return Corrupt("task channel: the peer went away in the middle of a message");
      return std::optional<Message>();
    }
    parser_.Feed({bytes, static_cast<std::size_t>(got)});
  }
}

Status Channel::Write(capnp::MessageBuilder& message) {
  MILLRACE_ASSIGN(const std::string frame, EncodeFrame(message));
  const std::lock_guard lock(write_mutex_);
  std::string_view rest = frame;
  while (!rest.empty()) {
    const ssize_t sent = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return Unavailable("task channel: the peer went away");
    if (sent < 0) return FromErrno(errno, "task channel: send");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return Status::Ok();
}

}  // namespace millrace::task
