#include "schedulers/policies/fresh/fresh_dynamic.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "schedulers/cluster/ordered_bits.h"
#include "schedulers/offering/admission.h"
#include "schedulers/policies/fresh/stalled_reduces.h"

namespace millrace::sched {
namespace {

using Phase = PhaseAdmission::Phase;

bool TakesTasks(const ClusterState& state, NodeId node) {
  const NodeState* host = state.FindNode(node);
  return host != nullptr && host->TakesTasks();
}

}  // namespace

void FreshDynamic::OnJobSubmitted(const ClusterState& state, JobId job) { admission_.OnJobSubmitted(state, job); }

void FreshDynamic::OnJobPrioritySet(const ClusterState& state, JobId job) {
  admission_.OnJobPrioritySet(state, job);
  admission_.OnJobChanged(job);  // its weight among the candidates has changed
}

void FreshDynamic::OnJobEnded(const ClusterState&, JobId job) {
  admission_.OnJobEnded(job);
  work_.Remove(job);
  for (LeastServed& candidates : candidates_) candidates.Remove(job);
  repairs_.erase(job);
}

void FreshDynamic::OnJobChanged(const ClusterState&, JobId job) { admission_.OnJobChanged(job); }

void FreshDynamic::ApplyChanges(const ClusterState& state) {
  for (const JobId id : admission_.ApplyChanges(state)) {
    const JobState& job = *state.FindJob(id);
    work_.Refresh(job, admission_.PhaseOf(id));
    const bool repair = admission_.InRepair(state, id) && job.runnable[TaskKind::kMap];
    for (const TaskKind kind : kTaskKinds) {
      const bool waits = job.runnable[kind] && admission_.MayRun(state, kind, id);
      if (waits && !(repair && kind == TaskKind::kMap)) {
        candidates_[kind].Put(job);
      } else {
        candidates_[kind].Remove(id);
      }
    }
    if (repair) {
      repairs_.insert(id);
    } else {
      repairs_.erase(id);
    }
  }
}

std::optional<Decision> FreshDynamic::Next(const ClusterState& state, Micros now) {
  ApplyChanges(state);
  auto decision = Choose(state, now);
  // Within a round nothing happens that lets an excluded job run. Before the next one, or an eviction, much may.
  if (!decision) {
    for (LeastServed& candidates : candidates_) candidates.Readmit();
  }
  return decision;
}

std::optional<Decision> FreshDynamic::Choose(const ClusterState& state, Micros now) {
  const bool for_map = std::exchange(slot_for_map_, false);
  if (state.FreeNodes(TaskKind::kMap).empty()) return std::nullopt;
  if (auto repair = LaunchRepair(state)) return repair;
  const TaskKind kind = for_map ? TaskKind::kMap : KindOfFreeSlot(state);
  if (auto decision = LaunchLeastServed(state, kind, now)) return decision;
  return LaunchLeastServed(state, kind == TaskKind::kMap ? TaskKind::kReduce : TaskKind::kMap, now);
}

// This is Algorithm 2.
TaskKind FreshDynamic::KindOfFreeSlot(const ClusterState& state) const {
  const PhaseOutlook outlook = work_.Outlook(state, admission_);
  const double expected = ExpectedMapSlots(outlook, settings_.tau_progress, settings_.tau_change);
  return expected > outlook.map_slots ? TaskKind::kMap : TaskKind::kReduce;
}

// This is Algorithm 4.
std::optional<Decision> FreshDynamic::LaunchLeastServed(const ClusterState& state, TaskKind kind, Micros now) {
  LeastServed& candidates = candidates_[kind];
  while (const auto job = candidates.First(now)) {
    if (auto decision = LaunchOf(state, kind, *job)) return decision;
    candidates.Exclude(*job);
  }
  return std::nullopt;
}

std::optional<Decision> FreshDynamic::LaunchRepair(const ClusterState& state) {
  for (const JobId job : repairs_) {
    if (auto decision = LaunchOf(state, TaskKind::kMap, job)) return decision;
  }
  return std::nullopt;
}

std::optional<Decision> FreshDynamic::LaunchAtData(const ClusterState& state, const JobState& job) const {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  std::optional<NodeId> at_data;
  for (const NodeId node : job.spec.maps[job.pending_maps.all().First()].replicas) {
    if (free.Contains(node.value) && (!at_data || node < *at_data)) at_data = node;
  }
  if (!at_data) return std::nullopt;
  const auto map = state.BestPendingMap(job.progress.job, *at_data, Locality::kNode);
  if (!map) return std::nullopt;
  return Decision{{job.progress.job, TaskKind::kMap, map->map}, *at_data, false, map->locality};
}

std::optional<Decision> FreshDynamic::LaunchOf(const ClusterState& state, TaskKind kind, JobId id) {
  const OrderedBits& free = state.FreeNodes(kind);
  if (kind == TaskKind::kMap && free.size() > 1) {
    if (auto decision = LaunchAtData(state, *state.FindJob(id))) return decision;
  }
  std::uint32_t& next = next_node_[kind];
  std::uint32_t node = free.NextFrom(next);
  for (std::uint32_t asked = 0; asked < free.size(); ++asked, node = free.NextFrom(node + 1)) {
    if (node == OrderedBits::kNone) node = free.First();
    std::optional<std::uint32_t> task;
    std::optional<Locality> locality;
    if (kind == TaskKind::kReduce) {
      task = state.NextPendingReduce(id, NodeId{node});
    } else if (const auto map = state.BestPendingMap(id, NodeId{node})) {
      task = map->map;
      locality = map->locality;
    }
    if (!task) continue;
    next = node + 1;
    return Decision{{id, kind, *task}, NodeId{node}, false, locality};
  }
  return std::nullopt;
}

std::vector<JobId> FreshDynamic::JobsWithMaps() const {
  std::vector<JobId> jobs(repairs_.begin(), repairs_.end());
  const std::vector<JobId> in_map_phase = candidates_[TaskKind::kMap].Jobs();
  jobs.insert(jobs.end(), in_map_phase.begin(), in_map_phase.end());
  return jobs;
}

Policy::Limits FreshDynamic::BeginRound(const ClusterState& state, Micros) {
  ApplyChanges(state);
  return Limits::kSame;
}

std::vector<Victim> FreshDynamic::Preempt(const ClusterState& state, Micros) {
  if (!ReducesMayStall(state)) return {};
  std::vector<Victim> victims = TakeSlotForMap(state, JobsWithMaps());
  slot_for_map_ = !victims.empty();
  return victims;
}

// A map also waits for space where a reduce would make room for it, if only it fitted.
bool FreshDynamic::WaitsForSpace(const ClusterState& state, Micros) const {
  const std::vector<JobId> jobs = JobsWithMaps();
  const auto lacks = [&](NodeId node) {
    return std::any_of(jobs.begin(), jobs.end(), [&](JobId job) { return state.BestMapLacksSpace(job, node); });
  };
  for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
    if (lacks(NodeId{node})) return true;
  }
  for (const QueueKey& key : state.LiveJobs()) {
    for (const TaskState& reduce : state.FindJob(key.job)->reduces) {
      for (const RunningAttempt& attempt : reduce.running) {
        if (TakesTasks(state, attempt.node) && lacks(attempt.node)) return true;
      }
    }
  }
  return false;
}

