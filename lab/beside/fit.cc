// SPDX-License-Identifier: Apache-2.0
#include "lab/beside/fit.h"

#include <algorithm>

#include "lab/beside/run_beside.h"
#include "lab/model/cores_share.h"

namespace millrace::compare {
namespace {

constexpr int kRounds = 8;

Result<Costs> MeasureSimulations(const std::vector<MeasuredRun>& runs, const Costs& costs,
                                 const std::vector<NodeRow>& nodes, const sched::Variant& scheduler) {
  std::vector<RunOutcome> outcomes;
  for (const MeasuredRun& run : runs) {
    MILLRACE_ASSIGN(RunOutcome outcome, RunBeside(*run.file, costs, nodes, *run.outcome, scheduler));
    outcomes.push_back(std::move(outcome));
  }
  std::vector<MeasuredRun> simulated;
  for (std::size_t i = 0; i < runs.size(); ++i) simulated.push_back({runs[i].file, &outcomes[i]});
  return MeasureCosts(simulated, nodes);
}

void Correct(const TaskCost& live, const TaskCost& simulated, TaskCost* cost) {
  if (live.attempts == 0 || simulated.attempts == 0) return;
  const double more = live.alone - simulated.alone;
  if (cost->scaled) {
    cost->scale = std::max(0.0, cost->scale + more / cost->asked);
  } else {
    cost->latency = std::max(0.0, cost->latency + more);
  }
}

}  // namespace

Result<Costs> FitCosts(const std::vector<MeasuredRun>& runs, const std::vector<NodeRow>& nodes,
                       const sched::Variant& scheduler) {
  const Costs live = MeasureCosts(runs, nodes);
  Costs costs = live;
  sim::ShareSearch search;
  for (int round = 0; round < kRounds; ++round) {
    MILLRACE_ASSIGN(const Costs simulated, MeasureSimulations(runs, costs, nodes, scheduler));
    for (std::size_t i = 0; i < costs.classes.size(); ++i) {
      for (const TaskKind kind : kTaskKinds)
        Correct(live.classes[i].of[kind], simulated.classes[i].of[kind], &costs.classes[i].of[kind]);
    }
    costs.cores_share = search.Next(live.waited, simulated.waited);
  }
  return costs;
}

}  // namespace millrace::compare
