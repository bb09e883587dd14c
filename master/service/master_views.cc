// SPDX-License-Identifier: Apache-2.0
#include "master/service/master_views.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/units.h"
#include "master/jobs/answer_budget.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::master {

// ---- the caller ----

void WriteCallerRights(const Caller& caller, const AccessRules& rules, wire::CallerRights::Builder out) {
  constexpr std::size_t kMost = 1000;  // groups, and pools: what fits into a message
  out.setUser(caller.user());
  out.setAdministrator(caller.IsAdministrator());
  out.setAddress(caller.peer().address);
  const AccessRules::Names& of = rules.GroupsOf(caller.user());
  std::vector<std::string> groups(of.begin(), of.end());
  groups.resize(std::min(groups.size(), kMost));
  auto list = out.initGroups(static_cast<unsigned>(groups.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, groups[i]);
  std::vector<std::string> pools = rules.Pools();
  pools.resize(std::min(pools.size(), kMost));
  pools.emplace_back("*");
  auto rights = out.initPools(static_cast<unsigned>(pools.size()));
  const bool anyone = caller.user().empty();
  for (unsigned i = 0; i < rights.size(); ++i) {
    rights[i].setPool(pools[i]);
    rights[i].setSubmits(anyone || rules.MaySubmit(caller.user(), pools[i]));
    rights[i].setAdministers(anyone || rules.MayAdminister(caller.user(), pools[i]));
  }
}

// ---- the cluster ----

namespace {

using Texts = capnp::List<capnp::Text>::Builder;

void WriteNotices(const std::vector<Notice>& notices, Texts lines, Texts codes) {
  for (unsigned i = 0; i < lines.size(); ++i) {
    lines.set(i, notices[i].line);
    codes.set(i, std::string(notices[i].name()));
  }
}

void WriteWorkers(const std::vector<ClusterSummary::WorkerRelease>& workers, wire::ClusterStatus::Builder out) {
  constexpr std::size_t kMostReleases = 100;  // more than anybody has at a time
  auto list = out.initWorkers(static_cast<unsigned>(std::min(workers.size(), kMostReleases)));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setVersion(workers[i].release.version);
    list[i].setProtocol(workers[i].release.protocol);
    list[i].setNodes(workers[i].nodes);
  }
}

}  // namespace

void WriteClusterStatus(const ClusterSummary& summary, wire::ClusterStatus::Builder out) {
  out.setCluster(summary.cluster);
  out.setVersion(summary.master.version);
  out.setProtocol(summary.master.protocol);
  out.setUpMillis(static_cast<std::uint64_t>(summary.up / kMillisecond));
  out.setScheduler(summary.scheduler);
  const std::vector<Notice> faults = FaultsOf(summary), warnings = WarningsOf(summary);
  const auto fault_count = static_cast<unsigned>(faults.size()), warning_count = static_cast<unsigned>(warnings.size());
  WriteNotices(faults, out.initFaults(fault_count), out.initFaultCodes(fault_count));
  WriteNotices(warnings, out.initWarnings(warning_count), out.initWarningCodes(warning_count));
  auto risks = out.initWarningRisks(warning_count);
  for (unsigned i = 0; i < warning_count; ++i) risks.set(i, warnings[i].level() == NoticeLevel::kRisk);
  out.setLive(summary.live);
  out.setDraining(summary.draining);
  out.setMaintained(summary.maintained);
  out.setOnlyInMaintenance(summary.blocks.only_in_maintenance);
  out.setAvoided(summary.avoided);
  out.setFull(static_cast<std::uint32_t>(summary.full.size()));
  out.setAiling(static_cast<std::uint32_t>(summary.ailing.size()));
  out.setLost(summary.lost);
  out.setAwaited(summary.awaited);
  out.setMapSlots(summary.map_slots);
  out.setMapsRunning(summary.maps_running);
  out.setReduceSlots(summary.reduce_slots);
  out.setReducesRunning(summary.reduces_running);
  out.setCapacity(summary.space.capacity);
  out.setUsed(summary.space.used);
  out.setFree(summary.space.free);
  WriteWorkers(summary.workers, out);
  out.setFiles(summary.files.files);
  out.setDirectories(summary.files.directories);
  out.setBytes(summary.files.bytes);
  out.setBlocks(summary.blocks.blocks);
  out.setMissing(summary.blocks.missing);
  out.setUnderReplicated(summary.blocks.under_replicated);
  out.setShortOfNodes(summary.blocks.short_of_nodes);
  out.setSingleReplica(summary.blocks.single_replica);
  out.setCorruptReplicas(summary.blocks.corrupt_replicas);
  out.setJobsRunning(summary.jobs_running);
  out.setJobsWaiting(summary.jobs_waiting);
  out.setJobsHeld(summary.jobs_held);
  out.setJobsAfter(summary.jobs_after);
  if (!summary.backup) return;
  auto backup = out.initBackup();
  backup.setMade(summary.backup->made);
  backup.setAgeMillis(
      static_cast<std::uint64_t>(std::max<Micros>(0, summary.now - summary.backup->made) / kMillisecond));
  backup.setDirectory(summary.backup->directory);
  backup.setOperations(summary.backup->operations);
  backup.setBytes(summary.backup->bytes);
  backup.setCopied(summary.backup->copied);
  backup.setCopyProblem(summary.backup->copy_problem);
}

