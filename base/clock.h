// SPDX-License-Identifier: Apache-2.0
// Clock: wall time that tests can drive. Pure logic takes a time as an argument; code that must ask for the time takes
// a Clock. Control threads take their timers from KJ (kj::Timer), which tests drive as well; a Clock stamps files and
// journals.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids/time.h"

namespace millrace {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Micros Now() const = 0;  // any thread
};

// The machine's clock.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Micros Now() const override;
};

// A clock that stands still until Set or Advance moves it. Thread rule: any thread.
class DrivenClock final : public Clock {
 public:
  explicit DrivenClock(Micros start) : now_(start) {}
  [[nodiscard]] Micros Now() const override { return now_.load(std::memory_order_relaxed); }
  void Set(Micros now) { now_.store(now, std::memory_order_relaxed); }
  void Advance(Micros by) { now_.fetch_add(by, std::memory_order_relaxed); }

 private:
  std::atomic<Micros> now_;
};

}  // namespace millrace
