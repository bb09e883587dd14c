// The channel between a worker daemon and a task process: framed Cap'n Proto messages (base/protocol/task.capnp) over a
// socket pair. Frame: u32 magic, u32 length in bytes, u32 crc32c of the message, then the message in its flat form
// (whole words).
//
// The task blocks (Channel); the daemon is event driven and feeds what it received to a FrameParser. A peer is another
// process and may be broken: nothing is believed before magic, length and checksum fit.
// Thread rule: Channel::Write from any thread, Channel::Read from one; the rest as values.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::task {

inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20;
inline constexpr std::size_t kFrameHeaderBytes = 12;

// A received message. Reading it goes over each word a few times at most, and throws kj::Exception (a border of ours)
// when the message is malformed in spite of its checksum.
class Message {
 public:
  explicit Message(std::vector<capnp::word> words);

  template <class T>
  [[nodiscard]] typename T::Reader Root() const {
    return reader_->getRoot<T>();
  }

 private:
  std::vector<capnp::word> words_;
  std::unique_ptr<capnp::FlatArrayMessageReader> reader_;
};

// The frame of a message. kInvalid when it is larger than kMaxMessageBytes.
[[nodiscard]] Result<std::string> EncodeFrame(capnp::MessageBuilder& message);

// Bytes in, messages out.
class FrameParser {
 public:
  void Feed(std::string_view bytes);
  // The next whole message, or none until more is fed. kCorrupt when the bytes are no frame; it stays so.
  [[nodiscard]] Result<std::optional<Message>> Next();
  // Nothing of an unfinished frame is held.
  [[nodiscard]] bool AtBoundary() const { return consumed_ == buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t consumed_ = 0;
  Status failure_;
};

// The blocking end, over a descriptor that it owns.
class Channel {
 public:
  explicit Channel(Fd fd) : fd_(std::move(fd)) {}

  // Waits for a message; none when the peer closed its end. kCorrupt for bytes that are no frame or an end inside of
  // one.
  [[nodiscard]] Result<std::optional<Message>> Read();
  // Sends the message whole. A peer that went away is kUnavailable and raises no signal.
  [[nodiscard]] Status Write(capnp::MessageBuilder& message);

  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  FrameParser parser_;
  std::mutex write_mutex_;
};

}  // namespace millrace::task
