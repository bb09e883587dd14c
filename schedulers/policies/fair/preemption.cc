// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/preemption.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {

// An attempt, by the time of its launch.
struct Launched {
  Micros since = 0;
  AttemptId attempt;
  NodeId node;
  auto operator<=>(const Launched&) const = default;
};

// Returns the running attempts of these jobs, by the time of their launch.
std::map<JobId, std::vector<Launched>> AttemptsOf(const ClusterState& state, SlotKind kind,
                                                  const std::vector<JobHolding>& jobs, bool spare_computing) {
  std::map<JobId, std::vector<Launched>> attempts;
  for (const JobHolding& holding : jobs) attempts[holding.job];
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr) continue;
    for (const AttemptId& attempt : node->running) {
      const auto at = attempts.find(attempt.task.job);
      if (attempt.task.kind != kind.task() || at == attempts.end()) continue;
      const TaskState& task = state.FindJob(attempt.task.job)->Tasks(attempt.task.kind)[attempt.task.index];
      const RunningAttempt& running = *task.Find(attempt.number);
      if (kind == kComputePermit && !running.computing()) continue;
      const bool spared = spare_computing || (kind == kReduceSlot && node->limits.only_copying > 0);
      if (spared && running.computing()) continue;
      at->second.push_back({running.since, attempt, node->id});
    }
  }
  for (auto& [job, launched] : attempts) std::sort(launched.begin(), launched.end());
  return attempts;
}

}  // namespace

std::vector<ChosenVictim> ChooseVictims(const ClusterState& state, SlotKind kind, std::vector<SlotNeed> needs,
                                        std::vector<Holding> pools, std::vector<JobHolding> jobs,
                                        bool spare_computing) {
  std::erase_if(jobs, [&](const JobHolding& job) { return !job.slots.MayLose() || !pools[job.pool].MayLose(); });
  if (jobs.empty() || needs.empty()) return {};
  auto attempts = AttemptsOf(state, kind, jobs, spare_computing);
  // The first is the first to lose an attempt. A rank is the excess, the last launch and the job.
  using Rank = std::tuple<double, Micros, JobId>;
  std::map<Rank, JobHolding*> ranks;
  const auto enter = [&](JobHolding* job) {
    const auto& launched = attempts[job->job];
    if (launched.empty() || !job->slots.MayLose()) return;
    ranks[{-job->slots.Excess(), -launched.back().since, job->job}] = job;
  };
  for (JobHolding& job : jobs) enter(&job);
  std::map<std::pair<std::size_t, NodeId>, std::uint32_t> taken_at;  // by whom, and node
  std::vector<ChosenVictim> victims;
  while (!ranks.empty()) {
    JobHolding* job = ranks.begin()->second;
    ranks.erase(ranks.begin());
    Holding& pool = pools[job->pool];
    if (!pool.MayLose()) continue;
    const Launched last = attempts[job->job].back();
    attempts[job->job].pop_back();
    const auto need = std::find_if(needs.begin(), needs.end(), [&](const SlotNeed& one) {
      return one.slots > 0 && taken_at[{one.whose, last.node}] < one.could_use(last.node);
    });
    if (need != needs.end()) {
      victims.push_back({last.attempt, last.node, static_cast<std::size_t>(need - needs.begin())});
      ++taken_at[{need->whose, last.node}];
      --need->slots;
      --job->slots.running, --pool.running;
    }
    enter(job);
  }
  return victims;
}

}  // namespace millrace::sched
