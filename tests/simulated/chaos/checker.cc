// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/ids/ids.h"
#include "master/jobs/journal.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/event_text.h"
#include "schedulers/policies/settings_file.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {

Counts& Counts::operator+=(const Counts& other) {
  notices += other.notices;
  taken += other.taken;
  taken_without_sole_replicas += other.taken_without_sole_replicas;
  sole_copied += other.sole_copied;
  others_copied += other.others_copied;
  outputs_moved += other.outputs_moved;
  given_up += other.given_up;
  drains += other.drains;
  removed += other.removed;
  maintained += other.maintained;
  maintained_away += other.maintained_away;
  full += other.full;
  refused += other.refused;
  disks_over += other.disks_over;
  logs_refused += other.logs_refused;
  unreadable += other.unreadable;
  set_back += other.set_back;
  set_back_found += other.set_back_found;
  trashed_in_doubt += other.trashed_in_doubt;
  answers += other.answers;
  slow_disks += other.slow_disks;
  partitions += other.partitions;
  found_slow += other.found_slow;
  found_out_of_reach += other.found_out_of_reach;
  out_of_reach_given_up += other.out_of_reach_given_up;
  return *this;
}

std::string Counts::Describe() const {
  return fmt::format(
      "{} notices, {} machines taken ({} with no sole replica), copies from leaving machines: {} of sole replicas, {} "
      "of others; {} outputs moved, {} attempts given up, {} decommissions ({} with the machine taken), {} "
      "maintenances ({} with the machine stopped), {} looks at "
      "full nodes; {} blocks refused by disks, {} workers ended by that, {} blocks not read for a while, {} masters "
      "ended by their disk; {} starts on old databases ({} found by workers alone), {} replicas of acknowledged blocks "
      "kept in the trash by that; {} answers "
      "about shared names; {} slow disks, {} partitions, looks at nodes held to be slow {}, out of reach {}, where {} "
      "attempts and outputs were given up",
      notices, taken, taken_without_sole_replicas, sole_copied, others_copied, outputs_moved, given_up, drains, removed,
      maintained, maintained_away, full, refused, disks_over, unreadable, logs_refused, set_back, set_back_found,
      trashed_in_doubt, answers, slow_disks, partitions, found_slow, found_out_of_reach, out_of_reach_given_up);
}

void Checker::Accepted(JobId job, const std::string& token) { live_jobs_[job] = token; }

std::string Checker::Waiting() const {
  std::string waiting = fmt::format("{} actors", actors_);
  for (const auto& [job, token] : live_jobs_) waiting += fmt::format(", {} ({})", ToText(job), token);
  return waiting;
}

// ---- what happens ----

std::uint32_t Checker::GoodReplicas(std::uint64_t block) const {
  const auto acked = blocks_.find(block);
  std::uint32_t good = 0;
  for (const auto& worker : cluster_.workers()) {
    const auto file = worker->disk().finished.find(block);
    if (file == worker->disk().finished.end() || !file->second.good()) continue;
    if (acked == blocks_.end() || file->second.data == acked->second.data) ++good;
  }
  return good;
}

void Checker::SetWanted(std::uint64_t block, std::uint32_t wanted) {
  std::uint32_t& now = blocks_.at(block).wanted;
  if (wanted < now) lowered_[block] = cluster_.world().seconds();
  if (wanted != now) changed_[block] = cluster_.world().seconds();
  now = wanted;
}

// Damage that a worker found when it started has been reported, so it does not count here.
std::uint32_t Checker::Unnoticed(std::uint64_t block) const {
  std::uint32_t bad = 0;
  for (const auto& worker : cluster_.workers()) {
    if (worker->stranger() || worker->running() == nullptr) continue;
    const auto file = worker->disk().finished.find(block);
    const bool good = file != worker->disk().finished.end() && file->second.good();
    if (!good && worker->running()->blocks().Length(block)) ++bad;
  }
  return bad;
}

std::string Checker::WhereIs(std::uint64_t block) const {
  std::string text;
  for (const auto& worker : cluster_.workers()) {
    const auto file = worker->disk().finished.find(block);
    const bool there = file != worker->disk().finished.end();
    const bool listed = worker->running() != nullptr && worker->running()->blocks().Length(block).has_value();
    if (!there && !listed) continue;
    text += fmt::format(" {} has {} and {} it", worker->name(),
                        !there                ? "nothing"
                        : file->second.good() ? "it"
                                              : "it damaged",
                        listed ? "lists" : "does not list");
  }
  return text;
}

