// SPDX-License-Identifier: Apache-2.0
#include "master/control/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids/counted.h"
#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "base/units.h"
#include "master/cluster/worker_address.h"

namespace millrace::master {

void Workers::Start() {
  const Micros until = master_.clock.Awake() + master_.config.startup_grace;
  for (const NodeId node : master_.jobs.EngineNodes()) sessions_.Expect(node, until);
}

bool Workers::InStartupGrace() const { return master_.clock.Up() < master_.config.startup_grace; }

void Workers::LoseSilent() {
  for (const NodeId node : sessions_.Silent(master_.clock.Awake())) Lose(node);
}

// ---- registration ----

Result<Workers::Registration> Workers::Register(const WorkerFacts& facts, worker::wire::WorkerControl::Client control,
                                                const Claims& claims, std::optional<Leaving> leaving,
                                                const Moment& told) {
  LoseOthersAt(facts);
  Step step = master_.steps.Begin();
  const bool older = told.life != 0 && !master_.age.Has(told);
  if (older) {
    master_.log->error("the worker at {}:{} knows of later changes than the database: it was set back", facts.host,
                       facts.port);
    master_.age.NoteSetBack(&step);
  }
  NodeRecord& node = master_.nodes.Admit(facts, &step.batch);
  node.alive = true;
  node.last_heard = master_.clock.Awake();
  node.leaving = std::move(leaving);
  master_.watch.Forget(node.number);
  Registration registration;
  registration.node = node.number;
  registration.older = older;
  const bool settled = !master_.room.Held();
  registration.epoch = sessions_.Register(node.number, master_.clock.Awake() + master_.config.lost_after, settled);
  dfs::BlockManager& blocks = master_.files.blocks();
  blocks.NodeUp(node.number, {facts.rack, facts.datacenter});
  blocks.ReportBegin(node.number);  // the worker lists its blocks once it has the answer
  FollowDraining(node, blocks);
  master_.dispatcher.Connect(node.number, std::move(control));
  if (settled) registration.reconciled = master_.jobs.NodeRegistered(node, claims, &step);
  master_.log->info("worker {} at {}:{} ({}, {}) registered: {} map and {} reduce slots, {} attempts running",
                    node.number.value, facts.host, facts.port, facts.rack, facts.datacenter, facts.map_slots,
                    facts.reduce_slots, claims.running.size());
  if (node.leaving) TellLeaving(node);
  if (settled) {
    registration.committed = master_.steps.Finish(std::move(step));
  } else {
    registration.committed = kj::READY_NOW;
    master_.steps.FinishLazily(std::move(step));
  }
  return registration;
}

void Workers::Foretell(NodeId number, std::optional<Leaving> leaving) {
  NodeRecord* node = master_.nodes.Find(number);
  if (node == nullptr) return;
  node->leaving = std::move(leaving);
  TellLeaving(*node);
  Step step = master_.steps.Begin();
  FollowDraining(*node, master_.files.blocks(), master_.jobs, &step);
  master_.steps.FinishLazily(std::move(step));
}

void Workers::TellLeaving(const NodeRecord& node) const {
  if (node.leaving) {
    master_.log->warn("worker {} at {}: its machine will be taken away in {} s ({}); the worker is being drained",
                      node.number.value, node.facts.host, (node.leaving->at - master_.clock.Awake()) / kSecond,
                      node.leaving->reason);
  } else {
    master_.log->info("worker {} at {}: its departure was cancelled", node.number.value, node.facts.host);
  }
}

void Workers::GiveUpLate() {
  const auto stays = [](const auto& n) { return n.second.alive && !n.second.Drains(); };
  const auto& nodes = master_.nodes.all();
  if (std::ranges::none_of(nodes, stays)) return;
  Step step = master_.steps.Begin();
  for (const auto& [number, node] : nodes) {
    if (node.alive && node.leaving) master_.jobs.GiveUpLate(number, node.leaving->at - master_.clock.Awake(), &step);
  }
  if (!step.batch.empty()) master_.steps.FinishLazily(std::move(step));
}

void Workers::MoveOutputs() {
  std::set<NodeId> drained;
  for (const auto& [number, node] : master_.nodes.all()) {
    if (node.alive && node.Drains()) drained.insert(number);
  }
  if (drained.empty()) return;
  Step step = master_.steps.Begin();
  master_.jobs.MoveOutputs(drained, &step);
  if (!step.output_copies.empty()) master_.steps.FinishLazily(std::move(step));
}

Status Workers::Maintain(const std::vector<NodeId>& nodes, const Maintenance& maintenance, bool force, Step* step) {
  MILLRACE_TRY(master_.nodes.CheckMaintenance(nodes, force));
  std::set<NodeId> fresh;
  for (const NodeId number : nodes) {
    if (!master_.nodes.Find(number)->maintenance) fresh.insert(number);
  }
  if (!fresh.empty() && !force) {
    if (AwaitingReports()) return Busy(AwaitedLine());
    const auto lacking = master_.files.blocks().LackingWithout(fresh);
    if (!lacking) return Busy("a node has not listed its blocks yet; try again in a moment");
    if (*lacking > 0) {
      return Invalid(fmt::format(
          "{} {} have fewer than {} replicas elsewhere (dfs.maintenance_replicas): without {} nothing can read what "
          "only "
          "{} has; take fewer nodes at a time, or use --force: then these blocks are copied while their node is here",
          *lacking, *lacking == 1 ? "block would" : "blocks would", master_.config.maintenance_replicas,
          fresh.size() == 1 ? "this node" : "these nodes", fresh.size() == 1 ? "it" : "one of them"));
    }
  }
  for (const NodeId number : nodes) {
    MILLRACE_TRY(master_.nodes.SetMaintenance(number, maintenance, &step->batch));
    FollowDraining(*master_.nodes.Find(number), master_.files.blocks(), master_.jobs, step);
    master_.log->info("worker {} is in maintenance for {}{}", number.value,
                      FormatDuration(maintenance.until - step->now),
                      maintenance.reason.empty() ? "" : ": " + maintenance.reason);
  }
  return Status::Ok();
}

Status Workers::EndMaintenance(const std::vector<NodeId>& nodes, Step* step) {
  for (const NodeId number : nodes) {
    if (master_.nodes.Find(number) == nullptr) return NoSuchNode(number);
  }
  for (const NodeId number : nodes) {
    const NodeRecord& node = *master_.nodes.Find(number);
    if (!node.maintenance) continue;
    MILLRACE_TRY(master_.nodes.SetMaintenance(number, std::nullopt, &step->batch));
    FollowDraining(node, master_.files.blocks(), master_.jobs, step);
    if (node.alive) {
      master_.log->info("worker {}: its maintenance is over, and it is in use", number.value);
    } else {
      master_.log->warn("worker {}: its maintenance is over and it is not back: it is lost, its blocks are copied",
                        number.value);
    }
  }
  return Status::Ok();
}

void Workers::EndMaintenance() {
  std::vector<NodeId> over;
  for (const auto& [number, node] : master_.nodes.all()) {
    if (node.maintenance && node.maintenance->until <= master_.clock.Now()) over.push_back(number);
  }
  if (over.empty()) return;
  Step step = master_.steps.Begin();
  MILLRACE_CHECK(EndMaintenance(over, &step).ok(), "a node of the table is not in it");
  master_.steps.FinishLazily(std::move(step));
}

std::vector<NodeId> Workers::OthersAt(const WorkerFacts& facts) const {
  std::vector<NodeId> others;
  for (const NodeId number : sessions_.Nodes()) {
    const NodeRecord* node = master_.nodes.Find(number);
    if (node == nullptr || node->facts.storage == facts.storage) continue;
    if (node->facts.host == facts.host && node->facts.port == facts.port) others.push_back(number);
  }
  return others;
}

// Data written to the earlier one reaches the new one, and a replica counted for both would be one too many.
void Workers::LoseOthersAt(const WorkerFacts& facts) {
  for (const NodeId number : OthersAt(facts)) {
    master_.log->warn("worker {}: another one, with another storage, is at {}:{} now", number.value, facts.host,
                      facts.port);
    Lose(number);
  }
}

Status Workers::CheckCluster(const std::string& host, const std::string& cluster) const {
  if (cluster == master_.identity.cluster) return Status::Ok();
  Status refusal = Invalid("the worker at " + host + " belongs to cluster " + Quote(cluster) +
                           " and this is the master of cluster " + master_.identity.cluster +
                           "; give it the address of its own master (worker.master), or an empty directory");
  master_.log->warn("refused: {}", refusal.message());
  return refusal;
}

Status Workers::CheckRelease(const std::string& host, const Release& release) const {
  Status checked = CheckReleases("the worker at " + host, release, "the master", master_.identity.release);
  if (!checked.ok()) master_.log->warn("refused: {}", checked.message());
  return checked;
}

Status Workers::CheckCertificate(const WorkerFacts& facts) const {
  Status checked = master_.nodes.CheckCertificate(facts);
  if (!checked.ok()) master_.log->warn("refused: {}", checked.message());
  return checked;
}

kj::Promise<void> Workers::DialBack(const WorkerFacts& facts) {
  if (master_.dialer == nullptr) return kj::READY_NOW;
  auto dialed = master::DialBack(*master_.dialer, master_.timer, facts.host, facts.port);
  if (!master_.asks_workers) return dialed;
  return dialed.then([this, facts] { return AskIncarnation(*master_.dialer, master_.timer, facts); });
}

Status Workers::Occupied(const WorkerFacts& facts, const NodeRecord& holder) {
  const std::string what = fmt::format("register the worker at {}:{}: ", facts.host, facts.port);
  if (holder.facts.storage != facts.storage) {
    return Busy(what + fmt::format("node {}, with another storage, answers there; each worker needs an address of its "
                                   "own (worker.host, worker.port)",
                                   holder.number.value));
  }
  return Busy(
      what +
      fmt::format("its storage belongs to node {}, the worker at {}:{}, which is here and answers; only one worker may "
                  "serve a directory, and another one may not start from a copy of it (use an empty one)",
                  holder.number.value, holder.facts.host, holder.facts.port));
}

kj::Promise<void> Workers::AwaitVacancy(const WorkerFacts& facts) { return AwaitVacancyBut(facts, {}); }

// If two workers ask at the same time, both find the holder silent. The second then finds the first in its place, and
// asks again.
kj::Promise<void> Workers::AwaitVacancyBut(const WorkerFacts& facts, std::map<NodeId, std::uint64_t> silent) {
  std::vector<NodeId> holders = OthersAt(facts);
  if (const NodeRecord* node = master_.nodes.FindByStorage(facts.storage)) holders.push_back(node->number);
  for (const NodeId number : holders) {
    const auto epoch = sessions_.EpochOf(number);
    const auto asked = silent.find(number);
    if (!epoch || (asked != silent.end() && asked->second == *epoch)) continue;
    constexpr Micros kLongestProbe = 2 * kSecond;
    const auto limit = std::min(master_.config.heartbeat, kLongestProbe) * kj::MICROSECONDS;
    return master_.dispatcher.Answers(number, limit).then([=, this, silent = std::move(silent)](bool answers) mutable {
      const NodeRecord* holder = master_.nodes.Find(number);
      if (answers && holder != nullptr && sessions_.EpochOf(number) == epoch) {
        const Status refusal = Occupied(facts, *holder);
        master_.log->warn("refused: {}", refusal.message());
        return kj::Promise<void>(rpc::ToException(refusal));
      }
      silent[number] = *epoch;
      return AwaitVacancyBut(facts, std::move(silent));
    });
  }
  return kj::READY_NOW;
}

// ---- sessions ----

bool Workers::Heard(NodeId node, std::uint64_t epoch) {
  if (!sessions_.IsCurrent(node, epoch)) return false;
  sessions_.Heard(node, master_.clock.Awake() + master_.config.lost_after);
  if (NodeRecord* record = master_.nodes.Find(node)) record->last_heard = master_.clock.Awake();
  return true;
}

void Workers::NoteSpace(NodeId number, const WorkerSpace& space, bool no_room) {
  NodeRecord* node = master_.nodes.Find(number);
  if (node == nullptr) return;
  const bool was_full = node->full || node->no_room;
  (void)master_.nodes.NoteSpace(number, space);
  node->no_room = no_room;
  if (was_full == (node->full || no_room)) return;
  const std::string worker = fmt::format("worker {} at {}:{}", number.value, node->facts.host, node->facts.port);
  if (was_full) {
    master_.log->info("{}: its disk has room again: {} are free", worker, FormatBytes(space.free));
  } else {
    master_.log->warn("{}: its disk is full: {} go there until something is removed (worker.reserved_bytes)", worker,
                      no_room ? "no blocks and no tasks" : "no blocks");
  }
}

void Workers::NoteTrash(NodeId number) {
  if (NodeRecord* node = master_.nodes.Find(number)) node->put_aside = true;
}

std::uint64_t Workers::MillisSilent(const NodeRecord& node) const {
  Micros silent = 0;
  if (node.last_heard != 0) {
    silent = master_.clock.Awake() - node.last_heard;
  } else if (node.lost_at != 0) {
    silent = master_.clock.Now() - node.lost_at;
  }
  return static_cast<std::uint64_t>(std::max<Micros>(0, silent) / kMillisecond);
}

void Workers::SessionDropped(NodeId node, std::uint64_t epoch) {
  if (!sessions_.IsCurrent(node, epoch)) return;
  master_.log->info("worker {}: connection lost", node.value);
  sessions_.HangUp(node, master_.clock.Awake() + master_.config.disconnect_grace);
  master_.dispatcher.Disconnect(node);
  if (master_.dialer != nullptr) master_.tasks.add(AskAfter(node, epoch));
}

// A worker's process takes its attempts with it, so nobody waits for one that is gone. A process that is about to end
// may still listen for a moment, so the master asks again.
kj::Promise<void> Workers::AskAfter(NodeId node, std::uint64_t epoch) {
  constexpr kj::Duration kAgain = 200 * kj::MILLISECONDS;
  const auto waited_for = [this, node, epoch] {
    return sessions_.IsCurrent(node, epoch) && sessions_.StateOf(node) == WorkerSessions::State::kHungUp;
  };
  const NodeRecord* record = master_.nodes.Find(node);
  if (record == nullptr || !waited_for()) return kj::READY_NOW;
  const std::string host = record->facts.host;
  const std::uint16_t port = record->facts.port;
  return IsDeserted(*master_.dialer, master_.timer, host, port).then([=, this](bool deserted) -> kj::Promise<void> {
    if (!waited_for()) return kj::READY_NOW;
    if (!deserted) return master_.timer.afterDelay(kAgain).then([=, this] { return AskAfter(node, epoch); });
    master_.log->warn("worker {}: nobody listens at {}:{} any more", node.value, host, port);
    Lose(node);
    return kj::READY_NOW;
  });
}

void Workers::Leave(NodeId node, std::uint64_t epoch, const std::string& reason) {
  if (!sessions_.IsCurrent(node, epoch)) return;
  master_.log->warn("worker {} leaves: {}", node.value, reason);
  sessions_.Leave(node);
  Lose(node);
}

void Workers::Lose(NodeId node) {
  const NodeRecord* known = master_.nodes.Find(node);
  if (known != nullptr && known->InMaintenance()) {
    master_.log->info("worker {} is away for its maintenance: its tasks run elsewhere, its blocks are not copied yet",
                      node.value);
  } else {
    master_.log->warn("worker {} is lost: its tasks run elsewhere, its blocks are copied from other replicas",
                      node.value);
  }
  const bool died = sessions_.Lose(node);
  master_.dispatcher.Disconnect(node);
  if (NodeRecord* record = master_.nodes.Find(node)) {
    record->alive = false;
    record->ailing.reset();
  }
  master_.watch.Forget(node);
  master_.files.blocks().NodeDown(node);
  Step step = master_.steps.Begin();
  // A machine that is gone or cannot be reached is silent, whereas a connection ends with its process.
  master_.jobs.NodeLost(node, died, &step);
  master_.steps.FinishLazily(std::move(step));
}

// ---- whether a node may go ----

NodeStand Workers::StandOf(const NodeRecord& node) const {
  NodeStand stand;
  stand.complete = !AwaitingReports() && !master_.room.Held();
  stand.alive = node.alive;
  stand.drains = node.Drains();
  const dfs::UnknownBlocks unknown = master_.files.blocks().UnknownOn(node.number);
  stand.unknown_held = unknown.held;
  stand.doubted = master_.age.Doubted() && (unknown.count > 0 || node.put_aside || node.space.trashed > 0);
  stand.blocks_left = master_.files.blocks().LeftToDrain(node.number);
  if (!node.Drains()) return stand;
  stand.writes = master_.files.WritesTo(node.number);
  const auto [maps, reduces] = master_.jobs.RunningOn(node.number);
  stand.tasks = maps + reduces;
  stand.outputs = master_.jobs.OutputsLeftOn(node.number);
  return stand;
}

Workers::Loss Workers::LossOf(NodeId node) const {
  const dfs::BlockManager& blocks = master_.files.blocks();
  if (const auto lost = blocks.LostWith(node)) return {*lost, true};
  return {blocks.Health().missing, false};
}

// ---- forgetting ----

Status Workers::CheckForget(NodeId number, bool force) const {
  const NodeRecord* node = master_.nodes.Find(number);
  if (node == nullptr) return NoSuchNode(number);
  const std::string what = "forget node " + std::to_string(number.value) + ": ";
  if (node->alive) return Busy(what + "it is alive; stop the worker first");
  if (InStartupGrace() || sessions_.StateOf(number)) {
    return Busy(what + "the master has just started and the worker may still come; ask again after " +
                FormatDuration(master_.config.startup_grace) + " (master.startup_grace)");
  }
  if (force) return Status::Ok();
  if (node->maintenance)
    return Invalid(what + "it is in maintenance; end that first (`millrace node maintenance --end " +
                   std::to_string(number.value) + "`), or use --force");
  const dfs::BlockHealth health = master_.files.blocks().Health();
  if (const Loss loss = LossOf(number); loss.blocks > 0) {
    return Invalid(
        what + std::to_string(loss.blocks) +
        (loss.known ? " blocks were there and have no replica now" : " blocks are missing and it may have them") +
        "; start its worker again, or use --force");
  }
  // Blocks that are short of nodes have all the replicas that the nodes in use can hold: waiting would bring no more.
  if (node->Drains() && health.under_replicated > 0) {
    return Invalid(what + "it was being drained and " + Counted(health.under_replicated, "block has", "blocks have") +
                   " fewer replicas than the nodes in use can hold; wait until they are copied, or use "
                   "--force");
  }
  return Status::Ok();
}

Status Workers::ForgetNodes(const std::set<NodeId>& nodes, bool force, Step* step) {
  for (const NodeId node : nodes) MILLRACE_TRY(CheckForget(node, force));
  for (const NodeId node : nodes) {
    const std::string host = master_.nodes.Find(node)->facts.host;
    MILLRACE_TRY(master_.nodes.Forget(node, &step->batch));
    master_.files.blocks().ForgetNode(node);
    master_.log->info("worker {}, which was at {} and is lost, is forgotten", node.value, host);
  }
  return Status::Ok();
}

// Notes here when a node was lost, and not when that happens. So it is also noted of nodes that did not come back after
// a start.
void Workers::ForgetOld() {
  if (InStartupGrace()) return;
  Step step = master_.steps.Begin();
  const Micros keep = master_.config.forget_nodes_after;
  const auto is_old = [&](const NodeRecord& node) {
    if (node.leaving) return node.leaving->at <= master_.clock.Awake();
    return keep > 0 && !node.maintenance && step.now - node.lost_at >= keep;
  };
  std::set<NodeId> old;
  for (const auto& [number, node] : master_.nodes.all()) {
    if (node.alive || sessions_.StateOf(number)) continue;
    if (node.lost_at == 0) {
      MILLRACE_CHECK(master_.nodes.NoteLost(number, step.now, &step.batch).ok(), "a node of the table is not in it");
    } else if (is_old(node) && CheckForget(number, false).ok()) {
      old.insert(number);
    }
  }
  MILLRACE_CHECK(ForgetNodes(old, false, &step).ok(), "a node that may be forgotten was not");
  if (!step.batch.empty()) master_.steps.FinishLazily(std::move(step));
}

// ---- waiting for workers after a start ----

bool Workers::AwaitingReports() const {
  if (!InStartupGrace()) return false;
  const auto& nodes = master_.nodes.all();
  return nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [this](const auto& n) { return Awaits(n.second); });
}

