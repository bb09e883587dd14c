// SPDX-License-Identifier: Apache-2.0
#include "base/ids/time.h"

#include <limits>

namespace millrace {
std::string FormatDuration(Micros duration) {
  if (duration < 0) {
    const auto magnitude =
        duration == std::numeric_limits<Micros>::min() ? std::numeric_limits<Micros>::max() : -duration;
    return "-" + FormatDuration(magnitude);
  }
  if (duration < kMillisecond) return std::to_string(duration) + " us";
  if (duration < kSecond) return std::to_string(duration / kMillisecond) + " ms";
  if (duration < kMinute) {
    const Micros tenths = duration / (kSecond / 10);
    return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
  }
  const auto two = [](Micros large, const char* large_unit, Micros small, const char* small_unit) {
    const std::string text = std::to_string(large) + large_unit;
    return small == 0 ? text : text + " " + std::to_string(small) + small_unit;
  };
  if (duration < kHour) return two(duration / kMinute, " min", duration % kMinute / kSecond, " s");
  return two(duration / kHour, " h", duration % kHour / kMinute, " min");
}

}  // namespace millrace
