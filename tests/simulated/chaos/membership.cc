// SPDX-License-Identifier: Apache-2.0
// The part of FaultActor about who joins and leaves the cluster: machines that are away for long, strangers, machines
// with a notice, and those that are decommissioned.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/cluster_id.h"
#include "dfs/wire/chunks.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {

// Only one machine is taken at a time, and never one that has something that no other has.
void FaultActor::TakeForLong(WorkerMachine& worker) {
  constexpr std::size_t kLeast = 3;
  if (!cluster_.whole() || worker.stranger() || cluster_.workers().size() < kLeast) return;
  if (!HoldsNothingAlone(worker)) return;
  Note(fmt::format("{} is gone", worker.name()));
  Begin(worker.host());
  worker.SetGone(true);
  worker.Kill(random_.Below(2) == 0 ? Death::kSilent : Death::kLost);
}

void FaultActor::Invite() {
  auto stranger = std::make_unique<WorkerMachine>(cluster_, static_cast<std::uint32_t>(cluster_.workers().size()));
  std::uint32_t blocks = 0;
  for (const auto& worker : cluster_.workers()) {
    for (const auto& [id, file] : worker->disk().finished) {
      BlockDisk::File& foreign = stranger->disk().finished[id];
      foreign.data = std::string(file.length, static_cast<char>('a' + id % 26));
      foreign.crcs = dfs::ChunkCrcs(foreign.data);
      foreign.length = file.length;
      ++blocks;
    }
  }
  // It may know which cluster it belongs to, or not, if its directory was made before clusters had ids.
  stranger->MakeStranger(random_.Below(2) == 0 ? FormatClusterId(2, random_.Next()) : "");
  Note(fmt::format("{} of another cluster joins with {} blocks", stranger->name(), blocks));
  stranger->Start();
  cluster_.workers().push_back(std::move(stranger));
}

// Of one machine, or of several at once, as when a zone runs out of machines; the master may start again meanwhile.
void FaultActor::GiveNotices() {
  const std::size_t machines = random_.Below(3) == 0 ? 2 + random_.Below(2) : 1;
  const double seconds = 5 + 115 * random_.Unit();
  for (std::size_t i = 0; i < machines; ++i) GiveNotice(AnyWorker(), seconds);
  if (random_.Below(3) != 0) return;
  Later(seconds * random_.Unit(), [this] {
    MasterMachine& master = cluster_.master();
    if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
    cluster_.checker().CheckReplay();
    EndMaster(Fault::kMasterKill, Duration());
  });
}

void FaultActor::GiveNotice(WorkerMachine& worker, double seconds) {
  if (worker.stranger() || worker.departure()) return;
  Note(fmt::format("{} will be taken away in {:.0f} s", worker.name(), seconds));
  cluster_.checker().count().notices += 1;
  worker.SetDeparture(world_.timer().now() + static_cast<std::int64_t>(seconds * kSecond) * kj::MICROSECONDS);
  if (random_.Below(4) == 0) return Later(seconds * random_.Unit(), [this, &worker] { Withdraw(worker); });
  Later(seconds, [this, &worker] { TakeNoticed(worker); });
}

void FaultActor::Withdraw(WorkerMachine& worker) {
  world_.Note(worker.name() + " is not taken away after all");
  worker.SetDeparture(std::nullopt);
}

// What comes in its place has its name, and its disk or an empty one. Nothing that it held alone is lost, since nobody
// has promised that everything has left in time.
void FaultActor::TakeNoticed(WorkerMachine& worker) {
  if (worker.running() == nullptr || worker.gone()) return Withdraw(worker);
  const bool left = HoldsNothingAlone(worker);
  const bool stays = cluster_.plan().Has(Fault::kEmptyMaster) || cluster_.plan().Has(Fault::kOldMaster);
  const bool empty = left && !stays && random_.Below(2) == 0;
  cluster_.checker().count().taken += 1;
  if (left) cluster_.checker().count().taken_without_sole_replicas += 1;
  Note(worker.name() + " is taken away" + (empty ? ", with its directory" : ""));
  TakeAway(worker, Duration(), random_.Below(2) == 0 ? Death::kSilent : Death::kLost);
  worker.SetDeparture(std::nullopt);
  if (!empty) return;
  for (const auto& [id, file] : worker.disk().finished) cluster_.checker().Hurt(id);
  worker.LoseDirectory();
}

