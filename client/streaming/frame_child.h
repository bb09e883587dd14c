// SPDX-License-Identifier: Apache-2.0
// The protocol of children that live for many attempts of a job (Io::kFrames), version 1, and such a child.
//
// The child is started as a command. Descriptor 3, whose number is also in MILLRACE_CHANNEL, is one stream socket for
// both directions. What it writes to its standard output and standard error goes to the attempt's log. A message is the
// length of its payload (32 bits, little-endian, as are all numbers here), a type of one byte, and the payload. The
// parent takes what the child writes while it writes itself, so that a child may read a message, compute, and write.
//
// The child begins with
//   H  JSON {"version":1, "language":"python 3.11.2"}
// For each attempt the parent sends
//   J  JSON {"kind":"map"|"map_only"|"reduce", "attempt", "partition", "maps", "reduces", "job",
//   "options":{NAME:VALUE},
//      "scratch": a directory of the attempt's own}
//   I  JSON {"path","name","index","number","offset","length"}: a file or block begins (maps). With "ranges":true and
//      "file_length" the child asks for what it needs of the file, and says N before anything else is sent
//   L  64 bits, the offset of the first byte in the file, and whole lines, each with its \n; the last of a file may
//   lack
//      it
//   R  records: (32 bits, the key's size; 32 bits, the value's size; key; value)*. Size 0xffffffff and no key: the key
//      of the record before, also of the message before. In a reduce they come in the order of their keys' bytes.
//   F  64 bits, the offset, and a piece of a whole file, or of the range that was asked for
//   E  the input of the attempt has ended
// and the child answers, at any time,
//   O  records for the reduces: (size of key, size of value, key, value)*; the hash of the key decides which reduce
//   Q  (size of key, size of group, size of value, key, value)*; the hash of the key's first bytes decides, as many as
//      the group has
//   P  (size of key, number of the reduce, size of value, key, value)*
//   W  8 bits, the length of a name; the name, empty for the part file; bytes of that output (map_only and reduce),
//      which are counted by their lines
//   G  64 bits, an offset, and 64 bits, a length: asks for this range of the file, which lies within it
//   N  nothing more is asked for of this file
//   C  JSON [["group","name",amount],...]: counters
//   S  text: the status of the task
//   A  a sign of life
//   X  JSON {"type","message","traceback":[lines],"record","path","offset"}: the attempt has failed
//   D  after E and all output: the attempt is done
// After X or D the child waits for the next J. It ends when the socket is closed.
// Thread rule: the task's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/streaming/child.h"

namespace millrace::streaming {

// Cuts bytes into messages.
class FrameCutter {
 public:
  using OnFrame = std::function<void(char type, std::string_view payload)>;
  explicit FrameCutter(OnFrame on_frame) : on_frame_(std::move(on_frame)) {}

  // Takes the next bytes. Returns false once a message is longer than kLongestFrame; the rest is then dropped.
  bool Take(std::string_view bytes);
  // Nothing of a message is left over.
  [[nodiscard]] bool between() const { return open_.empty(); }

  static constexpr std::size_t kHeadBytes = 5;
  static constexpr std::size_t kLongestFrame = std::size_t{256} << 20;

 private:
  std::size_t Give(std::string_view bytes);

  const OnFrame on_frame_;
  std::string open_;
  bool broken_ = false;
};

// Returns the head of a message: the length of its payload, and its type.
[[nodiscard]] std::string FrameHead(char type, std::size_t payload);

// A child that speaks the protocol. Its messages and its log go to whoever has it at the moment.
class FrameChild {
 public:
  // Receives what the child sends during an attempt.
  struct Receiver {
    FrameCutter::OnFrame frame;                 // all but H
    std::function<void(std::string_view)> log;  // what it writes to its standard streams
  };

  // Starts the child and waits for its H. Returns kInvalid if it ends before, or speaks another version.
  [[nodiscard]] static Result<std::unique_ptr<FrameChild>> Start(const ChildCommand& command, Receiver receiver);
  FrameChild(const FrameChild&) = delete;
  FrameChild& operator=(const FrameChild&) = delete;

  void Attach(Receiver receiver) { receiver_ = std::move(receiver); }
  void Detach() { receiver_ = {}; }
  // Sends a message whose payload is the two parts, and takes what comes meanwhile.
  Status Send(char type, std::string_view head, std::string_view body = {});
  // Takes messages until `enough` returns true. Returns kUnavailable if the child ends before.
  Status TakeUntil(const std::function<bool()>& enough);
  // The child has ended, or speaks nonsense: it is of no use.
  [[nodiscard]] bool over() const { return broken_ || child_->output_ended() || child_->left() > 0; }
  // Ends it. Returns how it ended, in words.
  [[nodiscard]] std::string End();

 private:
  explicit FrameChild(Receiver receiver) : receiver_(std::move(receiver)) {}
  void OnFrame(char type, std::string_view payload);

  Receiver receiver_;
  std::optional<Child> child_;
  std::optional<FrameCutter> cutter_;
  bool greeted_ = false, broken_ = false;
  std::string nonsense_;  // what was wrong
};

}  // namespace millrace::streaming
