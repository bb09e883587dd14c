// Runs one seed, from its plan to its verdict. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/plan.h"

namespace millrace::simulated {

// After the last fault every accepted job ends, and everything is tidy, within this many seconds of driven time.
inline constexpr double kBound = 300;

struct Verdict {
  std::string failure;              // empty: everything held
  std::vector<std::string> record;  // the plan, faults, answers to clients; the same for the same seed
  double seconds = 0;               // of driven time
  std::uint64_t events = 0;
  Counts counts;
};

// Simulates the seed. `log`: the record has the daemons' log lines, too. Requires: it is called once in a process,
// which ends by _exit: nothing is destroyed, since the dead parts of a simulation refer to each other.
[[nodiscard]] Verdict Simulate(std::uint64_t seed, const std::set<Fault>& allowed, bool log);

}  // namespace millrace::simulated
