#include "schedulers/policies/fresh/stalled_reduces.h"

#include <algorithm>

namespace millrace::sched {
namespace {

// Returns true if a reduce of the job runs that can end without another map.
bool ReducesGoOn(const JobState& job) {
  const bool has_all_input = job.progress.maps_done == job.progress.maps;
  return job.running_attempts[kComputePermit] > 0 || (has_all_input && job.running_attempts[TaskKind::kReduce] > 0);
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
  const RunningAttempt* last = nullptr;
  AttemptId victim;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& blocked = *state.FindJob(key.job);
    if (ReducesGoOn(blocked)) return {};
    for (std::uint32_t index = 0; index < blocked.reduces.size(); ++index) {
      for (const RunningAttempt& attempt : blocked.reduces[index].running) {
        const NodeState& host = *state.FindNode(attempt.node);
        if (!host.TakesTasks() || host.limits.maps == 0) continue;
        if ((last != nullptr && attempt.since <= last->since) || !MayRunOneAt(state, jobs, attempt.node)) continue;
        last = &attempt;
        victim = {{key.job, TaskKind::kReduce, index}, attempt.number};
      }
    }
  }
  if (last == nullptr || FitsInFreeSlot(state, jobs)) return {};
  return {{victim, "a map that the reduces wait for needs a slot"}};
}

}  // namespace millrace::sched
