// SchedulerTime is the clock of the scheduler and the journal, in microseconds since the epoch. It shows the time of
// the wall clock as long as the wall clock runs well. If the wall clock is set back, SchedulerTime continues from where
// it was at the pace of the monotonic clock, and stays ahead of the wall clock. So every wait for a time (a retry, a
// wait for locality, the end of a refusal) lasts as long as it should. If the wall clock is set forward, SchedulerTime
// follows, and waits end early. Pure. Thread rule: one thread.
#pragma once

#include "base/clock.h"

namespace millrace::master {

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

}  // namespace millrace::master
