// SPDX-License-Identifier: Apache-2.0
// Runs jobs on a small cluster: an event loop around the engine with given task times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct SmallRun {
  std::string scheduler;
  Settings settings;
  std::vector<NodeJoined> nodes;
  std::vector<JobSpec> jobs;  // all submitted at the start, ids from 0
  std::function<Micros(const Launch&)> duration;
};

struct RunResult {
  Micros makespan = 0;
  std::uint32_t launched_at[4] = {};  // maps by Locality
};

// Plays until no job lives. The test fails if the scheduler leaves jobs unfinished.
RunResult Play(const SmallRun& run);

}  // namespace millrace::sched
