// SPDX-License-Identifier: Apache-2.0
// PoolsOverTime holds the slots that each pool had in the course of a run, and the slots that were its fair share.
//
// The fair share of a pool is the number of slots of each kind that `fair` would give it, by the weights and minima of
// the scheduler file (schedulers/policies/fair), for its running tasks and those that could run. Maps can run once
// their job is submitted; reduces can run once all maps of the job have succeeded or its first reduce is launched.
// Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "lab/run/arena.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

struct PoolsOverTime {
  std::vector<std::string> names;           // the pools that held most slots, and "others"
  std::vector<Micros> time;                 // at equal distances, from the first submission to the last end
  std::vector<std::vector<double>> slots;   // by pool and time
  std::vector<std::vector<double>> shares;  // by pool and time; there are at most kMoments times
};

[[nodiscard]] PoolsOverTime PoolsOf(const sim::SimResult& result, const std::vector<NodeRow>& nodes,
                                    const sched::Settings& settings);

}  // namespace millrace::compare
