// SPDX-License-Identifier: Apache-2.0
#include "lab/model/cores_share.h"

namespace millrace::sim {

double WaitedForCores(const SimResult& result) {
  double waited = 0;
  for (const TaskRow& task : result.tasks) waited += static_cast<double>(task.use.waited);
  return waited;
}

void GiveShare(double share, ClusterSpec* cluster) {
  cluster->cores *= share;
  for (NodeSpec& node : cluster->nodes) node.cores *= share;
}

double ShareSearch::Next(double live, double simulated) {
  if (share_ == most_ && simulated >= live) return share_;
  (simulated < live ? most_ : least_) = share_;
  return share_ = (least_ + most_) / 2;
}

Result<double> FitCoresShare(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
                             const sched::Settings& settings, SimOptions options, double waited) {
  constexpr int kRounds = 7;  // to a hundredth of the cores
  options.task_rows = true;
  ShareSearch search;
  double share = 1;
  for (int round = 0; round < kRounds; ++round) {
    ClusterSpec with = cluster;
    GiveShare(share, &with);
    MILLRACE_ASSIGN(const SimResult result, Simulate(with, workload, scheduler, settings, options));
    const double next = search.Next(waited, WaitedForCores(result));
    if (next == share) break;
    share = next;
  }
  return share;
}

}  // namespace millrace::sim