// A worker without a directory would join whoever is the master then.
bool FaultActor::MayRemove() const {
  return !cluster_.plan().Has(Fault::kEmptyMaster) && !cluster_.plan().Has(Fault::kOldMaster);
}

// Nobody else works on the node meanwhile: who takes it back into use takes back what the master said to the other.
std::optional<NodeId> FaultActor::TakeHold(WorkerMachine& worker) {
  master::Control* control = cluster_.master().control();
  if (control == nullptr || cluster_.master().misled() || worker.stranger()) return std::nullopt;
  const master::NodeRecord* node = control->nodes().FindByStorage(worker.storage());
  if (node == nullptr || operated_.contains(node->number)) return std::nullopt;
  // Of a cluster that drains altogether nothing may ever go.
  if (operated_.size() + 1 >= cluster_.workers().size()) return std::nullopt;
  operated_.insert(node->number);
  ++pending_;
  return node->number;
}

void FaultActor::Drain() {
  if (!MayRemove()) return Decommission(AnyWorker(), 3 * Duration());
  switch (random_.Below(5)) {
    case 0:
      return Decommission(AnyWorker(), 3 * Duration());
    case 1:
      return Remove(AnyWorker());
    case 2:
      return AimAt(Arrival::kOnlyReplica);
    case 3:
      return AimAt(Arrival::kOutput);
    default:
      return AimAt(Arrival::kServed);  // which has to leave it, as nothing else may have to
  }
}

// The next worker that such a thing comes to is decommissioned at that moment: if it is under way, before it is there.
void FaultActor::AimAt(Arrival what) {
  constexpr double kPatience = 15;
  ++aims_[what];
  Later(kPatience, [this, what] {
    if (aims_[what] > 0) --aims_[what];
  });
}

bool FaultActor::Hits(Arrival what) {
  if (aims_[what] == 0) return false;
  --aims_[what];
  return true;
}

void FaultActor::Arriving(const std::string& host, Arrival what) {
  constexpr double kHeldUp = 30;  // seconds
  WorkerMachine* worker = cluster_.FindWorker(host);
  if (worker == nullptr || worker->running() == nullptr) return;
  // A block is there soon: one that has something else to do would not be let go before that.
  const bool idle = worker->running()->runner().Processes().empty() && worker->running()->plane().served().empty();
  if ((what == Arrival::kOnlyReplica && !idle) || !Hits(what)) return;
  if (what == Arrival::kOutput) held_up_[worker->host()] = world_.seconds() + kHeldUp;
  Later(0, [this, worker] { Remove(*worker); });
}

// An output arrives at the worst moment: when the master has said that the worker may go.
bool FaultActor::HoldsUp(const WorkerMachine& worker) const {
  const auto until = held_up_.find(worker.host());
  return until != held_up_.end() && world_.seconds() < until->second;
}

void FaultActor::Journaled() {
  if (operator_) operator_->Journaled();
}

// It may be stopped before anything has left it, or when all has.
void FaultActor::Decommission(WorkerMachine& worker, double seconds) {
  const std::optional<NodeId> node = TakeHold(worker);
  if (!node) return;
  cluster_.checker().count().drains += 1;
  Note(fmt::format("{} is decommissioned for {:.2f} s", worker.name(), seconds));
  operator_->Decommission(*node, seconds, [this, number = *node] {
    operated_.erase(number);
    --pending_;
  });
  if (random_.Below(2) != 0) return;
  Later(seconds * random_.Unit(), [this, &worker] {
    if (worker.running() == nullptr || worker.process().stopped() || worker.gone()) return;
    Note(worker.name() + " is stopped");
    TakeAway(worker, Duration(), Death::kDelivered);
  });
}

// It may be stopped in the meantime, and come back before its maintenance is over or afterwards.
void FaultActor::Maintain(WorkerMachine& worker, double seconds) {
  const std::optional<NodeId> node = TakeHold(worker);
  if (!node) return;
  cluster_.checker().count().maintained += 1;
  Note(fmt::format("{} is in maintenance for {:.2f} s", worker.name(), seconds));
  operator_->Maintain(*node, seconds, [this, number = *node] {
    operated_.erase(number);
    --pending_;
  });
  if (random_.Below(4) == 0) return;
  Later(seconds * random_.Unit() / 2, [this, &worker] {
    if (worker.running() == nullptr || worker.process().stopped() || worker.gone()) return;
    cluster_.checker().count().maintained_away += 1;
    Note(worker.name() + " is stopped for its maintenance");
    TakeAway(worker, 2 * Duration(), random_.Below(2) == 0 ? Death::kDelivered : Death::kSilent);
  });
}