// ---- the scheduler ----

namespace {

constexpr std::size_t kMostElements = 4000;

// Adds the use of slots before what the policy says.
void AddSlots(const sched::ClusterState& cluster, sched::PolicyView* view) {
  std::vector<sched::Fact> facts;
  for (const TaskKind kind : kTaskKinds) {
    const std::string name = kind == TaskKind::kMap ? "map" : "reduce";
    facts.push_back(sched::Fact::Number(name + " slots", cluster.Capacity(kind)));
    facts.push_back(sched::Fact::Number("running " + name + "s", cluster.Running(kind)));
  }
  if (cluster.Capacity(sched::kComputePermit) != cluster.Capacity(sched::kReduceSlot)) {
    facts.push_back(sched::Fact::Number("compute permits", cluster.Capacity(sched::kComputePermit)));
  }
  view->facts.insert(view->facts.begin(), facts.begin(), facts.end());
}

void WriteSlots(const sched::GroupSlots& slots, wire::SchedulerView::GroupSlots::Builder out) {
  out.setRunning(slots.running);
  out.setDemand(slots.demand);
  out.setShare(slots.share);
  out.setMinimum(slots.minimum);
  out.setMaximum(slots.maximum.value_or(0));
  out.setHasMaximum(slots.maximum.has_value());
  out.setPreemptsAt(slots.preempts_at.value_or(0));
}

std::string_view NameOf(sched::SlotKind slot) {
  if (slot.map()) return "map";
  return slot == sched::kComputePermit ? "permit" : "reduce";
}

// Writes one wait of a job.
struct WaitEntry {
  const sched::WaitView* wait = nullptr;
  const sched::JobState* job = nullptr;
  std::string sentence;
};

std::vector<WaitEntry> EntriesOf(const sched::ClusterState& cluster, Micros now, const sched::PolicyView& view) {
  std::vector<WaitEntry> entries;
  for (const sched::WaitView& wait : view.waits) {
    entries.push_back({&wait, cluster.FindJob(wait.job), InWords(wait, cluster, now, view.group_noun)});
  }
  return entries;
}

// A job that is first in order still has others before it if the next slot to become free may go to them.
void WriteOthers(const sched::WaitView& wait, wire::SchedulerView::Wait::Builder out) {
  const std::vector<JobId>* jobs = &wait.others;
  std::optional<std::uint32_t> count = wait.other_count;
  if (wait.next) {
    out.setNextRunning(wait.next->running);
    out.setNextTried(wait.next->tried);
    out.setNextToIt(wait.next->to_it);
    if (count == 0 && wait.next->to_it < wait.next->tried) {
      jobs = &wait.next->takers;
      count = jobs->empty() ? std::nullopt : std::optional(wait.next->taker_count);
    }
  }
  auto others = out.initOthers(static_cast<unsigned>(jobs->size()));
  for (unsigned i = 0; i < others.size(); ++i) others.set(i, (*jobs)[i].value);
  out.setHasOtherCount(count.has_value());
  out.setOtherCount(count.value_or(0));
}

void WriteWait(const WaitEntry& entry, wire::SchedulerView::Wait::Builder out) {
  const sched::WaitView& wait = *entry.wait;
  const sched::JobState& job = *entry.job;
  out.setJob(wait.job.value);
  out.setName(job.spec.name);
  out.setPool(job.spec.PoolName());
  out.setReduces(!wait.slot.map());
  out.setSlot(std::string(NameOf(wait.slot)));
  out.setPending(wait.slot == sched::kComputePermit ? static_cast<std::uint32_t>(job.copied_reduces.size())
                                                    : static_cast<std::uint32_t>(job.Pending(wait.slot.task()).size()));
  out.setRunning(job.running_attempts[wait.slot]);
  out.setReason(entry.sentence);
  out.setCause(std::string(ToText(wait.cause)));
  out.setUsed(wait.used);
  out.setOf(wait.of);
  WriteOthers(wait, out);
  out.setGroup(wait.group);
  out.setGroupUsed(wait.group_used);
  out.setHasGroupShare(wait.group_share.has_value());
  out.setGroupShare(wait.group_share.value_or(0));
  out.setSince(wait.since.value_or(0));
  out.setUntil(wait.until.value_or(0));
}

std::size_t WaitBytes(const WaitEntry& entry) {
  return 256 + FieldBytes(entry.sentence) + FieldBytes(entry.wait->group) + FieldBytes(entry.job->spec.name) +
         FieldBytes(entry.job->spec.PoolName());
}

template <class List, class Write>
void Fill(const List& list, std::size_t size, Write write) {
  for (std::size_t i = 0; i < size; ++i) write(list[i], static_cast<unsigned>(i));
}

}  // namespace

