// SPDX-License-Identifier: Apache-2.0
// The channel between a worker daemon and a task process: framed Cap'n Proto messages (base/protocol/task.capnp) over a
// socket pair. A frame is: u32 magic, u32 length in bytes, u32 crc32c of the message, then the message in its flat form
// (whole words).
//
// The task blocks (Channel); the daemon is driven by events and feeds received bytes to a FrameParser. The peer is
// another process and may be broken, so a message is used only if its magic, length and checksum are right. Thread
// rule: Channel::Write may be called from any thread, Channel::Read from one; the rest are values.
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

inline constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20;  // of a daemon
inline constexpr std::size_t kMaxFromTaskBytes = std::size_t{4} << 20;  // of a task
inline constexpr std::size_t kFrameHeaderBytes = 12;

// A received message. A reader may go over each word only a few times. Reading throws kj::Exception, which the caller
// catches, if the message is malformed in spite of its checksum.
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

// Returns the frame of a message; kInvalid if the message is larger than kMaxMessageBytes.
[[nodiscard]] Result<std::string> EncodeFrame(capnp::MessageBuilder& message);

// FrameParser takes bytes and returns messages. It buffers at most one message of the greatest length and the bytes
// that were fed together with its end.
class FrameParser {
 public:
  explicit FrameParser(std::size_t longest = kMaxMessageBytes) : longest_(longest) {}
  void Feed(std::string_view bytes);
  // Returns the next whole message, or none until more bytes are fed. Returns kCorrupt if the bytes are not a frame,
  // and then at every later call.
  [[nodiscard]] Result<std::optional<Message>> Next();
  // Returns true if no bytes of an unfinished frame are buffered.
  [[nodiscard]] bool AtBoundary() const { return consumed_ == buffer_.size(); }

 private:
  std::size_t longest_;
  std::string buffer_;
  std::size_t consumed_ = 0;
  Status failure_;
};

// The blocking end of a channel, over a descriptor that it owns.
class Channel {
 public:
  explicit Channel(Fd fd) : fd_(std::move(fd)) {}

  // Waits for a message; returns none if the peer closed its end. Returns kCorrupt if the bytes are not a frame, or end
  // inside a frame.
  [[nodiscard]] Result<std::optional<Message>> Read();
  // Sends the whole message. Returns kUnavailable, and raises no signal, if the peer went away.
  [[nodiscard]] Status Write(capnp::MessageBuilder& message);

  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  FrameParser parser_;
  std::mutex write_mutex_;
};

}  // namespace millrace::task
