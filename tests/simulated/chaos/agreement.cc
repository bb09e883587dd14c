// The part of Checker that checks that the master and its workers agree.
#include <fmt/format.h>

#include <algorithm>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/journal/journal_text.h"
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
