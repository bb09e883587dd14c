// Goal: what a cluster is to be good at, and the metric that says how good it is. Thread rule: values and free
// functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/compare/metrics_of_run.h"
#include "schedulers/sim/simulation_file.h"

namespace millrace::compare {

// Returns "turnaround", "makespan", "fairness", "deadlines" and "traffic".
[[nodiscard]] std::vector<std::string> GoalNames();

// Returns the metric that decides for this goal. Fairness is the distance of the pools from their weights, since the
// other figure of fairness counts only jobs that have started. Traffic is what crosses datacenters if the cluster has
// several, else what crosses racks. Returns kInvalid, with what there is, for no goal, and for one that no scheduler
// can serve: deadlines where no job has one, traffic in a cluster of one rack.
[[nodiscard]] Result<const Metric*> MetricOfGoal(std::string_view goal, const sim::SimulationFile& history);

}  // namespace millrace::compare
