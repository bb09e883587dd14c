// SPDX-License-Identifier: Apache-2.0
// The terminal of `millrace top`: its other screen, its size, and the signals that concern it. Thread rule: the main
// thread.
#pragma once

#include <termios.h>

#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "base/console/console.h"
#include "base/file.h"
#include "base/status.h"
#include "client/top/screen.h"

namespace millrace::top {

// Makes SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT and SIGWINCH readable from a descriptor, so that the terminal is
// restored whichever comes. Requires: made before other threads start, so that they inherit the blocked signals.
class Signals {
 public:
  Signals();  // throws std::system_error if the system refuses the descriptor
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Give the signals their usual effect again, and take it from them. The threads of the process keep what they
  // inherited.
  void Release();
  void Hold();
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] int Next();  // a signal that has come; 0 if there is none

 private:
  sigset_t set_{};
  Fd fd_;
};

// While it lives, the terminal shows the other screen without a cursor, and keys come one by one without an echo.
class Terminal {
 public:
  explicit Terminal(const console::Console& console) : console_(console) {}
  ~Terminal() { Leave(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] Status Enter();
  void Leave();  // restores what was there before; does nothing after a Leave
  // Stops the process as Ctrl-Z does, with the terminal restored; returns when the process goes on.
  [[nodiscard]] Status Suspend();

  [[nodiscard]] Size size() const;
  [[nodiscard]] Status Write(std::string_view bytes) const;
  // Returns the bytes that have come; kUnavailable if the terminal is gone.
  [[nodiscard]] Result<std::string> Read() const;

 private:
  console::Console console_;
  std::optional<termios> before_;
};

}  // namespace millrace::top
