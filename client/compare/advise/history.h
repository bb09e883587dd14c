// History: what a cluster has done, as a workload that can be simulated and drawn anew, and the scheduler that was in
// force. Thread rule: one thread.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "client/cli/invocation.h"
#include "client/compare/sim_arena.h"
#include "schedulers/settings/variant.h"
#include "schedulers/sim/metrics/metrics.h"
#include "schedulers/sim/simulation_file.h"

namespace millrace::compare {

struct History {
  std::string name, text;     // of the workload file
  sim::SimulationFile file;   // as it was
  DrawSimulation draw;        // by the seed of `file` as it was; by another seed another history like it
  bool redrawn = false;       // the others are drawn by redraw.h; else by the workload file itself
  bool of_cluster = false;    // else of a file
  double cores_share = 1;     // of the machines' cores, that `file` gives to tasks (schedulers/sim/cores_share.h)
  sched::Variant in_force;    // under its name as label
  std::string settings_file;  // the path of the scheduler file, on the master's machine; empty: there is none
  // What really happened, by the figures of a simulation. Nothing of a workload file, and if some job has not ended.
  std::optional<sim::SimResult> live;
};

// Both take the seed of the first run; below 0 it is that of the file, or 1.

// Returns the jobs that were submitted in the time `since` until now, on the cluster of the invocation. kNotFound if
// there are none; also the failures of asking the master.
[[nodiscard]] Result<History> HistoryOfCluster(const cli::Invocation& invocation, const std::string& since,
                                               std::int64_t seed);

// Returns what a workload file or trace says. Fails as WorkloadSource does.
[[nodiscard]] Result<History> HistoryOfFile(const std::string& path, sched::Variant in_force, std::int64_t seed);

}  // namespace millrace::compare