bool Checker::Lately(const std::map<std::uint64_t, double>& times, std::uint64_t block) const {
  constexpr double kUntilRemoved = 60;
  const auto found = times.find(block);
  return found != times.end() && cluster_.world().seconds() < found->second + kUntilRemoved;
}

// The master believes in a bad replica until somebody reads it, and of more than are wanted it may let that one stay.
bool Checker::MayBeDamaged(WorkerMachine& machine, std::uint64_t block) const {
  if (!HasOtherGoodReplica(machine, block)) return false;
  const auto acked = blocks_.find(block);
  if (acked == blocks_.end()) return true;
  std::uint32_t damaged = 1;
  for (const auto& worker : cluster_.workers()) {
    if (worker->stranger() || worker.get() == &machine) continue;
    const auto file = worker->disk().finished.find(block);
    const bool there = file != worker->disk().finished.end();
    const bool listed = worker->running() != nullptr && worker->running()->blocks().Length(block).has_value();
    if (there ? !file->second.good() || file->second.doubted : listed) ++damaged;
  }
  return damaged < acked->second.wanted;
}

bool Checker::HasOtherGoodReplica(WorkerMachine& machine, std::uint64_t block) const {
  if (Lately(lowered_, block)) return false;
  for (const auto& worker : cluster_.workers()) {
    if (worker.get() == &machine || worker->stranger() || worker->gone()) continue;
    const auto file = worker->disk().finished.find(block);
    if (file == worker->disk().finished.end() || file->second.doubted) continue;
    if (file->second.good()) return true;
  }
  return false;
}

bool Checker::HasSoleReplica(WorkerMachine& machine, std::uint64_t block) const {
  const auto acked = blocks_.find(block);
  if (acked == blocks_.end()) return false;
  const auto good = [&](WorkerMachine& worker) {
    const auto file = worker.disk().finished.find(block);
    return file != worker.disk().finished.end() && file->second.good() && file->second.data == acked->second.data;
  };
  // A stranger that belonged to no cluster has joined this one, and may hold what it was given here.
  return good(machine) && std::ranges::none_of(cluster_.workers(), [&](const auto& worker) {
           return worker.get() != &machine && good(*worker);
         });
}

bool Checker::MayBeTaken(WorkerMachine& machine) const {
  return std::ranges::none_of(machine.disk().finished, [&](const auto& file) {
    return hurt_.contains(file.first) && HasSoleReplica(machine, file.first);
  });
}

void Checker::TakenForGood(WorkerMachine& machine, NodeId node) {
  counts_.removed += 1;
  for (const auto& [block, file] : machine.disk().finished) {
    if (!HasSoleReplica(machine, block)) continue;
    cluster_.world().Fail("decommission",
                          fmt::format("the master says that {} may go, and it has the only replica of block {} of {}",
                                      machine.name(), block, blocks_.at(block).path));
  }
  taken_.insert(node);
  CheckTaken();
}

void Checker::Cleared(WorkerMachine& machine, NodeId node) {
  cleared_[node] = {&machine, machine.storage()};
  CheckCleared();
}

void Checker::CheckTaken() const {
  for (const NodeId node : taken_) CheckNotCountedOn(node, "was taken away at the master's word");
  for (const auto& [node, clearance] : cleared_) CheckNotCountedOn(node, "may go, as the master has said");
}

// What it was before its death it said with what was on its disk.
void Checker::MasterStarted() {
  master_started_ = cluster_.world().seconds();
  CheckTaken();
}

void Checker::CheckNotCountedOn(NodeId node, const std::string& said) const {
  master::Control* control = cluster_.master().control();
  if (control == nullptr || cluster_.master().misled()) return;
  const auto [maps, reduces] = control->jobs().RunningOn(node);
  const std::size_t outputs = control->jobs().OutputsLeftOn(node);
  if (maps + reduces + outputs == 0) return;
  cluster_.world().Fail("decommission", fmt::format("{} {}, and {} attempts and {} outputs are counted on there",
                                                    ToText(node), said, maps + reduces, outputs));
}

