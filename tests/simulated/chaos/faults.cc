// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {

FaultActor::FaultActor(Cluster& cluster)
    : cluster_(cluster), world_(cluster.world()), random_(world_.Fork()), left_(cluster.plan().most_faults) {
  if (cluster.plan().Has(Fault::kDrain) || cluster.plan().Has(Fault::kMaintain)) operator_.emplace(cluster);
  for (const Fault fault : cluster.plan().faults) {
    const bool by_task = fault == Fault::kTaskFail || fault == Fault::kTaskHang || fault == Fault::kTaskKill;
    if (!by_task && fault != Fault::kPoison && fault != Fault::kWriterGone) timed_.push_back(fault);
  }
}

void FaultActor::Start() { Next(); }

void FaultActor::Note(const std::string& what) {
  ++count_;
  world_.Note("fault: " + what);
}

// Returns a time that is often short, so that a machine is back before anybody has noticed, and seldom long.
double FaultActor::Duration() { return 0.02 * std::pow(1200.0, random_.Unit()); }
double FaultActor::DownTime() { return cluster_.plan().quick_restarts ? 0.02 + 0.5 * random_.Unit() : Duration(); }

WorkerMachine& FaultActor::AnyWorker() { return *cluster_.workers().at(random_.Below(cluster_.workers().size())); }

void FaultActor::Later(double seconds, std::function<void()> action) {
  ++pending_;
  world_.Do(seconds, [this, action = std::move(action)] {
    action();
    --pending_;
  });
}

double FaultActor::CalmSince(HostId host) const {
  const auto found = trouble_.find(host);
  if (found == trouble_.end()) return 0;
  return found->second.kinds > 0 ? std::numeric_limits<double>::infinity() : found->second.last;
}

void FaultActor::End(HostId host) {
  Trouble& trouble = trouble_[host];
  --trouble.kinds;
  trouble.last = world_.seconds();
}

void FaultActor::Touch(HostId host) {
  Begin(host);
  End(host);
}

void FaultActor::Next() {
  const Plan& plan = cluster_.plan();
  world_.Do(-std::log(1 - random_.Unit()) * plan.fault_pause, [this, &plan] {
    const bool time_is_up = world_.seconds() > plan.fault_seconds;
    if (timed_.empty() ? time_is_up : (left_ == 0 || time_is_up)) {
      drawn_ = true;
      if (pending_ > 0) return Next();
      cluster_.Heal();
      over_ = true;
      return world_.Note("no more faults");
    }
    if (!timed_.empty() && left_ > 0) {
      --left_;
      Inject(timed_.at(random_.Below(timed_.size())));
    }
    Next();
  });
}

void FaultActor::Inject(Fault fault) {
  switch (fault) {
    case Fault::kMasterKill:
    case Fault::kMasterPower:
    case Fault::kMasterPause:
    case Fault::kEmptyMaster:
      return HitMaster(fault);
    case Fault::kOldMaster:
      return SetBack(Duration());
    case Fault::kClockJump:
      return MoveClock(Duration());
    case Fault::kLinkReset:
    case Fault::kLinkCut:
    case Fault::kLinkOneWay:
      return HitLink(fault);
    case Fault::kRot:
    case Fault::kTruncate:
    case Fault::kVanish:
    case Fault::kDiskLost:
      return HitDisk(fault);
    case Fault::kOutputLost:
      return LoseOutput();
    case Fault::kForeign:
      return Invite();
    case Fault::kNotice:
      return GiveNotices();
    case Fault::kDiskSlow:
      return SlowDisk(AnyWorker());
    case Fault::kApart:
      return PartWorkers();
    case Fault::kDrain:
      return Drain();
    case Fault::kMaintain:
      return Maintain(AnyWorker(), 3 * Duration());
    case Fault::kDiskRefuses:
      return RefuseWrites(AnyWorker(), 3 * Duration());
    case Fault::kReadFails:
      return RefuseReads(AnyWorker(), 3 * Duration());
    case Fault::kLogRefused:
      return RefuseLog();
    default:
      return HitWorker(fault);
  }
}

namespace {

bool Any(const WriteBatch&) { return true; }
bool TellsOfSuccess(const WriteBatch& group) {
  return std::any_of(group.changes().begin(), group.changes().end(), [](const WriteBatch::Change& change) {
    return change.value && change.value->find(" AttemptSucceeded ") != std::string::npos;
  });
}
// Returns true if the group removes a file, or data of a job that has ended.
bool Removes(const WriteBatch& group) {
  return std::any_of(group.changes().begin(), group.changes().end(),
                     [](const WriteBatch::Change& change) { return !change.value; });
}

// Numbers of files, blocks or jobs (dfs/name/namespace_codec.h, master/jobs/job_tracker.h).
bool TakesNumbers(const WriteBatch& group) {
  return std::any_of(group.changes().begin(), group.changes().end(),
                     [](const WriteBatch::Change& change) { return change.key == "i" || change.key == "k"; });
}

}  // namespace