// The machine goes for good as soon as the master says that it may, or a while later, whatever has happened meanwhile.
void FaultActor::Remove(WorkerMachine& worker) {
  constexpr double kPatience = 60;
  const std::optional<NodeId> held = TakeHold(worker);
  if (!held) return;
  const NodeId node = *held;
  cluster_.checker().count().drains += 1;
  Note(worker.name() + " is decommissioned, to be taken away for good");
  // An answer that came before its reasons are on disk would show only if the master dies then.
  const bool watchful = random_.Below(3) != 0;
  if (watchful) {
    ++slow_logs_;
    cluster_.master().SetLogDelay(0.2 + 1.3 * random_.Unit());
  }
  Operator::Removal removal;
  removal.watchful = watchful;
  removal.cleared = [this, &worker, node] { Cleared(worker, node); };
  removal.take = [this, &worker, node, storage = worker.storage()] { return TakeForGood(worker, node, storage); };
  removal.then = [this, node, watchful] {
    operated_.erase(node);
    if (watchful && --slow_logs_ == 0) cluster_.master().SetLogDelay(0);
    --pending_;
  };
  operator_->Remove(node, kPatience, std::move(removal));
  for (std::uint64_t disturbances = random_.Below(4); disturbances > 0; --disturbances)
    Later(8 * random_.Unit(), [this, &worker] { Disturb(worker); });
  // What leaves it may come to another one that is to go.
  if (!drawn_ && random_.Below(2) == 0) AimAt(Arrival::kOutput);
}

// The master may end at this moment, whether it does in this plan otherwise or not: it comes back with what is on its
// disk, and must still mean what it has said.
void FaultActor::Cleared(WorkerMachine& worker, NodeId node) {
  world_.Note("the master says that " + worker.name() + " may go");
  cluster_.checker().Cleared(worker, node);
  held_up_.erase(worker.host());
  if (random_.Below(2) == 0) return;
  const Fault fault = random_.Below(2) == 0 ? Fault::kMasterPower : Fault::kMasterKill;
  Later(0, [this, fault] {
    MasterMachine& master = cluster_.master();
    if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
    EndMaster(fault, Duration());
  });
}

// Events that hit somebody who decommissions, at the worst moment.
void FaultActor::Disturb(WorkerMachine& worker) {
  MasterMachine& master = cluster_.master();
  switch (random_.Below(4)) {
    case 0:
    case 1:
      if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
      cluster_.checker().CheckReplay();
      return EndMaster(random_.Below(2) == 0 ? Fault::kMasterKill : Fault::kMasterPower, Duration());
    case 2:
      return Cut(Fault::kLinkCut, worker.host(), master.host(), worker.name() + " and the master");
    default:
      if (worker.running() == nullptr || worker.process().stopped() || worker.gone()) return;
      Note(worker.name() + " is killed");
      return TakeAway(worker, Duration(), random_.Below(2) == 0 ? Death::kDelivered : Death::kSilent);
  }
}

// Another machine comes in its place, with an empty disk. That may have happened already.
bool FaultActor::TakeForGood(WorkerMachine& worker, NodeId node, const std::string& storage) {
  const bool may = cluster_.whole() && !worker.departure() && worker.storage() == storage;
  cluster_.checker().NotCleared(node);
  if (!may || !cluster_.checker().MayBeTaken(worker)) return false;
  Note(worker.name() + " is taken away for good");
  cluster_.checker().TakenForGood(worker, node);
  Begin(worker.host());
  Later(0, [this, &worker] {
    worker.process().Continue();
    worker.Kill(random_.Below(2) == 0 ? Death::kSilent : Death::kLost);
    worker.LoseDirectory();
    Later(Duration(), [this, &worker] {
      world_.Note("another machine is " + worker.name() + " now");
      End(worker.host());
      worker.Start();
    });
  });
  return true;
}

}  // namespace millrace::simulated
