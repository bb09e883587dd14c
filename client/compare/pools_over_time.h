// PoolsOverTime: the slots that each pool held through a run, beside those that were its fair share.
//
// The fair share is what `fair` would give it, by weights and minima of the scheduler file (schedulers/policies/fair),
// of the slots of each kind for what it asks for: its running tasks and those that could run. Maps can run from the
// submission of their job, reduces from when all its maps have succeeded or its first reduce is launched.
// Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "client/compare/arena.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

struct PoolsOverTime {
  std::vector<std::string> names;           // those that held most slots, and "others"
  std::vector<Micros> time;                 // at equal distances, from the first submission to the last end
  std::vector<std::vector<double>> slots;   // by pool and time
  std::vector<std::vector<double>> shares;  // the same; kMoments or fewer points
};

[[nodiscard]] PoolsOverTime PoolsOf(const sim::SimResult& result, const std::vector<NodeRow>& nodes,
                                    const sched::Settings& settings);

}  // namespace millrace::compare
