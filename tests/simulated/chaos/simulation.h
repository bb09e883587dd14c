// One seed, from its plan to its verdict. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/plan.h"

namespace millrace::simulated {

// After the last fault every accepted job ends, and everything is tidy, within so many seconds of driven time.
inline constexpr double kBound = 300;

struct Verdict {
  std::string failure;              // empty: everything held
  std::vector<std::string> record;  // the plan, faults, what clients were told; the same for the same seed
  double seconds = 0;               // of driven time
  std::uint64_t events = 0;
  Counts counts;
};

// `log`: what daemons log stands in the record too. Once a process, which ends by _exit: nothing of it is taken down,
// since the dead of a simulation hold on to each other.
[[nodiscard]] Verdict Simulate(std::uint64_t seed, const std::set<Fault>& allowed, bool log);

}  // namespace millrace::simulated
