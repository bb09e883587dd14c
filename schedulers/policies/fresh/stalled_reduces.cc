// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/stalled_reduces.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace millrace::sched {
namespace {

// Returns true if a reduce of the job runs that can end without another map.
bool ReducesGoOn(const JobState& job) {
  const bool has_all_input = job.progress.maps_done == job.progress.maps;
  return job.running_attempts[kComputePermit] > 0 || (has_all_input && job.running_attempts[TaskKind::kReduce] > 0);
}

struct Stalled {
  Micros since = 0;
  AttemptId attempt;
};

// Returns how many reduces have to go before a slot for a map is free. Requires: none of them computes.
std::uint32_t InTheWay(const NodeState& node) {
  return node.used.reduces + 1 - std::min(node.used.reduces, node.limits.reduces);
}

bool MayRunOneAt(const ClusterState& state, const std::vector<JobId>& jobs, NodeId node) {
  return std::any_of(jobs.begin(), jobs.end(), [&](JobId job) { return state.BestPendingMap(job, node).has_value(); });
}

bool FitsInFreeSlot(const ClusterState& state, const std::vector<JobId>& jobs) {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  return std::any_of(free.begin(), free.end(),
                     [&](std::uint32_t node) { return MayRunOneAt(state, jobs, NodeId{node}); });
}

}  // namespace

bool ReducesMayStall(const ClusterState& state) {
  return state.Running(TaskKind::kMap) == 0 && state.Running(TaskKind::kReduce) > 0;
}

std::vector<Victim> TakeSlotForMap(const ClusterState& state, const std::vector<JobId>& jobs) {
  if (!ReducesMayStall(state) || jobs.empty()) return {};
  std::map<NodeId, std::vector<Stalled>> stalled;  // on nodes where a map may run
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& blocked = *state.FindJob(key.job);
    if (ReducesGoOn(blocked)) return {};
    for (std::uint32_t index = 0; index < blocked.reduces.size(); ++index) {
      for (const RunningAttempt& attempt : blocked.reduces[index].running) {
        const NodeState& host = *state.FindNode(attempt.node);
        if (!host.TakesTasks() || host.limits.maps == 0) continue;
        if (stalled.contains(attempt.node) || MayRunOneAt(state, jobs, attempt.node))
          stalled[attempt.node].push_back({attempt.since, {{key.job, TaskKind::kReduce, index}, attempt.number}});
      }
    }
  }
  if (stalled.empty() || FitsInFreeSlot(state, jobs)) return {};
  std::vector<Victim> victims;
  std::tuple<std::uint32_t, Micros> best;
  for (auto& [node, reduces] : stalled) {
    std::ranges::stable_sort(reduces, std::greater(), &Stalled::since);
    const std::tuple<std::uint32_t, Micros> rank{InTheWay(*state.FindNode(node)), -reduces.front().since};
    if (!victims.empty() && rank >= best) continue;
    best = rank;
    victims.clear();
    for (std::uint32_t i = 0; i < std::min<std::size_t>(std::get<0>(rank), reduces.size()); ++i)
      victims.push_back({reduces[i].attempt, "a map that the reduces wait for needs a slot"});
  }
  return victims;
}

}  // namespace millrace::sched
