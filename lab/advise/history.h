// SPDX-License-Identifier: Apache-2.0
// History holds what a cluster has done, as a workload that can be simulated and redrawn, and the scheduler that was in
// force. Thread rule: one thread.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "client/cli/invocation.h"
#include "lab/measure/metrics.h"
#include "lab/run/sim_arena.h"
#include "lab/workload/simulation_file.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

struct History {
  std::string name, text;     // of the workload file
  sim::SimulationFile file;   // as it was
  DrawSimulation draw;        // the seed of `file` gives `file` itself; other seeds give histories like it
  bool redrawn = false;       // redraw.h draws the other histories; else the workload file itself does
  bool of_cluster = false;    // the history is a cluster's; else it is a file's
  double cores_share = 1;     // the share of cores that `file` gives to tasks (lab/model/cores_share.h)
  sched::Variant in_force;    // under its name as label
  std::string settings_file;  // the path of the scheduler file, on the master's machine; empty: there is none
  // The real events, as figures of a simulation. Not set for a workload file, or if some job has not ended.
  std::optional<sim::SimResult> live;
};

// Both functions take the seed of the first run; if it is below 0, the seed is that of the file, or 1.

// Returns the jobs that were submitted to the cluster of the invocation within the last `since` ("24h"). Returns
// kNotFound if there are none; also fails as calls to the master do.
[[nodiscard]] Result<History> HistoryOfCluster(const cli::Invocation& invocation, const std::string& since,
                                               std::int64_t seed);

// Returns the history of a workload file or trace. Fails as WorkloadSource does.
[[nodiscard]] Result<History> HistoryOfFile(const std::string& path, sched::Variant in_force, std::int64_t seed);

}  // namespace millrace::compare
