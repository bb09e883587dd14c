// SPDX-License-Identifier: Apache-2.0
// Console: the descriptors that a command reads from and writes to, and helpers that format its output. It is passed
// in, so that tests see what users see. Thread rule: values; a Printer belongs to one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace millrace::console {

inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2, kUnreachable = 3;  // exit statuses of every command
inline constexpr int kAtRisk = 4;         // of health commands: all works, but one more failure would change that
inline constexpr int kInterrupted = 130;  // a shell's status for SIGINT, for commands that report it

struct Console {
  int in = 0, out = 1, err = 2;
  bool in_is_terminal = false, out_is_terminal = false, err_is_terminal = false;
  // The first failure of a Printer of this console or of a copy of it. The runner of commands (cli::RunCli) turns it
  // into a failure of the command: lost output is not a success.
  std::shared_ptr<Status> unwritten = std::make_shared<Status>();
};
[[nodiscard]] Console SystemConsole();

// Prints "millrace: WHAT: MESSAGE" and a newline on the error descriptor, made printable (base/text.h), since names
// come from anywhere.
void SayError(const Console& console, std::string_view what, const Status& failure);
// Prints one line on the error descriptor.
void SayLine(const Console& console, std::string_view line);

// Writes to `fd`; `name` is for messages. If `fd` is a pipe whose reader has closed it (`| head`), SIGPIPE ends the
// process without a message, as it ends other tools in a pipe.
[[nodiscard]] Status WriteOut(int fd, std::string_view bytes, std::string_view name = "standard output");

// Writes text to standard output in pieces of 64 KiB, as WriteOut does. Flush writes the rest; so does the destructor.
// The first failure is recorded in the console (`unwritten`).
class Printer {
 public:
  explicit Printer(const Console& console) : fd_(console.out), unwritten_(console.unwritten) {}
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;
  ~Printer();
  // Writes the text. If a write fails, Flush returns the failure, and all later text is dropped.
  Printer& operator<<(std::string_view text);
  [[nodiscard]] bool failed() const { return !failure_.ok(); }
  Status Flush();

 private:
  int fd_;
  std::shared_ptr<Status> unwritten_;
  std::string buffer_;
  Status failure_;
};

// These pad `text` with spaces to `width` bytes, after it (Left) or before it (Right).
[[nodiscard]] std::string Left(std::string_view text, std::size_t width);
[[nodiscard]] std::string Right(std::string_view text, std::size_t width);
// Returns the time in UTC, "2026-01-31 12:00:05"; "-" for 0.
[[nodiscard]] std::string FormatTime(Micros time);

}  // namespace millrace::console
