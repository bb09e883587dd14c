#include "master/control/scheduler_time.h"

#include <algorithm>

namespace millrace::master {

Micros SchedulerTime::Now(const Clocks& clocks) const {
  return std::max(clocks.wall, last_ + (clocks.monotonic - seen_));
}

Micros SchedulerTime::Step(const Clocks& clocks) {
  last_ = std::max(Now(clocks), last_ + 1);
  seen_ = clocks.monotonic;
  return last_;
}

}  // namespace millrace::master
