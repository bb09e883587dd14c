#include "master/control/meters.h"

#include <sys/resource.h>

#include <chrono>

namespace millrace::master {
namespace {

Micros ToMicros(const timeval& time) { return Micros{time.tv_sec} * kSecond + time.tv_usec; }

}  // namespace

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
