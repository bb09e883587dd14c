// Predicts whether an attempt will end before its node leaves. Pure. Thread rule: a free function, any thread.
#pragma once

#include "base/ids/time.h"

namespace millrace::master {

// Returns true if the attempt will end within `left`, less kLeavingMargin, which is kept for copying the attempt's
// output to another node. Extrapolates from the `fraction`, 0 to 1, that the attempt has done in `elapsed`. An attempt
// without known progress is assumed to need as long again as it has run, but at least kBeginning.
inline constexpr Micros kLeavingMargin = 5 * kSecond;

[[nodiscard]] constexpr bool EndsInTime(Micros elapsed, double fraction, Micros left) {
  constexpr Micros kBeginning = 10 * kSecond;
  constexpr double kLeastKnown = 0.02;
  const Micros usable = left - kLeavingMargin;
  if (usable <= 0) return false;
  if (fraction < kLeastKnown) return elapsed < kBeginning ? kBeginning <= usable : elapsed <= usable;
  return static_cast<double>(elapsed) * (1 - fraction) / fraction <= static_cast<double>(usable);
}

}  // namespace millrace::master
