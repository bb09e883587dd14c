// Whether an attempt will have ended when its node leaves. Pure. Thread rule: a free function, any thread.
#pragma once

#include "base/ids/time.h"

namespace millrace::master {

// Guesses from how far the attempt has got in `elapsed`: `fraction`, from 0 to 1. One of which nothing is known yet is
// believed to take at most twice as long as it has run, but is given its time to begin. What an attempt leaves has to
// be had elsewhere as well, for which kLeavingMargin is kept.
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
