// SPDX-License-Identifier: Apache-2.0
// Engine::View: what the policy shows, and what the engine itself knows of why jobs wait.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/engine_impl.h"
#include "schedulers/core/engine_trial.h"
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

void AddCause(const JobState& job, WaitCause cause, Waits* waits) {
  for (const TaskKind kind : kTaskKinds) {
    if (!job.Pending(kind).empty()) waits->Add(job.progress.job, kind, cause);
  }
}

// The jobs of a user in a pool that may run, as Engine::Impl::LimitUser counts them.
struct UserJobs {
  std::uint32_t may_run = 0, begun = 0;
};
using JobsOfUsers = std::map<std::pair<std::string_view, std::string_view>, UserJobs>;  // by pool and user

JobsOfUsers CountJobsOfUsers(const ClusterState& state) {
  JobsOfUsers counts;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.over_limit) continue;
    UserJobs& of = counts[{job.spec.PoolName(), job.spec.user}];
    ++of.may_run;
    if (job.started) ++of.begun;
  }
  return counts;
}

void AddOverLimit(JobsOfUsers& counts, const UserJobLimits& limits, const JobState& job, Waits* waits) {
  const std::string& pool = job.spec.PoolName();
  const UserJobs& of_user = counts[{pool, job.spec.user}];
  for (const TaskKind kind : kTaskKinds) {
    if (job.Pending(kind).empty()) continue;
    WaitView* wait = waits->Add(job.progress.job, kind, WaitCause::kUserJobs);
    if (wait == nullptr) continue;
    wait->used = of_user.may_run;
    wait->begun = of_user.begun;
    wait->of = limits.Of(pool).value_or(0);
    wait->group = pool;
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

// The job that would get the next slot or permit, which is added to the waits of the view.

bool IsAsked(const WaitView& wait) { return wait.cause == WaitCause::kSlotsBusy; }

// The tasks of one source (a group or a job): the number that leave the slot to a job, and the number that were tried.
struct Leaves {
  std::uint32_t to_it = 0, tried = 0;
};

// Returns false, and nothing in either list, if some source leaves the slot to the job for a part of its tasks.
template <class Source>
bool Part(const std::map<Source, Leaves>& leaves, std::vector<Source>* all, std::vector<Source>* none) {
  for (const auto& [source, of] : leaves) {
    if (of.to_it != 0 && of.to_it != of.tried) {
      all->clear();
      none->clear();
      return false;
    }
    (of.to_it == 0 ? none : all)->push_back(source);
  }
  return true;
}

// Returns the jobs that may come to wait for the same reduce slots or permits as the view's jobs, once maps or copies
// end and before a slot becomes free.
std::set<JobId> MayComeFirst(const PolicyView& view, const ClusterState& state, SlotKind kind) {
  std::set<JobId> jobs;
  for (const WaitView& wait : view.waits) {
    if (kind != kReduceSlot || wait.cause != WaitCause::kMapsFirst) continue;
    if (wait.used + state.FindJob(wait.job)->running_attempts[kMapSlot] >= wait.of) jobs.insert(wait.job);
  }
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    const auto beyond_copying = job.running_attempts[kComputePermit] + job.copied_reduces.size();
    const bool copies = job.running_attempts[kReduceSlot] > beyond_copying;
    if (kind == kComputePermit && copies && job.progress.maps_done == job.progress.maps) jobs.insert(key.job);
  }
  return jobs;
}

// Returns true if the wait is for a slot or permit of this node, too: reduces wait for permits of their nodes.
bool WaitsFor(const WaitView& wait, const ClusterState& state, NodeId node) {
  if (wait.slot != kComputePermit) return true;
  const std::vector<CopiedReduce>& reduces = state.FindJob(wait.job)->copied_reduces;
  return std::ranges::find(reduces, node, &CopiedReduce::node) != reduces.end();
}

NextFreed NextOf(const WaitView& wait, const ClusterState& state, const std::vector<TriedEnd>& ends,
                 const std::map<JobId, std::string>& groups) {
  NextFreed next;
  std::map<JobId, std::uint32_t> takers;
  std::map<JobId, Leaves> by_job;
  std::map<std::string, Leaves> by_group;
  bool grouped = true;
  for (const TriedEnd& end : ends) {
    if (!end.frees[wait.slot] || !WaitsFor(wait, state, end.node)) continue;
    const std::optional<JobId> to = end.goes_to[wait.slot];
    const std::uint32_t to_it = to == wait.job ? end.stands_for : 0;
    next.tried += end.stands_for;
    next.to_it += to_it;
    if (to && to != wait.job) takers[*to] += end.stands_for;
    const JobId from = end.attempt.task.job;
    const auto group = groups.find(from);
    grouped = grouped && group != groups.end();
    std::vector<Leaves*> sources = {&by_job[from]};
    if (grouped) sources.push_back(&by_group[group->second]);
    for (Leaves* source : sources) source->to_it += to_it, source->tried += end.stands_for;
  }
  next.running = next.tried;
  std::vector<std::pair<JobId, std::uint32_t>> by_count(takers.begin(), takers.end());
  std::stable_sort(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  next.taker_count = static_cast<std::uint32_t>(by_count.size());
  for (const auto& [job, count] : by_count) {
    if (next.takers.size() < WaitView::kMostNamed) next.takers.push_back(job);
  }
  if (!grouped || !Part(by_group, &next.of_groups, &next.not_of_groups)) {
    (void)Part(by_job, &next.of_jobs, &next.not_of_jobs);
  }
  return next;
}

// Returns the kinds of tasks whose ends must be tried for the view's waits for busy slots and permits.
PerKind<bool> TasksToTry(const PolicyView& view, bool untyped) {
  PerKind<bool> wanted = {};
  for (const WaitView& wait : view.waits) {
    if (IsAsked(wait)) wanted[wait.slot.task()] = true;
  }
  const bool any = wanted[TaskKind::kMap] || wanted[TaskKind::kReduce];
  return untyped ? PerKind<bool>{any, any} : wanted;
}

// Adds the results of the trials to the waits for busy slots and permits. Nothing is added to a wait for reduce slots
// if running maps may let reduces of other jobs start first, nor to a wait for permits if reduces of other jobs may
// finish copying first. With `untyped`, a task of either kind leaves a slot that both kinds can use.
void AddNextFreed(const ClusterState& state, const TriedEnds& tried, bool untyped, PolicyView* view) {
  std::map<JobId, std::string> groups;
  for (const GroupView& group : view->groups) {
    for (const JobId job : group.jobs) groups[job] = group.name;
  }
  PerSlot<std::set<JobId>> may_come_first;
  for (const SlotKind kind : {kReduceSlot, kComputePermit}) may_come_first[kind] = MayComeFirst(*view, state, kind);
  for (WaitView& wait : view->waits) {
    if (!IsAsked(wait)) continue;
    const std::set<JobId>& others = may_come_first[wait.slot];
    if (others.size() > (others.contains(wait.job) ? 1U : 0U)) continue;
    NextFreed next = NextOf(wait, state, tried.ends, groups);
    if (next.tried == 0) continue;
    for (const TaskKind kind : kTaskKinds) {
      if (untyped || kind == wait.slot.task()) next.running += tried.untried[kind];
    }
    wait.next = std::move(next);
  }
}

}  // namespace

PolicyView Engine::View(Micros now) const {
  const ClusterState& state = impl_->state;
  PolicyView view = impl_->policy->View(state, now);
  Waits waits(&view.waits);
  std::optional<JobsOfUsers> users;  // counted if a job waits for them
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.held) AddCause(job, WaitCause::kGaveWay, &waits);
    if (job.on_hold) AddCause(job, WaitCause::kOnHold, &waits);
    if (job.over_limit && !users) users = CountJobsOfUsers(state);
    if (job.over_limit && !job.on_hold) AddOverLimit(*users, impl_->user_limits, job, &waits);
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
