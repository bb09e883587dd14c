// SPDX-License-Identifier: Apache-2.0
// The times of the master. SchedulerTime is the clock of the scheduler and the journal, MasterClock tells all times of
// the control strand, and Meters are the clocks that measure the master's own work. This is the only place where wall
// time becomes scheduler time. Thread rule: the control thread.
#pragma once

#include <kj/timer.h>

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace millrace::master {

// Shows microseconds since the epoch: the time of the wall clock as long as the wall clock runs well. If the wall clock
// is set back, SchedulerTime continues from where it was at the pace of the monotonic clock, and stays ahead of the
// wall clock. So every wait for a time (a retry, a wait for locality, the end of a refusal) lasts as long as it should.
// If the wall clock is set forward, SchedulerTime follows, and waits end early. Pure.
class SchedulerTime {
 public:
  // The times that both clocks show at a moment.
  struct Clocks {
    Micros wall = 0;
    Micros monotonic = 0;  // since an arbitrary moment; never decreases
  };

  // Starts after `last`, a time that an earlier process has already used.
  SchedulerTime(Micros last, const Clocks& clocks) : last_(last), seen_(clocks.monotonic) {}

  [[nodiscard]] Micros Now(const Clocks& clocks) const;
  // Returns the time for a new step: now, or the microsecond after the last step if that is later. No two steps have
  // the same time.
  Micros Step(const Clocks& clocks);

 private:
  Micros last_;  // of the last step
  Micros seen_;  // what the monotonic clock showed at the last step
};

class MasterClock {
 public:
  // Requires: both clocks outlive this.
  MasterClock(const Clock& wall, const kj::Timer& timer) : wall_(wall), timer_(timer), started_(Awake()) {}

  // Lets scheduler time start after `last`, a time that an earlier process has already used. Requires: nothing has
  // asked for scheduler time yet.
  void StartAfter(Micros last) { time_ = SchedulerTime(last, Shown()); }
  // Notes that the process was stopped for this time. All deadlines are extended by it.
  void StoodStill(Micros time) { asleep_ += time; }

  [[nodiscard]] Micros Wall() const { return wall_.Now(); }                   // since the epoch
  [[nodiscard]] Micros Now() const { return time_.Now(Shown()); }             // scheduler time
  [[nodiscard]] Micros ForStep() { return time_.Step(Shown()); }              // the scheduler time of a new step
  [[nodiscard]] Micros Awake() const { return Shown().monotonic - asleep_; }  // since some fixed moment: for deadlines
  [[nodiscard]] Micros Up() const { return Awake() - started_; }              // awake, since this was made

 private:
  [[nodiscard]] SchedulerTime::Clocks Shown() const {
    return {wall_.Now(), (timer_.now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS};
  }

  const Clock& wall_;
  const kj::Timer& timer_;
  SchedulerTime time_{0, {}};
  Micros asleep_ = 0;  // how far the monotonic clock advanced while this process was stopped
  Micros started_;     // on the clock of Awake
};

// Empty functions measure nothing.
struct Meters {
  std::function<std::int64_t()> nanoseconds = nullptr;  // since an arbitrary moment; never decreases
  std::function<Micros()> processor_time = nullptr;     // used by all threads since the process began
};

// Returns the meters of this process.
[[nodiscard]] Meters SystemMeters();

}  // namespace millrace::master
