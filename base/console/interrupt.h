// SPDX-License-Identifier: Apache-2.0
// Interrupt lets a command see SIGINT or SIGTERM between two steps and clean up. The first signal is only noted. Then
// both signals regain their usual effect, so that a second signal ends a command that hangs. Thread rule: made on the
// main thread before others start (they inherit the blocked signals); Seen and fd from any thread.
#pragma once

#include <atomic>
#include <thread>

#include "base/file.h"

namespace millrace::console {

class Interrupt {
 public:
  Interrupt();  // throws std::system_error if the system refuses its descriptors or its thread
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] bool Seen() const { return signal_.load(std::memory_order_relaxed) != 0; }
  // Returns a descriptor for poll(2) that becomes readable when the signal comes.
  [[nodiscard]] int fd() const { return seen_.get(); }

 private:
  void Wait();

  Fd signals_, seen_, quit_;
  std::atomic<int> signal_ = 0;
  std::thread thread_;
};

}  // namespace millrace::console