// A machine that has lost its directory is another node, of which nobody has said anything.
void Checker::CheckCleared() const {
  for (const auto& [node, clearance] : cleared_) {
    WorkerMachine& machine = *clearance.machine;
    if (machine.storage() != clearance.storage) continue;
    for (const auto& [block, file] : machine.disk().finished) {
      if (hurt_.contains(block) || !HasSoleReplica(machine, block)) continue;
      cluster_.world().Fail("decommission", fmt::format("{} may go, as the master has said, and it has the only "
                                                        "replica of block {} of {}",
                                                        machine.name(), block, blocks_.at(block).path));
    }
  }
}

void Checker::Acknowledge(std::uint64_t block, AckedBlock what) {
  blocks_[block] = std::move(what);
  last_acknowledged_ = cluster_.world().seconds();
  CheckCleared();
}

// Orders of a master that was set back may be on their way when the right one is there again. What they put into the
// trash comes back.
void Checker::Removing(WorkerMachine& machine, std::uint64_t block, bool trash) {
  if (trash && cluster_.plan().Has(Fault::kOldMaster) && cluster_.master().misled_times() > 0) {
    counts_.trashed_in_doubt += blocks_.contains(block) ? 1 : 0;
    return cluster_.world().Note(fmt::format("{} puts block {} into its trash", machine.name(), block));
  }
  const auto acked = blocks_.find(block);
  if (acked == blocks_.end()) return cluster_.world().Note(fmt::format("{} removes block {}", machine.name(), block));
  const BlockDisk::File& file = machine.disk().finished.at(block);
  const bool good = file.good() && file.data == acked->second.data;
  const std::uint32_t left = GoodReplicas(block) - (good ? 1 : 0);
  if (!good) return;
  cluster_.world().Note(fmt::format("{} removes block {} of {}, {} good replicas are left", machine.name(), block,
                                    acked->second.path, left));
  if (left == 0) {
    cluster_.world().Fail("replicas", fmt::format("{} removes the last good replica of block {} of {}", machine.name(),
                                                  block, acked->second.path));
  }
  const bool unordered = unordered_.erase({machine.name(), block}) > 0;
  if (left < acked->second.wanted && !unordered && !hurt_.contains(block) && !Lately(changed_, block)) {
    cluster_.world().Fail(
        "surplus", fmt::format("{} removes block {} of {}: {} good replicas are left of {} wanted", machine.name(),
                               block, acked->second.path, left, acked->second.wanted));
  }
}

void Checker::CopiedUnordered(const WorkerMachine& machine, std::uint64_t block) {
  unordered_[{machine.name(), block}] = cluster_.master().process().incarnation();
  cluster_.world().Note(
      fmt::format("{} gets a copy of block {} that an earlier master ordered", machine.name(), block));
}

void Checker::Registered(const WorkerMachine& machine) {
  const std::uint64_t master = cluster_.master().process().incarnation();
  std::erase_if(unordered_,
                [&](const auto& replica) { return replica.first.first == machine.name() && replica.second != master; });
}

// A master that lost the end of its memory may hand out a number again; the worker that has the older one is told.
void Checker::Started(const AttemptId& attempt, WorkerMachine& machine) {
  const double now = cluster_.world().seconds();
  const auto [before, fresh] = started_.try_emplace(attempt, now);
  constexpr double kStaleOrders = 60;
  if (!fresh && before->second > master_started_ + kStaleOrders) {
    cluster_.world().Fail("attempts", fmt::format("{} is begun twice, now on {}", ToText(attempt), machine.name()));
  }
  before->second = now;
}

// ---- the journal ----

namespace {

// Returns everything about a master that a restart must bring back, as text.
std::string Describe(const master::FileSystem& files, const master::JobTracker& jobs) {
  std::string text;
  (void)files.names().Walk("/", [&](const dfs::FileStatus& status) {
    text += fmt::format("file {} {} {} {}\n", status.path, status.id, status.length, status.replication);
    return true;
  });
  for (const dfs::FileId file : files.names().OpenFiles()) text += fmt::format("open {}\n", file);
  for (const JobId id : jobs.JobsAfter(JobId{0}, 1'000'000, false)) {
    const auto view = jobs.View(id);
    if (!view.ok()) continue;
    text += fmt::format("{} {} maps {}/{}/{} reduces {}/{}/{}\n", ToText(id), static_cast<int>(view->state),
                        view->maps.total, view->maps.running, view->maps.done, view->reduces.total,
                        view->reduces.running, view->reduces.done);
    if (view->state != JobState::kRunning) continue;
    const auto attempts = jobs.Attempts(id);
    for (const master::AttemptRecord& attempt : *attempts) {
      if (attempt.state != AttemptState::kRunning) continue;
      text += fmt::format("  {} on {}\n", ToText(attempt.attempt), attempt.node.value);
    }
  }
  return text;
}

std::string FirstDifference(const std::string& a, const std::string& b) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '\n') begin = i + 1;
  }
  return "\"" + a.substr(begin, a.find('\n', begin) - begin) + "\" in memory, \"" +
         b.substr(begin, b.find('\n', begin) - begin) + "\" read back";
}

}  // namespace

