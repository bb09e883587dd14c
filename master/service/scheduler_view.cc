#include "master/service/scheduler_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/units.h"
#include "master/jobs/answer_budget.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::master {
namespace {

constexpr std::size_t kMostElements = 4000;

// Adds the use of slots before what the policy says, unless the policy says it itself.
void AddSlots(const sched::ClusterState& cluster, sched::PolicyView* view) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const TaskKind kind : kTaskKinds) {
    const std::string name = kind == TaskKind::kMap ? "map slots" : "reduce slots";
    const auto known = [&](const auto& fact) { return fact.first == name; };
    if (std::any_of(view->facts.begin(), view->facts.end(), known)) continue;
    facts.emplace_back(name, std::to_string(cluster.Running(kind)) + " of " + std::to_string(cluster.Capacity(kind)));
  }
  view->facts.insert(view->facts.begin(), facts.begin(), facts.end());
}

// Every runnable job waits for something. If the policy does not say for what, it is a slot or the job's turn. A job of
// which all tasks of a kind run or pause waits for the first of those that pause.
void AddWaits(const sched::ClusterState& cluster, Micros now, sched::PolicyView* view) {
  std::set<std::pair<JobId, TaskKind>> told;
  for (const sched::WaitView& wait : view->waits) told.insert({wait.job, wait.kind});
  for (const TaskKind kind : kTaskKinds) {
    for (const sched::QueueKey& key : cluster.RunnableJobs(kind)) {
      if (told.contains({key.job, kind})) continue;
      const bool free = !cluster.FreeNodes(kind).empty();
      told.insert({key.job, kind});
      view->waits.push_back({key.job, kind, free ? "below its turn" : "no slot of that kind is free"});
    }
  }
  for (const auto& [until, task] : cluster.Paused()) {
    if (!told.insert({task.job, task.kind}).second) continue;
    view->waits.push_back({task.job, task.kind,
                           "task " + ToText(task) + " failed " +
                               std::to_string(cluster.FindJob(task.job)->Tasks(task.kind)[task.index].failed) +
                               " times and is tried again in " +
                               FormatDuration(std::max(until - now, Micros{0}) / kMillisecond * kMillisecond)});
  }
  for (const sched::QueueKey& key : cluster.LiveJobs()) {
    if (cluster.FindJob(key.job)->held)
      view->waits.push_back({key.job, TaskKind::kMap, "gave way for lack of room, until another job has ended"});
  }
  std::stable_sort(view->waits.begin(), view->waits.end(),
                   [](const auto& a, const auto& b) { return std::pair(a.job, a.kind) < std::pair(b.job, b.kind); });
}

void Write(const sched::GroupSlots& slots, wire::SchedulerView::GroupSlots::Builder out) {
  out.setRunning(slots.running);
  out.setDemand(slots.demand);
  out.setShare(slots.share);
  out.setMinimum(slots.minimum);
  out.setMaximum(slots.maximum.value_or(0));
  out.setHasMaximum(slots.maximum.has_value());
}

void Write(const sched::WaitView& wait, const sched::ClusterState& cluster, wire::SchedulerView::Wait::Builder out) {
  out.setJob(wait.job.value);
  out.setReduces(wait.kind == TaskKind::kReduce);
  out.setReason(wait.reason);
  const sched::JobState* job = cluster.FindJob(wait.job);
  if (job == nullptr) return;
  out.setName(job->spec.name);
  out.setPool(job->spec.PoolName());
  out.setPending(static_cast<std::uint32_t>(job->Pending(wait.kind).size()));
  out.setRunning(job->running_attempts[wait.kind]);
}

std::size_t BytesOf(const sched::WaitView& wait, const sched::ClusterState& cluster) {
  const sched::JobState* job = cluster.FindJob(wait.job);
  const std::size_t names = job == nullptr ? 0 : FieldBytes(job->spec.name) + FieldBytes(job->spec.PoolName());
  return 64 + FieldBytes(wait.reason) + names;
}

template <class List, class Write>
void Fill(const List& list, std::size_t size, Write write) {
  for (std::size_t i = 0; i < size; ++i) write(list[i], static_cast<unsigned>(i));
}

}  // namespace

void WriteSchedulerView(const Control& control, wire::SchedulerView::Builder out) {
  const sched::ClusterState& cluster = control.jobs().cluster();
  sched::PolicyView view = control.jobs().ViewPolicy(control.Now());
  AddSlots(cluster, &view);
  AddWaits(cluster, control.Now(), &view);
  out.setName(control.scheduler());
  out.setFile(control.scheduler_file().name());
  out.setFileProblem(control.scheduler_file().problem());
  AnswerBudget budget(kMostElements);
  budget.Add(FieldBytes(control.scheduler_file().name()) + FieldBytes(control.scheduler_file().problem()));
  const std::size_t facts = budget.TakeFront(
      view.facts, [](const auto& fact) { return 16 + FieldBytes(fact.first) + FieldBytes(fact.second); });
  auto out_facts = out.initFacts(static_cast<unsigned>(facts));
  Fill(view.facts, facts, [&](const auto& fact, unsigned i) {
    out_facts[i].setName(fact.first);
    out_facts[i].setValue(fact.second);
  });
  const std::size_t groups =
      budget.TakeFront(view.groups, [](const sched::GroupView& group) { return 128 + FieldBytes(group.name); });
  auto out_groups = out.initGroups(static_cast<unsigned>(groups));
  Fill(view.groups, groups, [&](const sched::GroupView& group, unsigned i) {
    out_groups[i].setName(group.name);
    out_groups[i].setWeight(group.weight);
    out_groups[i].setJobs(group.jobs);
    Write(group.slots[TaskKind::kMap], out_groups[i].initMaps());
    Write(group.slots[TaskKind::kReduce], out_groups[i].initReduces());
  });
  const std::size_t waits =
      budget.TakeFront(view.waits, [&](const sched::WaitView& wait) { return BytesOf(wait, cluster); });
  auto out_waits = out.initWaits(static_cast<unsigned>(waits));
  Fill(view.waits, waits, [&](const auto& wait, unsigned i) { Write(wait, cluster, out_waits[i]); });
  out.setMoreFacts(static_cast<std::uint32_t>(view.facts.size() - facts));
  out.setMoreGroups(static_cast<std::uint32_t>(view.groups.size() - groups));
  out.setMoreWaits(static_cast<std::uint32_t>(view.waits.size() - waits));
}

}  // namespace millrace::master
