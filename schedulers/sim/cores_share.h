// The share of the machines' cores that tasks have. Daemons, clients and whatever else runs there have the rest, of
// which nobody tells; but it shows in how long attempts waited for a core: the share is the one with which they wait as
// long in a simulation of the same. Thread rule: values and free functions, any thread.
#pragma once

#include <string>

#include "base/status.h"
#include "schedulers/settings/settings.h"
#include "schedulers/sim/metrics/metrics.h"
#include "schedulers/sim/model/simulate.h"
#include "schedulers/sim/workload/cluster_spec.h"
#include "schedulers/sim/workload/workload.h"

namespace millrace::sim {

// Returns for how long the attempts that succeeded waited for cores, in us. Requires: the result has its tasks.
[[nodiscard]] double WaitedForCores(const SimResult& result);

// Gives the tasks this share of the cores of every machine.
void GiveShare(double share, ClusterSpec* cluster);

// Looks for the share by halving, from all cores down to a tenth of them.
class ShareSearch {
 public:
  // Returns the next share to try, if with the last one, at first all of them, attempts waited so long in us. When they
  // wait as long with all cores as they did, or longer, it stays there.
  [[nodiscard]] double Next(double live, double simulated);

 private:
  double least_ = 0.1, most_ = 1, share_ = 1;
};

// Returns the share with which the attempts of the workload wait for `waited` us. Fails as Simulate does.
[[nodiscard]] Result<double> FitCoresShare(const ClusterSpec& cluster, const Workload& workload,
                                           const std::string& scheduler, const sched::Settings& settings,
                                           SimOptions options, double waited);

}  // namespace millrace::sim
