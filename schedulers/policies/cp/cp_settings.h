// SPDX-License-Identifier: Apache-2.0
// CpSettings: the settings of `cp`. Times are in us.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids/time.h"

namespace millrace::sched {

class KeyList;

struct CpSettings {
  enum class Objective : std::uint8_t { kMix, kPaper };
  Objective objective = Objective::kMix;
  Micros budget = 100 * kMillisecond;  // of one solve, live
  std::uint32_t evaluations = 2'000;   // of one solve, where time must not count (simulator)
  bool background = false;             // true: solve on a separate thread (live); false: inline, by `evaluations`

  static constexpr std::string_view kSection = "cp";
  static constexpr std::string_view kOneLine = "The scheduler cp.";
};

void Declare(KeyList& keys, CpSettings& settings);

}  // namespace millrace::sched