void Checker::CheckReplay() {
  master::Control* control = cluster_.master().control();
  if (control == nullptr || cluster_.master().misled() || cluster_.master().store().failed()) return;
  const std::unique_ptr<LosingStore> store = cluster_.master().StoreAsOfNow();
  master::FileSystem files(Random(1), [numbers = Random(1)]() mutable { return numbers.Next(); });
  master::NodeTable nodes;
  const std::string settings = sched::FormatSettings(control->scheduler_file().settings());
  master::JobTracker jobs(files, *store, {.scheduler = {control->scheduler().name(), settings}, .history_jobs = 1000},
                          MakeSilentLog());
  Status loaded = files.Load(*store);
  if (loaded.ok()) loaded = nodes.Load(*store);
  if (loaded.ok()) loaded = jobs.Load(nodes);
  if (!loaded.ok()) return cluster_.world().Fail("replay", "the database does not load: " + loaded.message());
  const std::string memory = Describe(control->files(), control->jobs());
  const std::string disk = Describe(files, jobs);
  if (memory != disk) cluster_.world().Fail("replay", FirstDifference(memory, disk));
}

void Checker::NoteJournal() {
  constexpr std::size_t kLines = 200;
  std::map<std::uint64_t, std::string> told = Journal();
  std::erase_if(told, [](const auto& entry) { return entry.second.ends_with(" woken"); });  // a policy's clock alone
  std::size_t skip = std::max(told.size(), kLines) - kLines;
  for (const auto& [sequence, line] : told) {
    if (skip > 0) {
      --skip;
    } else {
      cluster_.world().Note(fmt::format("journal {}: {}", sequence, line));
    }
  }
}

std::map<std::uint64_t, std::string> Checker::Journal() const {
  std::map<std::uint64_t, std::string> lines;
  (void)cluster_.master().store().Scan("e/", {}, [&](std::string_view key, std::string_view line) {
    if (const auto sequence = master::JournalSequence(key)) lines.emplace(*sequence, line);
    return true;
  });
  return lines;
}

void Checker::CheckJournal() {
  const std::map<std::uint64_t, std::string> lines = Journal();
  std::set<AttemptId> launched;
  std::map<TaskId, AttemptId> reduced;
  for (const auto& [sequence, line] : lines) {
    const auto parsed = sched::ParseJournalLine(line);
    if (!parsed) return cluster_.world().Fail("journal", "not understood: " + line);
    const auto* event = std::get_if<sched::Event>(&parsed->content);
    if (event == nullptr) continue;
    if (const auto* launch = std::get_if<sched::AttemptLaunched>(event)) {
      if (!launched.insert(launch->attempt).second)
        return cluster_.world().Fail("journal", "an attempt is launched twice: " + line);
    }
    if (const auto* done = std::get_if<sched::AttemptSucceeded>(event)) {
      if (done->attempt.task.kind != TaskKind::kReduce) continue;
      if (!reduced.emplace(done->attempt.task, done->attempt).second)
        return cluster_.world().Fail("commit", "a task is committed twice: " + line);
    }
  }
}

// Too many unknown blocks stay until somebody confirms that they may go. They can be those of a file whose writer got
// them from a master that died before they were on its disk.
void Checker::ConfirmUnknown() {
  master::Control* control = cluster_.master().control();
  if (control == nullptr) return;
  for (const auto& [number, node] : control->nodes().all()) {
    if (!control->files().blocks().UnknownOn(number).held) continue;
    cluster_.world().Note(fmt::format("somebody confirms that the unknown blocks of worker {} may go", number.value));
    (void)control->files().blocks().DiscardUnknown(number);
  }
}