void WriteCost(const SchedulerViewParts& master, wire::SchedulerView::Cost::Builder out) {
  out.setDeciding(static_cast<std::uint64_t>(master.jobs.deciding_cost().nanoseconds));
  out.setEvents(master.jobs.deciding_cost().events);
  if (master.meters.processor_time) out.setMasterCpu(static_cast<std::uint64_t>(master.meters.processor_time()));
}

void WritePolicy(const SchedulerViewParts& master, Micros now, sched::PolicyView view,
                 wire::SchedulerView::Builder out) {
  const sched::ClusterState& cluster = master.jobs.cluster();
  AddSlots(cluster, &view);
  if (std::string relief = master.scheduler.ReliefLine(); !relief.empty())
    view.facts.push_back(sched::Fact::Words("relieved", std::move(relief)));
  out.setName(master.scheduler.name());
  out.setFile(master.scheduler_file.name());
  out.setFileProblem(master.scheduler_file.problem());
  AnswerBudget budget(kMostElements);
  budget.Add(FieldBytes(master.scheduler_file.name()) + FieldBytes(master.scheduler_file.problem()));
  const std::size_t facts = budget.TakeFront(
      view.facts, [](const sched::Fact& fact) { return 64 + FieldBytes(fact.name) + 2 * FieldBytes(fact.text); });
  auto out_facts = out.initFacts(static_cast<unsigned>(facts));
  Fill(view.facts, facts, [&](const sched::Fact& fact, unsigned i) {
    out_facts[i].setName(fact.name);
    out_facts[i].setValue(InWords(fact));
    if (fact.number) out_facts[i].setUnit(fact.text);
    out_facts[i].setHasNumber(fact.number.has_value());
    out_facts[i].setNumber(fact.number.value_or(0));
  });
  const std::size_t groups =
      budget.TakeFront(view.groups, [](const sched::GroupView& group) { return 128 + FieldBytes(group.name); });
  auto out_groups = out.initGroups(static_cast<unsigned>(groups));
  Fill(view.groups, groups, [&](const sched::GroupView& group, unsigned i) {
    out_groups[i].setName(group.name);
    out_groups[i].setWeight(group.weight);
    out_groups[i].setJobs(static_cast<std::uint32_t>(group.jobs.size()));
    WriteSlots(group.slots[TaskKind::kMap], out_groups[i].initMaps());
    WriteSlots(group.slots[TaskKind::kReduce], out_groups[i].initReduces());
  });
  const std::vector<WaitEntry> entries = EntriesOf(cluster, now, view);
  const std::size_t waits = budget.TakeFront(entries, WaitBytes);
  auto out_waits = out.initWaits(static_cast<unsigned>(waits));
  Fill(entries, waits, [&](const WaitEntry& entry, unsigned i) { WriteWait(entry, out_waits[i]); });
  const std::size_t deadlines = budget.TakeFront(view.deadlines, [](const sched::DeadlineView&) { return 32; });
  auto out_deadlines = out.initDeadlines(static_cast<unsigned>(deadlines));
  Fill(view.deadlines, deadlines, [&](const sched::DeadlineView& deadline, unsigned i) {
    out_deadlines[i].setJob(deadline.job.value);
    out_deadlines[i].setAt(deadline.deadline);
    out_deadlines[i].setSlack(deadline.slack);
  });
  out.setGroupNoun(view.group_noun);
  out.setMoreFacts(static_cast<std::uint32_t>(view.facts.size() - facts));
  out.setMoreGroups(static_cast<std::uint32_t>(view.groups.size() - groups));
  out.setMoreWaits(static_cast<std::uint32_t>(view.waits.size() - waits));
}

