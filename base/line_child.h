// SPDX-License-Identifier: Apache-2.0
// LineChild: a child process that is spoken to by lines of text, over its standard input and output. Nothing that it
// does holds up the caller for longer than the caller says: it may not read, not write, write without end, close its
// descriptors or ignore SIGTERM.
//
// The child is the first of a process group of its own. The child and what is left in its group end, by SIGKILL, when
// this object ends; a process that has moved to another group, as daemons do, does not. The child itself, though not
// what it has started, also ends with the thread that started it, however that ends: a parent that is killed leaves
// no child at work. Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/time.h"
#include "base/status.h"

namespace millrace {

struct LineCommand {
  std::vector<std::string> argv;                             // argv[0] is looked up in PATH if it has no slash
  std::string name = {};                                     // for messages; empty: argv[0]
  std::optional<std::vector<std::string>> environment = {};  // all of it; nothing: that of this process
  // Descriptors of this process, and the numbers under which the child has them, which are above 2. No descriptor has
  // the number of another.
  std::vector<std::pair<int, int>> descriptors = {};
  std::shared_ptr<const void> kept = {};  // until the child has ended
};

class LineChild {
 public:
  // How much of what the child says and is told is kept for Transcript.
  static constexpr std::size_t kKeptLines = 200;

  // Starts the child in the working directory of this process. Fails if it cannot be started.
  [[nodiscard]] static Result<std::unique_ptr<LineChild>> Start(LineCommand command);
  [[nodiscard]] static Result<std::unique_ptr<LineChild>> Start(std::vector<std::string> argv) {
    return Start(LineCommand{std::move(argv)});
  }
  LineChild(const LineChild&) = delete;
  LineChild& operator=(const LineChild&) = delete;
  ~LineChild();

  // Sends the text, and reads lines until one begins with the word `last`. Returns the lines before it, each with its
  // newline, and that line as *end without its newline. Fails with kUnavailable, in words that say what happened, if
  // the child has ended, closed its output, not answered within `patience`, or written more than `most` bytes without
  // such a line; the child is of no use then, and every
  // further call fails in the same way.
  [[nodiscard]] Result<std::string> Ask(std::string_view text, std::string_view last, Micros patience, std::size_t most,
                                        std::string* end);

  // Returns the last lines in both directions ("> " to the child, "< " from it), and the last that it wrote to
  // standard error. Long lines are cut.
  [[nodiscard]] std::string Transcript() const;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  LineChild(pid_t pid, int lines, int errors, std::string name, std::shared_ptr<const void> kept)
      : kept_until_ended_(std::move(kept)), pid_(pid), lines_(lines), errors_(errors), name_(std::move(name)) {}
  void Keep(char direction, std::string_view text);
  void ReadErrors();
  [[nodiscard]] Result<std::string> Answer(std::string_view text, std::string_view last, Micros patience,
                                           std::size_t most, std::string* end);
  void AwaitEnd() const;
  [[nodiscard]] Status Ended(const std::string& how);

  const std::shared_ptr<const void> kept_until_ended_;
  const pid_t pid_;
  const int lines_;  // this process's end of its standard input and output
  int errors_;       // -1: closed
  const std::string name_;
  std::string unread_;  // what the child wrote after the last answer
  std::deque<std::string> kept_;
  std::string said_;  // the end of its standard error
  Status failed_;     // the first failure
  bool reaped_ = false;
};

}  // namespace millrace
