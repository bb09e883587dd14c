// Engine::View: what the policy shows, and what the engine itself knows of why jobs wait.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "schedulers/core/engine.h"
#include "schedulers/core/engine_impl.h"
#include "schedulers/core/engine_trial.h"
#include "schedulers/core/next_freed.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {
namespace {

// Gathers waits; of several for the same job and kind of slot the first stays.
class Waits {
 public:
  explicit Waits(std::vector<WaitView>* waits) : waits_(*waits) {
    std::erase_if(waits_, [&](const WaitView& wait) { return !told_.insert({wait.job, wait.slot}).second; });
  }
  // Returns null if the job's wait for such a slot is told already.
  WaitView* Add(JobId job, SlotKind slot, WaitCause cause) {
    if (!told_.insert({job, slot}).second) return nullptr;
    return &waits_.emplace_back(job, slot, cause);
  }

 private:
  std::vector<WaitView>& waits_;
  std::set<std::pair<JobId, SlotKind>> told_;
};

void AddHeld(const JobState& job, Waits* waits) {
  for (const TaskKind kind : kTaskKinds) {
    if (!job.Pending(kind).empty()) waits->Add(job.progress.job, kind, WaitCause::kGaveWay);
  }
}

void AddSlowStart(const Policy& policy, const ClusterState& state, const JobState& job, Waits* waits) {
  if (job.ReducesMayStart() || job.pending_reduces.empty()) return;
  WaitView* wait = waits->Add(job.progress.job, kReduceSlot, WaitCause::kMapsFirst);
  if (wait == nullptr) return;
  wait->used = job.progress.maps_done;
  wait->of = policy.MapsBeforeReduces(state, job.progress.job);
}

// Names who holds the permits of the nodes on which reduces of the job wait.
void AddPermits(const ClusterState& state, const JobState& job, Waits* waits) {
  if (job.copied_reduces.empty()) return;
  WaitView* wait = waits->Add(job.progress.job, kComputePermit, WaitCause::kSlotsBusy);
  if (wait == nullptr) return;
  if (job.may_compute > 0) {
    wait->cause = WaitCause::kUndecided;
    return;
  }
  std::set<NodeId> nodes;
  for (const CopiedReduce& reduce : job.copied_reduces) nodes.insert(reduce.node);
  std::set<JobId> holders;
  for (const NodeId id : nodes) {
    const NodeState& node = *state.FindNode(id);
    wait->used += node.computing;
    wait->of += node.Permits();
    for (const AttemptId& attempt : node.running) {
      if (attempt.task.kind != TaskKind::kReduce) continue;
      const JobState& other = *state.FindJob(attempt.task.job);
      if (other.reduces[attempt.task.index].Find(attempt.number)->computing()) holders.insert(attempt.task.job);
    }
  }
  for (const JobId holder : holders) wait->AddOther(holder);
}

// Says of the jobs that wait for a busy slot what their groups have.
void AddShares(PolicyView* view) {
  if (view->groups.empty()) return;
  std::map<JobId, const GroupView*> group_of;
  for (const GroupView& group : view->groups) {
    for (const JobId job : group.jobs) group_of[job] = &group;
  }
  for (WaitView& wait : view->waits) {
    const auto group = group_of.find(wait.job);
    if (wait.cause != WaitCause::kSlotsBusy || wait.slot == kComputePermit || group == group_of.end()) continue;
    const GroupSlots& slots = group->second->slots[wait.slot.task()];
    wait.group = group->second->name;
    wait.group_used = slots.running;
    wait.group_share = slots.share;
  }
}

}  // namespace

PolicyView Engine::View(Micros now) const {
  const ClusterState& state = impl_->state;
  PolicyView view = impl_->policy->View(state, now);
  Waits waits(&view.waits);
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.held) AddHeld(job, &waits);
    AddSlowStart(*impl_->policy, state, job, &waits);
    AddPermits(state, job, &waits);
  }
  for (const TaskKind kind : kTaskKinds) {
    const WaitView none = NoFreeSlot(state, kind, JobId{});
    const WaitCause cause = state.FreeNodes(kind).empty() ? none.cause : WaitCause::kUndecided;
    for (const QueueKey& key : state.RunnableJobs(kind)) {
      if (WaitView* wait = waits.Add(key.job, kind, cause)) wait->used = none.used, wait->of = state.Capacity(kind);
    }
  }
  for (const auto& [until, task] : state.Paused()) {
    WaitView* wait = waits.Add(task.job, task.kind, WaitCause::kPaused);
    if (wait == nullptr) continue;
    wait->task = task;
    wait->until = until;
  }
  AddShares(&view);
  const bool untyped = state.Capacity(kMapSlot) + state.Capacity(kReduceSlot) > state.TotalCapacity();
  const PerKind<bool> wanted = TasksToTry(view, untyped);
  if (wanted[TaskKind::kMap] || wanted[TaskKind::kReduce])
    AddNextFreed(state, impl_->TryEnds(wanted, now, impl_->options.trials), untyped, &view);
  SortWaits(&view.waits);
  return view;
}

}  // namespace millrace::sched
