// SPDX-License-Identifier: Apache-2.0
#include "base/console/console.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/file.h"
#include "base/text.h"

namespace millrace::console {
namespace {

constexpr std::size_t kGathered = std::size_t{64} << 10;

void WriteLine(int fd, std::string_view line) {
  (void)WriteAll(fd, Printable(line) + "\n", "standard error");  // if it fails, there is nobody left to tell
}

}  // namespace

Console SystemConsole() {
  Console console;
  console.in_is_terminal = ::isatty(console.in) == 1;
  console.out_is_terminal = ::isatty(console.out) == 1;
  console.err_is_terminal = ::isatty(console.err) == 1;
  return console;
}

void SayError(const Console& console, std::string_view what, const Status& failure) {
  WriteLine(console.err, "millrace: " + std::string(what) + ": " + failure.message());
}

void SayLine(const Console& console, std::string_view line) { WriteLine(console.err, line); }

Status WriteOut(int fd, std::string_view bytes, std::string_view name) {
  Status written = WriteAll(fd, bytes, name);
  pollfd pipe{fd, POLLOUT, 0};
  if (written.ok() || ::poll(&pipe, 1, 0) != 1 || (pipe.revents & POLLERR) == 0) return written;
  // SIGPIPE is ignored, so that a connection that breaks ends no program.
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, SIGPIPE);
  ::signal(SIGPIPE, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(SIGPIPE);
  return written;
}

Printer::~Printer() { (void)Flush(); }

Printer& Printer::operator<<(std::string_view text) {
  if (!failure_.ok()) return *this;
  buffer_ += text;
  if (buffer_.size() >= kGathered) (void)Flush();
  return *this;
}

Status Printer::Flush() {
  if (failure_.ok() && !buffer_.empty()) failure_ = WriteOut(fd_, buffer_);
  if (unwritten_->ok()) *unwritten_ = failure_;
  buffer_.clear();
  return failure_;
}

std::string Left(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, text.size()), ' ');
}

std::string Right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + std::string(text);
}

std::string FormatTime(Micros time) {
  if (time == 0) return "-";
  const std::time_t seconds = time / kSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return {text, size};
}

}  // namespace millrace::console
