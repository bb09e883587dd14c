// SPDX-License-Identifier: Apache-2.0
// A goal is what a cluster should be good at; a metric says how good it is. Thread rule: values and free functions, any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lab/report/metrics_of_run.h"
#include "lab/workload/simulation_file.h"

namespace millrace::compare {

// Returns "turnaround", "makespan", "tail", "prediction", "fairness", "deadlines" and "traffic".
[[nodiscard]] std::vector<std::string> GoalNames();

// Returns the metric that decides for this goal. The tail is the 95th percentile of turnaround, and prediction the
// error of the ends that are foretold when jobs come. Fairness is the distance of the pools from their weights, since
// the other figure of fairness counts only jobs that have started. Traffic is the bytes that cross datacenters if the
// cluster has several, else those that cross racks. Returns kInvalid for an unknown goal, with the goals that exist,
// and for a goal that no scheduler can serve: deadlines if no job has one, traffic in a cluster of one rack.
[[nodiscard]] Result<const Metric*> MetricOfGoal(std::string_view goal, const sim::SimulationFile& history);

}  // namespace millrace::compare
