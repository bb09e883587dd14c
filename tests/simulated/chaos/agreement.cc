// SPDX-License-Identifier: Apache-2.0
// The part of Checker that checks that the master and its workers agree.
#include <fmt/format.h>

#include <algorithm>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/event_text.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {
namespace {

// Seconds after the last fault at either of two peers until both have noticed it and have found each other again.
constexpr double kSettled = 30;
// Seconds that orders and reports take after that, including the disk of the master.
constexpr double kOnTheWay = 15;

// Returns the outputs on the node that the master would send reduces to.
std::vector<AttemptId> CountedOn(const sched::ClusterState& state, const sched::NodeState& node) {
  std::vector<AttemptId> counted;
  for (const TaskId& map : node.outputs) {
    const sched::JobState* job = state.FindJob(map.job);
    if (job == nullptr || !job->alive() || job->progress.reduces == 0) continue;
    const sched::TaskState& task = job->maps[map.index];
    if (task.done && task.ran_on == node.id) counted.push_back({map, task.winner});
  }
  return counted;
}

}  // namespace

void Checker::CheckAgreement() {
  const MasterMachine& master = cluster_.master();
  master::Control* control = cluster_.master().control();
  std::map<std::pair<std::string, std::string>, double> differ;
  if (control != nullptr && !master.misled()) {
    for (const auto& worker : cluster_.workers()) {
      const master::NodeRecord* record = control->nodes().FindByStorage(worker->storage());
      if (record != nullptr && record->alive && record->no_room) ++counts_.full;
      WorkerProcess* process = worker->running();
      if (process == nullptr || worker->stranger()) continue;
      if (process->registered_at() != cluster_.master().process().incarnation()) continue;
      if (record != nullptr && record->alive) CheckAgreementWith(*worker, record->number, &differ);
    }
  }
  differ_ = std::move(differ);
  CheckTaken();
  CheckCleared();
}

void Checker::CheckAgreementWith(WorkerMachine& worker, NodeId id, Differences* differ) {
  const sched::ClusterState& state = cluster_.master().control()->jobs().cluster();
  const sched::NodeState* node = state.FindNode(id);
  if (node == nullptr || !node->alive) return;
  // A registered worker has what it is counted on for, at any moment: it only drops what the master told it to drop.
  for (const AttemptId& output : CountedOn(state, *node)) {
    if (worker.running()->plane().served().contains(output)) continue;
    return cluster_.world().Fail(
        "agreement",
        fmt::format("the master counts on the output of {}, and {} does not have it", ToText(output), worker.name()));
  }
  std::set<AttemptId> believed;
  for (const AttemptId& attempt : node->running) believed.insert(attempt);
  for (const AttemptId& attempt : worker.running()->runner().Processes()) {
    if (!believed.contains(attempt))
      Differ(worker, ToText(attempt) + " runs, and the master knows nothing of it", differ);
  }
  for (const AttemptId& attempt : believed) {
    if (!worker.running()->files().HasScratch(attempt))
      Differ(worker, "the master believes that " + ToText(attempt) + " runs, and it does not", differ);
  }
}

// What should be found is found, once everything else has been calm for long enough, and what is well is soon left
// alone.
void Checker::CheckAiling() {
  const MasterMachine& master = cluster_.master();
  master::Control* control = cluster_.master().control();
  if (control == nullptr || master.misled() || cluster_.master().process().stopped()) return;
  std::size_t alive = 0, ailing = 0;
  for (const auto& [number, record] : control->nodes().all()) {
    if (!record.alive) continue;
    ++alive;
    if (!record.ailing) continue;
    ++ailing;
    ++(record.ailing->diagnosis.ailment == master::Ailment::kSlowDisk ? counts_.found_slow
                                                                      : counts_.found_out_of_reach);
  }
  constexpr std::size_t kShare = 3;
  constexpr std::uint32_t kLooks = 4;  // seconds, in which the master notices that nodes are lost
  too_many_ = ailing * kShare > alive ? too_many_ + 1 : 0;
  if (too_many_ > kLooks) {
    return cluster_.world().Fail("ailing", fmt::format("{} of {} nodes are held to be ailing", ailing, alive));
  }
  const auto& all = cluster_.workers();
  // Where nothing else goes wrong, and not too much at once, it has to be found.
  constexpr Fault kBesides[] = {Fault::kApart,      Fault::kDiskSlow,   Fault::kTaskFail, Fault::kTaskHang,
                                Fault::kWorkerSlow, Fault::kWriterGone, Fault::kRot,      Fault::kTruncate,
                                Fault::kVanish,     Fault::kOutputLost};
  const bool calm =
      kShare * cluster_.faults().ailing().size() <= all.size() && cluster_.faults().partitions() <= 1 &&
      alive == all.size() && alive > kShare &&
      std::ranges::all_of(cluster_.plan().faults, [&](Fault fault) { return std::ranges::count(kBesides, fault) > 0; });
  // Whoever was slow until lately may hold the places of those that ail (kLeftAlone): then nobody else is found.
  const bool full = kShare * (ailing + 1) > alive;
  if (!calm || full) unclear_ = cluster_.world().seconds();
  for (const auto& worker : all) {
    const master::NodeRecord* record = control->nodes().FindByStorage(worker->storage());
    if (record != nullptr && record->alive && worker->running() != nullptr && !worker->stranger())
      CheckAilingNode(*worker, *record, calm);
  }
}

