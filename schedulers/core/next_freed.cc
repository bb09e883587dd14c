#include "schedulers/core/next_freed.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace millrace::sched {
namespace {

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

}  // namespace

PerKind<bool> TasksToTry(const PolicyView& view, bool untyped) {
  PerKind<bool> wanted = {};
  for (const WaitView& wait : view.waits) {
    if (IsAsked(wait)) wanted[wait.slot.task()] = true;
  }
  const bool any = wanted[TaskKind::kMap] || wanted[TaskKind::kReduce];
  return untyped ? PerKind<bool>{any, any} : wanted;
}

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

}  // namespace millrace::sched