void FaultActor::HitMaster(Fault fault) {
  MasterMachine& master = cluster_.master();
  const double seconds = Duration();
  if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
  if (fault == Fault::kMasterPause) {
    Note(fmt::format("the master is stopped for {:.2f} s", seconds));
    Begin(master.host());
    master.process().Stop();
    if (cluster_.plan().Has(Fault::kWorkerKill) && random_.Below(2) == 0) RestartBehindItsBack(0.5 * seconds);
    return Later(seconds, [this, &master] {
      world_.Note("the master goes on");
      End(master.host());
      master.process().Continue();
    });
  }
  cluster_.checker().CheckReplay();
  if (fault == Fault::kEmptyMaster) return Mislead(seconds);
  if (random_.Below(3) == 0) return EndMaster(fault, seconds);
  // The master ends when something is not on the disk yet, or when it is and nobody has been told. The disk may be
  // slow.
  ++pending_;
  const std::uint64_t incarnation = master.process().incarnation();
  auto armed = std::make_shared<bool>(true);
  const auto hit = [this, fault, seconds, incarnation, armed] {
    if (!std::exchange(*armed, false)) return;
    --pending_;
    MasterMachine& still = cluster_.master();
    if (still.control() == nullptr || still.process().stopped() || still.process().incarnation() != incarnation) return;
    EndMaster(fault, seconds);
  };
  constexpr bool (*kMoments[])(const WriteBatch&) = {Any, TellsOfSuccess, Removes, TakesNumbers};
  DrivenCommitLog::Moment moment;
  moment.suits = kMoments[random_.Below(std::size(kMoments))];
  moment.before = random_.Below(2) == 0;
  moment.stall = random_.Below(2) == 0 ? 0 : 5 * random_.Unit();
  moment.action = hit;
  master.AtWrite(std::move(moment));
  constexpr double kPatience = 10;
  world_.Do(kPatience, hit);
}

// Nobody may notice this, and it is not always put right.
void FaultActor::MoveClock(double seconds) {
  constexpr double kAhead[] = {-3600, -30, -2, 2, 30, 3600, 400 * 86400.0};
  const double ahead = kAhead[random_.Below(std::size(kAhead))];
  Note(fmt::format("the wall clock of the master is {:.0f} s ahead", ahead));
  cluster_.master().SetClock(ahead);
  if (random_.Below(2) == 0) return;
  Later(seconds, [this] {
    world_.Note("the wall clock of the master is right");
    cluster_.master().SetClock(0);
  });
}

void FaultActor::Mislead(double seconds) {
  MasterMachine& master = cluster_.master();
  Note("the master is started on an empty directory");
  Begin(master.host());
  master.Kill(Death::kLost);
  master.HideDirectory();
  master.Start();
  Later(20 + seconds, [this, &master] {
    world_.Note("the master is started on its own directory");
    End(master.host());
    master.Kill(Death::kLost);
    master.GiveDirectoryBack();
    master.Start();
  });
}

// First an image is made, and at the next time the master runs on it, long enough to give up the files that were open.
void FaultActor::SetBack(double seconds) {
  MasterMachine& master = cluster_.master();
  if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
  if (!master.has_image()) {
    Note("an image is made of the master's disk");
    master.TakeImage();
    return Later(2 + 8 * random_.Unit(), [this, seconds] { SetBack(seconds); });
  }
  // A worker learns only with its next heartbeat how far the database has come.
  constexpr double kUntilTold = 5;
  const bool restored = random_.Below(2) == 0;
  if (!restored && world_.seconds() < cluster_.checker().last_acknowledged() + kUntilTold)
    return Later(1, [this, seconds] { SetBack(seconds); });
  cluster_.checker().CheckReplay();
  Note(restored ? "the master is started on a backup" : "the master is started on an old image of its disk");
  Begin(master.host());
  master.Kill(Death::kLost);
  master.SetBack(restored);
  master.Start();
  cluster_.checker().count().set_back += 1;
  Later(45 + seconds, [this, &master, restored] {
    if (!master.misled()) return;
    if (!restored && master.control() != nullptr && master.control()->age().Doubted())
      cluster_.checker().count().set_back_found += 1;
    world_.Note("the master is started on its own directory");
    End(master.host());
    master.Kill(Death::kLost);
    master.GiveDirectoryBack();
    master.Start();
  });
}