void Checker::CheckAilingNode(WorkerMachine& worker, const master::NodeRecord& record, bool calm) {
  constexpr double kNoticed = 20, kSlowNoticed = 45;  // seconds
  constexpr double kLeftAlone = 90;
  const double now = cluster_.world().seconds();
  const auto& ailing = cluster_.faults().ailing();
  const auto made = ailing.find(worker.host());
  if (made == ailing.end()) {
    const double since = std::max(cluster_.faults().CalmSince(worker.host()), master_started_);
    if (record.ailing && now - since > kLeftAlone) {
      cluster_.world().Fail(
          "ailing", fmt::format("{} is held to be ailing for {:.0f} s, and nothing is wrong with it: {}", worker.name(),
                                now - since, record.ailing->diagnosis.reason));
    }
    return;
  }
  if (!calm || record.ailing || record.Drains() || record.maintenance) return;
  const double since = std::max({made->second.since, master_started_, unclear_});
  if (now - since <= (made->second.slow ? kSlowNoticed : kNoticed)) return;
  cluster_.world().Fail(
      "ailing", fmt::format("{} {} for {:.0f} s, and the master has not noticed", worker.name(),
                            made->second.slow ? "has had a slow disk" : "has reached no other worker", now - since));
}

// Messages that are on their way may make the two sides differ for a while.
void Checker::Differ(WorkerMachine& worker, const std::string& what, Differences* differ) {
  const double now = cluster_.world().seconds();
  const auto before = differ_.find({worker.name(), what});
  double since = before == differ_.end() ? now : before->second;
  differ->emplace(std::pair(worker.name(), what), since);
  for (const HostId host : {worker.host(), cluster_.master().host()})
    since = std::max(since, cluster_.faults().CalmSince(host) + kSettled);
  if (now - since > kOnTheWay)
    cluster_.world().Fail("agreement", fmt::format("{}: {}, for {:.0f} s", worker.name(), what, kOnTheWay));
}

// A worker is not lost while nothing is wrong with it. If the master stands still, that is not a worker's fault.
void Checker::Journaled(const WriteBatch& batch) {
  for (const WriteBatch::Change& change : batch.changes()) {
    if (!change.key.starts_with("e/") || !change.value) continue;
    if (change.value->find(" OutputMoved ") != std::string::npos) ++counts_.outputs_moved;
    if (change.value->find("its%20node%20leaves%20before") != std::string::npos) ++counts_.given_up;
    if (change.value->find("its%20node%20is%20out%20of%20reach") != std::string::npos) ++counts_.out_of_reach_given_up;
  }
  const double now = cluster_.world().seconds();
  if (cluster_.master().control() == nullptr || now - master_started_ < kSettled + kOnTheWay) return;
  for (const WriteBatch::Change& change : batch.changes()) {
    if (!change.key.starts_with("e/") || !change.value || change.value->find(" NodeLost ") == std::string::npos)
      continue;
    const auto line = sched::ParseJournalLine(*change.value);
    const auto* event = line ? std::get_if<sched::Event>(&line->content) : nullptr;
    const auto* lost = event == nullptr ? nullptr : std::get_if<sched::NodeLost>(event);
    if (lost == nullptr) continue;
    const master::NodeRecord* record = cluster_.master().control()->nodes().Find(lost->node);
    const WorkerMachine* worker = record == nullptr ? nullptr : cluster_.FindWorker(record->facts.host);
    if (worker == nullptr || worker->storage() != record->facts.storage) continue;
    if (now - cluster_.faults().CalmSince(worker->host()) < kSettled) continue;
    cluster_.world().Fail("lost", fmt::format("{} is taken for lost, and nothing is wrong with it", worker->name()));
  }
}

}  // namespace millrace::simulated