bool Workers::Awaits(const NodeRecord& node) const {
  const bool may_come = !node.alive && !sessions_.HasLeft(node.number);
  return InStartupGrace() && (may_come || sessions_.IsReporting(node.number));
}

std::string Workers::AwaitedLine() const {
  if (!AwaitingReports()) return {};
  constexpr std::size_t kMostNamed = 5;
  std::size_t awaited = 0;
  std::string names;
  for (const auto& [number, node] : master_.nodes.all()) {
    if (!Awaits(node)) continue;
    if (++awaited > kMostNamed) continue;
    names += fmt::format("{}{}:{}", names.empty() ? "" : ", ", node.facts.host, node.facts.port);
  }
  if (awaited > kMostNamed) names += fmt::format(" and {} more", awaited - kMostNamed);
  const std::string whom =
      awaited == 0 ? "its first worker"
                   : fmt::format("the reports of {} of {} workers ({})", awaited, master_.nodes.all().size(), names);
  const Micros since = master_.clock.Up();
  return fmt::format("the master has started {} s ago and waits for {}, for {} s more at most (master.startup_grace)",
                     since / kSecond, whom, (master_.config.startup_grace - since + kSecond - 1) / kSecond);
}

kj::Promise<void> Workers::NextReport(kj::TimePoint since) {
  if (master_.timer.now() >= since + kReportPatience) return rpc::ToException(Busy(AwaitedLine()));
  const Micros left = std::max<Micros>(0, master_.config.startup_grace - master_.clock.Up());
  const kj::TimePoint end = kj::min(master_.timer.now() + left * kj::MICROSECONDS, since + kReportPatience);
  auto paf = kj::newPromiseAndFulfiller<void>();
  report_waiters_.push_back(std::move(paf.fulfiller));
  return paf.promise.exclusiveJoin(master_.timer.atTime(end));
}

void Workers::TellUnknown(NodeId number) {
  const dfs::UnknownBlocks unknown = master_.files.blocks().UnknownOn(number);
  const NodeRecord* node = master_.nodes.Find(number);
  if (unknown.count == 0 || node == nullptr) return;
  const std::string worker = fmt::format("worker {} at {}:{}", number.value, node->facts.host, node->facts.port);
  if (!unknown.held) {
    master_.log->warn("{} has {} blocks that no file has: they go to its trash", worker, unknown.count);
    return;
  }
  master_.log->error(
      "{} has {} blocks that no file has, too many to be right: none of them is touched. Is master.directory the right "
      "one, and all of it there? `millrace node unknown {}` lists them, `millrace node discard-unknown {}` puts them "
      "into the worker's trash",
      worker, unknown.count, number.value, number.value);
}

void Workers::Reported(NodeId node) {
  sessions_.Reported(node);
  auto waiters = std::move(report_waiters_);
  report_waiters_.clear();
  for (auto& waiter : waiters) waiter->fulfill();
}

}  // namespace millrace::master
