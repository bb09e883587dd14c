// SPDX-License-Identifier: Apache-2.0
// DelaySettings: the waits of jobs for slots near their data. Times are in us.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids/time.h"

namespace millrace::sched {

class KeyList;

struct DelaySettings {
  enum class Mode : std::uint8_t { kFixed, kAuto };
  Mode mode = Mode::kFixed;
  Micros rack_wait = 5 * kSecond;        // T1
  Micros datacenter_wait = 5 * kSecond;  // T2
  Micros off_wait = 5 * kSecond;         // T3

  static constexpr std::string_view kSection = "delay";
  static constexpr std::string_view kOneLine = "With +delay. A job may have waits of its own (--locality-wait).";
};

void Declare(KeyList& keys, DelaySettings& settings);

}  // namespace millrace::sched
