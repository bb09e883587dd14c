// SPDX-License-Identifier: Apache-2.0
// Runs one seed, from its plan to its verdict. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/plan.h"

namespace millrace::simulated {

// Within this many seconds of driven time after the last fault, every accepted job must have ended and everything must
// be tidy.
inline constexpr double kBound = 300;

struct Verdict {
  std::string failure;              // empty: no property was broken
  std::vector<std::string> record;  // the plan, the faults and the answers to clients; equal for equal seeds
  double seconds = 0;               // of driven time
  std::uint64_t events = 0;
  Counts counts;
};

// Simulates the seed. With `log`, the record also contains the daemons' log lines. Requires: Simulate is called once in
// a process, and the process ends with _exit. Nothing is destroyed, since the dead parts of a simulation refer to each
// other.
[[nodiscard]] Verdict Simulate(std::uint64_t seed, const std::set<Fault>& allowed, bool log);

}  // namespace millrace::simulated