void Checker::CheckSlots() {
  master::Control* control = cluster_.master().control();
  if (control == nullptr) return;
  const sched::ClusterState& state = control->jobs().cluster();
  for (std::uint32_t n = 0; n < state.node_ids(); ++n) {
    const sched::NodeState* node = state.FindNode(NodeId{n});
    if (node == nullptr) continue;
    sched::Slots used;
    for (const AttemptId& attempt : node->running) ++(attempt.task.kind == TaskKind::kMap ? used.maps : used.reduces);
    const auto [maps, reduces] = control->jobs().RunningOn(NodeId{n});
    if (used != node->used || maps != used.maps || reduces != used.reduces) {
      return cluster_.world().Fail(
          "slots", fmt::format("node {} runs {}+{} attempts, has {}+{} slots in use, and the records say {}+{}", n,
                               used.maps, used.reduces, node->used.maps, node->used.reduces, maps, reduces));
    }
  }
}

// ---- in the end ----

std::string Checker::Untidy() const {
  std::string untidy = UntidyWorkers();
  if (untidy.empty()) untidy = UntidyMaster();
  if (untidy.empty()) untidy = UntidyBlocks();
  return untidy;
}

std::string Checker::UntidyWorkers() const {
  for (const auto& worker : cluster_.workers()) {
    if (worker->running() == nullptr) return worker->name() + " is down";
    const std::string left = worker->running()->Leftovers();
    if (!left.empty()) return worker->name() + " has left:" + left;
  }
  return {};
}

std::string Checker::UntidyMaster() const {
  master::Control* control = cluster_.master().control();
  if (control == nullptr) return "the master is down";
  if (cluster_.master().store().failed()) return "the master goes on, although its disk has refused a write";
  const auto open = control->files().names().OpenFiles();
  if (!open.empty()) return fmt::format("{} files are open, the first is {}", open.size(), open.front());
  if (control->files().blocks().Balance().state == dfs::BalanceState::kMoving) return "balancing does not end";
  const sched::ClusterState& state = control->jobs().cluster();
  for (std::uint32_t n = 0; n < state.node_ids(); ++n) {
    const sched::NodeState* node = state.FindNode(NodeId{n});
    if (node != nullptr && (node->used.maps > 0 || node->used.reduces > 0))
      return fmt::format("node {} has {}+{} slots in use and no job lives", n, node->used.maps, node->used.reduces);
  }
  return UntidyNodes();
}

// Every node that was decommissioned has been taken back by then.
std::string Checker::UntidyNodes() const {
  master::Control* control = cluster_.master().control();
  for (const auto& [number, record] : control->nodes().all()) {
    if (record.maintenance) return fmt::format("node {} is in maintenance, and its time is over", number.value);
    if (!record.alive) continue;
    const std::string who = fmt::format("node {} ({})", number.value, record.facts.host);
    if (record.Drains()) return who + " is drained, and nobody asked for that";
    if (record.no_room) return who + " is held to be too full for attempts, and is not";
    if (record.ailing) return who + " is held to be ailing, and is not: " + record.ailing->diagnosis.reason;
    const sched::NodeState* node = control->jobs().cluster().FindNode(number);
    if (node == nullptr || !node->alive) return who + " is not known to the scheduler";
    if (node->drained) return who + " gets no tasks, and nobody asked for that";
  }
  return {};
}

std::string Checker::UntidyBlocks() const {
  master::Control* control = cluster_.master().control();
  for (const auto& worker : cluster_.workers()) {
    if (worker->stranger()) continue;
    for (const auto& [id, file] : worker->disk().finished) {
      if (file.whole() && !control->files().names().OwnerOf(id))
        return fmt::format("{} has block {}, which belongs to no file", worker->name(), id);
    }
  }
  const auto workers = static_cast<std::uint32_t>(cluster_.workers().size());
  for (const auto& [id, block] : blocks_) {
    const std::uint32_t good = GoodReplicas(id);
    if (good == 0) return fmt::format("block {} of {} has no good replica", id, block.path);
    if (good + Unnoticed(id) < std::min(block.wanted, workers))
      return fmt::format("block {} of {} has {} good replicas of {} wanted;{}", id, block.path, good, block.wanted,
                         WhereIs(id));
    if (good > std::max(block.wanted, 1U))
      return fmt::format("block {} of {} has {} replicas, {} are wanted", id, block.path, good, block.wanted);
  }
  return {};
}

}  // namespace millrace::simulated
