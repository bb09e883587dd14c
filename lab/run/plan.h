// SPDX-License-Identifier: Apache-2.0
// Plan decides which run comes next.
//
// Runs are made in blocks, one for each seed. In a block every scheduler runs once, and the baseline a second time, so
// that it can be compared with itself (A/A). From block to block the order moves on by one place (a cyclic Latin
// square), so that every scheduler is as often first as last, and a drift of the machine affects all alike. A run that
// was disturbed is made again at once, at most kMostAgain times; the last one counts.
//
// The seed of block b is design.seed + b, so `millrace sim --seed` makes a single run of a simulated comparison again.
// A block does not depend on how many there are, so that blocks can be added to a comparison later.
// Thread rule: values and free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::compare {

inline constexpr std::uint32_t kMostAgain = 2;

struct Design {
  std::uint32_t schedulers = 1;  // at least 1
  std::uint32_t baseline = 0;    // one of the schedulers
  std::uint32_t blocks = 1;      // runs of each scheduler
  std::uint64_t seed = 1;
  bool same_against_same = true;
};

struct PlannedRun {
  std::uint32_t block = 0, order = 0;  // order: place within the block, from 0
  std::uint32_t scheduler = 0;
  bool second = false;  // the baseline's second run of the block
  std::uint64_t seed = 0;
  std::uint32_t again = 0;  // how often the run was made before
  bool operator==(const PlannedRun&) const = default;
};

// A run that was made.
struct MadeRun {
  std::uint32_t block = 0, order = 0, again = 0;
  bool disturbed = false;
};

// Returns the runs of a block in their order, each for the first time.
[[nodiscard]] std::vector<PlannedRun> RunsOfBlock(const Design& design, std::uint32_t block);

// Returns the run that comes next, or nothing once all blocks are complete. The runs made may be in any order.
[[nodiscard]] std::optional<PlannedRun> NextRun(const Design& design, const std::vector<MadeRun>& made);

// Returns the indices in `made` of the runs that count, by block and order: the last run of each place. Places without
// a run, or with one that is still to be made again, are left out.
[[nodiscard]] std::vector<std::size_t> RunsThatCount(const std::vector<MadeRun>& made);

}  // namespace millrace::compare
