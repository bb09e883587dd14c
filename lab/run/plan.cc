// SPDX-License-Identifier: Apache-2.0
#include "lab/run/plan.h"

#include <cstddef>
#include <map>
#include <utility>

namespace millrace::compare {
namespace {

using Place = std::pair<std::uint32_t, std::uint32_t>;  // block, order

bool Settled(const MadeRun& run) { return !run.disturbed || run.again >= kMostAgain; }

// Returns the index of the last run of each place.
std::map<Place, std::size_t> LastRuns(const std::vector<MadeRun>& made) {
  std::map<Place, std::size_t> last;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto [at, first] = last.try_emplace(Place(made[i].block, made[i].order), i);
    if (!first && made[i].again > made[at->second].again) at->second = i;
  }
  return last;
}

}  // namespace

std::vector<PlannedRun> RunsOfBlock(const Design& design, std::uint32_t block) {
  std::vector<PlannedRun> runs;
  for (std::uint32_t scheduler = 0; scheduler < design.schedulers; ++scheduler) {
    runs.push_back({block, 0, scheduler, false, design.seed + block, 0});
  }
  if (design.same_against_same) {
    // In the middle, as far from the first run of the baseline as another scheduler is.
    const auto middle = (design.baseline + 1 + design.schedulers / 2) % (design.schedulers + 1);
    runs.insert(runs.begin() + middle, {block, 0, design.baseline, true, design.seed + block, 0});
  }
  std::vector<PlannedRun> rotated;
  for (std::uint32_t order = 0; order < runs.size(); ++order) {
    rotated.push_back(runs[(order + block) % runs.size()]);
    rotated.back().order = order;
  }
  return rotated;
}

std::optional<PlannedRun> NextRun(const Design& design, const std::vector<MadeRun>& made) {
  const std::map<Place, std::size_t> last = LastRuns(made);
  for (std::uint32_t block = 0; block < design.blocks; ++block) {
    for (PlannedRun run : RunsOfBlock(design, block)) {
      const auto at = last.find({run.block, run.order});
      if (at != last.end() && Settled(made[at->second])) continue;
      if (at != last.end()) run.again = made[at->second].again + 1;
      return run;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> RunsThatCount(const std::vector<MadeRun>& made) {
  std::vector<std::size_t> counting;
  for (const auto& [place, index] : LastRuns(made)) {
    if (Settled(made[index])) counting.push_back(index);
  }
  return counting;
}

}  // namespace millrace::compare
