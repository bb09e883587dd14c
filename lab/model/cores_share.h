// SPDX-License-Identifier: Apache-2.0
// The share of the machines' cores that tasks have. Daemons, clients and other processes have the rest, which no
// journal records. But a journal records how long attempts waited for a core. The right share is the one with which
// attempts wait as long in a simulation of the run as they did in the run itself. Thread rule: values and free
// functions, any thread.
#pragma once

#include <string>

#include "base/status.h"
#include "lab/measure/metrics.h"
#include "lab/model/simulate.h"
#include "lab/workload/cluster_spec.h"
#include "lab/workload/workload.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim {

// Returns the time for which the attempts that succeeded waited for cores, in us. Requires: the result has its tasks.
[[nodiscard]] double WaitedForCores(const SimResult& result);

// Gives the tasks this share of the cores of every machine.
void GiveShare(double share, ClusterSpec* cluster);

// Searches for the share by bisection, between all cores and a tenth of them.
class ShareSearch {
 public:
  // Returns the next share to try. `live` and `simulated` are the times in us that attempts waited in the run itself
  // and in a simulation with the last share. The first simulation is with all cores; if attempts wait in that
  // simulation at least as long as they did in the run, the share stays at all cores.
  [[nodiscard]] double Next(double live, double simulated);

 private:
  double least_ = 0.1, most_ = 1, share_ = 1;
};

// Returns the share of cores with which the attempts of the workload wait for `waited` us. Fails as Simulate does.
[[nodiscard]] Result<double> FitCoresShare(const ClusterSpec& cluster, const Workload& workload,
                                           const std::string& scheduler, const sched::Settings& settings,
                                           SimOptions options, double waited);

}  // namespace millrace::sim
