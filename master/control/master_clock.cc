// SPDX-License-Identifier: Apache-2.0
#include "master/control/master_clock.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace millrace::master {
namespace {

Micros ToMicros(const timeval& time) { return Micros{time.tv_sec} * kSecond + time.tv_usec; }

}  // namespace

Micros SchedulerTime::Now(const Clocks& clocks) const {
  return std::max(clocks.wall, last_ + (clocks.monotonic - seen_));
}

Micros SchedulerTime::Step(const Clocks& clocks) {
  last_ = std::max(Now(clocks), last_ + 1);
  seen_ = clocks.monotonic;
  return last_;
}

Meters SystemMeters() {
  return {[] {
            const auto now = std::chrono::steady_clock::now().time_since_epoch();
            return std::int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
          },
          [] {
            rusage use{};
            ::getrusage(RUSAGE_SELF, &use);
            return ToMicros(use.ru_utime) + ToMicros(use.ru_stime);
          }};
}

}  // namespace millrace::master