void FaultActor::EndMaster(Fault fault, double seconds) {
  MasterMachine& master = cluster_.master();
  Note(fmt::format("the master {} for {:.2f} s", fault == Fault::kMasterKill ? "is killed" : "loses power", seconds));
  Begin(master.host());
  if (fault == Fault::kMasterKill) {
    master.Kill(random_.Below(2) == 0 ? Death::kDelivered : Death::kLost);
  } else {
    master.LosePower();
  }
  Later(seconds, [this, &master] {
    world_.Note("the master starts");
    End(master.host());
    master.Start();
  });
}

void FaultActor::HitWorker(Fault fault) {
  WorkerMachine& worker = AnyWorker();
  const double seconds = Duration();
  if (worker.running() == nullptr || worker.process().stopped()) return;
  if (fault == Fault::kWorkerPause) {
    Note(fmt::format("{} is stopped for {:.2f} s", worker.name(), seconds));
    Begin(worker.host());
    worker.process().Stop();
    return Later(seconds, [this, &worker] {
      world_.Note(worker.name() + " goes on");
      End(worker.host());
      worker.process().Continue();
    });
  }
  if (fault == Fault::kWorkerSlow) {
    constexpr double kSlow = 10;
    Note(fmt::format("{} is slow for {:.2f} s", worker.name(), 3 * seconds));
    worker.SetSlowness(kSlow);
    return Later(3 * seconds, [&worker] { worker.SetSlowness(1); });
  }
  if (fault == Fault::kWorkerGone) return TakeForLong(worker);
  if (fault == Fault::kDiskFull) return FillDisk(worker, 3 * seconds);
  const bool power = fault == Fault::kWorkerPower;
  const double down = power ? seconds : DownTime();
  Note(fmt::format("{} {} for {:.2f} s", worker.name(), power ? "loses power" : "is killed", down));
  TakeAway(worker, down, power ? Death::kSilent : random_.Below(2) == 0 ? Death::kDelivered : Death::kLost);
}

// The master learns of the end of one life and the beginning of the next at the same time, in any order.
void FaultActor::RestartBehindItsBack(double seconds) {
  WorkerMachine& worker = AnyWorker();
  if (worker.running() == nullptr) return;
  Note(fmt::format("{} is killed for {:.2f} s", worker.name(), seconds));
  TakeAway(worker, seconds, Death::kLost);
}

void FaultActor::TakeAway(WorkerMachine& worker, double seconds, Death death) {
  Begin(worker.host());
  worker.Kill(death);
  Later(seconds, [this, &worker] {
    world_.Note(worker.name() + " starts");
    End(worker.host());
    worker.Start();
  });
}

void FaultActor::KillSoon(WorkerMachine& machine, const std::string& why) {
  ++pending_;
  world_.Do(0, [this, &machine, why] {
    --pending_;
    if (machine.running() == nullptr) return;
    Note(fmt::format("{} kills its worker {}", why, machine.name()));
    TakeAway(machine, DownTime(), Death::kLost);
  });
}

void FaultActor::HitLink(Fault fault) {
  WorkerMachine& worker = AnyWorker();
  // The link leads to the master or to another worker.
  WorkerMachine& other = AnyWorker();
  const bool to_master = &other == &worker || random_.Below(2) == 0;
  const HostId a = worker.host();
  const HostId b = to_master ? cluster_.master().host() : other.host();
  const std::string names = worker.name() + " and " + (to_master ? "the master" : other.name());
  const bool reset = fault == Fault::kLinkReset;
  // The beginning of a session is worth a fault of its own.
  const bool at_registration = to_master && !reset && random_.Below(3) == 0;
  if (reset || at_registration) {
    Note("connections between " + names + " break");
    Touch(a);
    cluster_.network().Reset(a, b);
  }
  if (reset) return;
  if (!at_registration) return Cut(fault, a, b, names);
  ++pending_;
  auto armed = std::make_shared<bool>(true);
  const auto hit = [=, this] {
    if (!std::exchange(*armed, false)) return;
    --pending_;
    Cut(fault, a, b, names);
  };
  at_registration_[a] = hit;
  constexpr double kPatience = 10;
  world_.Do(kPatience, hit);
}