bool FreshDynamic::WantsSlots(const ClusterState&, TaskKind kind, Micros) const {
  return !candidates_[kind].empty() || (kind == TaskKind::kMap && !repairs_.empty());
}

PolicyView FreshDynamic::View(const ClusterState& state, Micros now) const {
  const PhaseOutlook outlook = work_.Outlook(state, admission_);
  const double expected = ExpectedMapSlots(outlook, settings_.tau_progress, settings_.tau_change);
  PolicyView view;
  view.facts = {KFact(settings_.k),
                Fact::Number("jobs in the map phase", static_cast<double>(admission_.Count(Phase::kMap))),
                Fact::Number("jobs in the reduce phase", static_cast<double>(admission_.Count(Phase::kReduce))),
                Fact::Number("jobs between the phases", static_cast<double>(admission_.Count(Phase::kReady))),
                Fact::Number("slots that run maps", outlook.map_slots),
                Fact::Number("slots expected to run maps", static_cast<double>(std::lround(expected)))};
  view.waits = admission_.Waits(state);
  for (const TaskKind kind : kTaskKinds) {
    WaitView ahead;
    ahead.other_count = 0;
    const auto add = [&](JobId job) {
      view.waits.push_back(Admission().WhyWaits(state, kind, job, now).Behind(ahead));
      ahead.AddOther(job);
    };
    if (kind == TaskKind::kMap) std::ranges::for_each(repairs_, add);
    std::ranges::for_each(candidates_[kind].InOrder(now), add);
  }
  return view;
}

}  // namespace millrace::sched