void WriteSchedulerView(const SchedulerViewParts& master, wire::SchedulerView::Builder out) {
  const Micros now = master.clock.Now();
  WritePolicy(master, now, master.jobs.ViewPolicy(now), out);
  out.setNow(now);
  WriteCost(master, out.initCost());
}

std::map<JobId, FlatMessage> FlatWaits(const sched::ClusterState& cluster, Micros now, const sched::PolicyView& view) {
  const std::vector<WaitEntry> entries = EntriesOf(cluster, now, view);
  std::map<JobId, FlatMessage> flat;
  for (auto first = entries.begin(); first != entries.end();) {
    const JobId job = first->wait->job;
    const auto last =
        std::find_if(first, entries.end(), [job](const WaitEntry& entry) { return entry.wait->job != job; });
    flat.emplace(job, Flatten<wire::Changes::JobWaits>([&](wire::Changes::JobWaits::Builder out) {
                   out.setJob(job.value);
                   auto waits = out.initWaits(static_cast<unsigned>(last - first));
                   for (auto at = first; at != last; ++at) WriteWait(*at, waits[static_cast<unsigned>(at - first)]);
                 }));
    first = last;
  }
  return flat;
}

void WriteWaits(const JobTracker& tracker, Micros now, capnp::List<std::uint32_t>::Reader jobs,
                wire::Master::ExplainWaitsResults::Builder out) {
  const sched::ClusterState& cluster = tracker.cluster();
  sched::PolicyView view = tracker.ViewPolicy(now);
  const std::set<std::uint32_t> asked(jobs.begin(), jobs.end());
  if (!asked.empty()) std::erase_if(view.waits, [&](const auto& wait) { return !asked.contains(wait.job.value); });
  const std::vector<WaitEntry> entries = EntriesOf(cluster, now, view);
  AnswerBudget budget(kMostElements);
  const std::size_t waits = budget.TakeFront(entries, WaitBytes);
  auto out_waits = out.initWaits(static_cast<unsigned>(waits));
  Fill(entries, waits, [&](const WaitEntry& entry, unsigned i) { WriteWait(entry, out_waits[i]); });
}

}  // namespace millrace::master
