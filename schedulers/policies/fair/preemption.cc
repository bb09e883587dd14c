#include "schedulers/policies/fair/preemption.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {

using Launched = std::pair<Micros, AttemptId>;

// Returns the running attempts of these jobs, by the time of their launch.
std::map<JobId, std::vector<Launched>> AttemptsOf(const ClusterState& state, TaskKind kind,
                                                  const std::vector<JobHolding>& jobs) {
  std::map<JobId, std::vector<Launched>> attempts;
  for (const JobHolding& holding : jobs) attempts[holding.job];
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr) continue;
    for (const AttemptId& attempt : node->running) {
      const auto at = attempts.find(attempt.task.job);
      if (attempt.task.kind != kind || at == attempts.end()) continue;
      const JobState& job = *state.FindJob(attempt.task.job);
      at->second.emplace_back(job.Tasks(kind)[attempt.task.index].Find(attempt.number)->since, attempt);
    }
  }
  for (auto& [job, launched] : attempts) std::sort(launched.begin(), launched.end());
  return attempts;
}

}  // namespace

std::vector<AttemptId> ChooseVictims(const ClusterState& state, TaskKind kind, std::uint32_t wanted,
                                     std::vector<Holding> pools, std::vector<JobHolding> jobs) {
  std::erase_if(jobs, [&](const JobHolding& job) { return !job.slots.MayLose() || !pools[job.pool].MayLose(); });
  if (jobs.empty() || wanted == 0) return {};
  auto attempts = AttemptsOf(state, kind, jobs);
  // The first is the first to lose an attempt. A rank is the excess, the last launch and the job.
  using Rank = std::tuple<double, Micros, JobId>;
  std::map<Rank, JobHolding*> ranks;
  const auto enter = [&](JobHolding* job) {
    const auto& launched = attempts[job->job];
    if (launched.empty() || !job->slots.MayLose()) return;
    ranks[{-job->slots.Excess(), -launched.back().first, job->job}] = job;
  };
  for (JobHolding& job : jobs) enter(&job);
  std::vector<AttemptId> victims;
  while (victims.size() < wanted && !ranks.empty()) {
    JobHolding* job = ranks.begin()->second;
    ranks.erase(ranks.begin());
    if (!pools[job->pool].MayLose()) continue;
    victims.push_back(attempts[job->job].back().second);
    attempts[job->job].pop_back();
    --job->slots.running;
    --pools[job->pool].running;
    enter(job);
  }
  return victims;
}

}  // namespace millrace::sched
