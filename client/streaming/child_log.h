// SPDX-License-Identifier: Apache-2.0
// ChildLog takes what a child writes to standard error. Lines that begin with "reporter:" raise counters and set the
// status of the task, as Hadoop Streaming has it:
//   reporter:counter:GROUP,NAME,AMOUNT
//   reporter:status:TEXT
// All other lines, and reports that are not of this form, go to the attempt's log. The last lines are kept for the
// message of a failure.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::streaming {

class ChildLog {
 public:
  struct Sinks {
    std::function<void(std::string_view group, std::string_view name, std::int64_t amount)> count;
    std::function<void(std::string_view status)> status;
    std::function<void(std::string_view bytes)> log;
  };
  explicit ChildLog(Sinks sinks) : sinks_(std::move(sinks)) {}

  void Take(std::string_view bytes);
  // Ends the last line, which may lack its \n.
  void End();
  // Forgets the last lines.
  void Clear() { last_.clear(); }

  // Returns the last lines, printable, on one line with " | " between them; as many as fit into kLongestText bytes, and
  // one at least. Empty if there are none.
  [[nodiscard]] std::string LastLines() const;

  static constexpr std::size_t kLines = 20;
  // The longest part of a line that is looked at or kept; the rest of a longer line goes to the log alone.
  static constexpr std::size_t kLongestLine = 1024;
  static constexpr std::size_t kLongestText =
      3000;  // a task may report 4 KiB, and the rest of the message has its part

 private:
  void EndLine();
  // Returns true if the line is a report, which is then taken.
  bool Report(std::string_view line) const;

  Sinks sinks_;
  std::string line_;       // the beginning of the line that has not ended
  bool too_long_ = false;  // that line, whose beginning has gone to the log
  std::deque<std::string> last_;
};

}  // namespace millrace::streaming
