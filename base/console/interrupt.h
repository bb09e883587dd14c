// Interrupt: SIGINT and SIGTERM as something that a command can see between two steps, so that it cleans up. The first
// one is noticed; after it both have their usual effect again, so that a second one ends a command that hangs. Thread
// rule: it is made on the main thread before others start (they inherit what is blocked); Seen and fd from any thread.
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
  // Returns a descriptor for poll(2) that is readable once the signal has come.
  [[nodiscard]] int fd() const { return seen_.get(); }

 private:
  void Wait();

  Fd signals_, seen_, quit_;
  std::atomic<int> signal_ = 0;
  std::thread thread_;
};

}  // namespace millrace::console