void FaultActor::Registered(WorkerMachine& worker) {
  const auto found = at_registration_.find(worker.host());
  if (found == at_registration_.end()) return;
  world_.Do(0, found->second);
  at_registration_.erase(found);
}

void FaultActor::Cut(Fault fault, HostId a, HostId b, const std::string& names) {
  const bool one_way = fault == Fault::kLinkOneWay;
  const bool forth = random_.Below(2) == 0;
  const double seconds = Duration();
  Note(fmt::format("nothing comes through between {} for {:.2f} s{}", names, seconds,
                   one_way ? (forth ? ", forth" : ", back") : ""));
  if (!one_way || forth) cluster_.network().Block(a, b);
  if (!one_way || !forth) cluster_.network().Block(b, a);
  Begin(a);
  Later(seconds, [=, this] {
    End(a);
    if (!one_way || forth) cluster_.network().Unblock(a, b);
    if (!one_way || !forth) cluster_.network().Unblock(b, a);
  });
}

// One worker loses all others, two lose each other, or each keeps its neighbours in a ring; with the packets of both
// ways, or of one.
void FaultActor::PartWorkers() {
  const auto& workers = cluster_.workers();
  const std::uint64_t kind = random_.Below(4);
  const bool one_way = random_.Below(3) == 0;
  const double seconds = 5 + 85 * random_.Unit();
  std::vector<std::pair<HostId, HostId>> apart;
  const std::size_t first = random_.Below(workers.size());
  const HostId alone = workers[first]->host();
  std::string what = workers[first]->name() + " reaches the master alone";
  if (kind == 0) {
    what = "a ring";
    for (std::size_t i = 0; i < workers.size(); ++i) {
      for (std::size_t j = i + 2; j < workers.size(); ++j) {
        if (i > 0 || j + 1 < workers.size()) apart.emplace_back(workers[i]->host(), workers[j]->host());
      }
    }
  } else if (kind == 1) {
    const std::size_t second = (first + 1) % workers.size();
    what = workers[first]->name() + " and " + workers[second]->name() + " are apart";
    apart.emplace_back(alone, workers[second]->host());
  } else {
    if (workers[first]->stranger() || ailing_.contains(alone)) return;
    for (const auto& worker : workers) {
      if (worker->host() != alone) apart.emplace_back(alone, worker->host());
    }
  }
  if (apart.empty()) return;
  Note(fmt::format("{} for {:.0f} s{}", what, seconds, one_way ? ", one way" : ""));
  cluster_.checker().count().partitions += 1;
  const bool is_alone = kind > 1;
  if (is_alone) ailing_[alone] = {false, world_.seconds()};
  for (const auto& [a, b] : apart) {
    cluster_.network().Block(a, b);
    if (!one_way) cluster_.network().Block(b, a);
    Begin(a);
    Begin(b);
  }
  ++partitions_;
  Later(seconds, [=, this] {
    world_.Note("no more: " + what);
    --partitions_;
    if (is_alone) ailing_.erase(alone);
    for (const auto& [a, b] : apart) {
      cluster_.network().Unblock(a, b);
      if (!one_way) cluster_.network().Unblock(b, a);
      End(a);
      End(b);
    }
  });
}

TaskFate FaultActor::FateOf(const AttemptId& attempt, WorkerMachine& machine) {
  const Plan& plan = cluster_.plan();
  const double draw = random_.Unit();
  if (std::find(poisoned_.begin(), poisoned_.end(), attempt.task.job) != poisoned_.end() && !attempt.task.reduce() &&
      attempt.task.index == 0) {
    return TaskFate::kKillsWorker;
  }
  if (drawn_ || left_ == 0 || draw >= plan.task_faults) return TaskFate::kEnds;
  std::vector<TaskFate> fates;
  if (plan.Has(Fault::kTaskFail)) fates.push_back(TaskFate::kFails);
  if (plan.Has(Fault::kTaskHang)) fates.push_back(TaskFate::kHangs);
  if (plan.Has(Fault::kTaskKill)) fates.push_back(TaskFate::kKillsWorker);
  if (fates.empty()) return TaskFate::kEnds;
  --left_;
  const TaskFate fate = fates.at(random_.Below(fates.size()));
  if (fate == TaskFate::kFails) Note(ToText(attempt) + " on " + machine.name() + " will fail");
  return fate;
}

bool FaultActor::WriterGoes() {
  if (!cluster_.plan().Has(Fault::kWriterGone) || drawn_ || left_ == 0 || random_.Below(5) != 0) return false;
  --left_;
  Note("a writer goes away");
  return true;
}

}  // namespace millrace::simulated
