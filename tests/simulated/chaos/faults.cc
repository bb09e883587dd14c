#include "faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/cluster_id.h"
#include "checker.h"
#include "dfs/wire/chunks.h"
#include "master.h"
#include "worker.h"

namespace millrace::simulated {

FaultActor::FaultActor(Cluster& cluster)
    : cluster_(cluster), world_(cluster.world()), random_(world_.Fork()), left_(cluster.plan().most_faults) {
  for (const Fault fault : cluster.plan().faults) {
    const bool by_task = fault == Fault::kTaskFail || fault == Fault::kTaskHang || fault == Fault::kTaskKill;
    if (!by_task && fault != Fault::kPoison && fault != Fault::kWriterGone) timed_.push_back(fault);
  }
}

void FaultActor::Start() { Next(); }

void FaultActor::Note(const std::string& what) {
  last_fault_ = world_.seconds();
  ++count_;
  world_.Note("fault: " + what);
}

// Seldom long, often short: what is back before anybody noticed, and what is not.
double FaultActor::Duration() { return 0.02 * std::pow(1200.0, random_.Unit()); }

WorkerMachine& FaultActor::AnyWorker() { return *cluster_.workers().at(random_.Below(cluster_.workers().size())); }

void FaultActor::Later(double seconds, std::function<void()> action) {
  ++pending_;
  world_.Do(seconds, [this, action = std::move(action)] {
    action();
    --pending_;
    last_fault_ = world_.seconds();
  });
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
      last_fault_ = world_.seconds();
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
    case Fault::kLinkReset:
    case Fault::kLinkCut:
    case Fault::kLinkOneWay:
      return HitLink(fault);
    case Fault::kRot:
    case Fault::kTruncate:
    case Fault::kVanish:
    case Fault::kDiskLost:
      return HitDisk(fault);
    case Fault::kForeign:
      return Invite();
    default:
      return HitWorker(fault);
  }
}

void FaultActor::HitMaster(Fault fault) {
  MasterMachine& master = cluster_.master();
  const double seconds = Duration();
  if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
  if (fault == Fault::kMasterPause) {
    Note(fmt::format("the master is stopped for {:.2f} s", seconds));
    master.process().Stop();
    return Later(seconds, [this, &master] {
      world_.Note("the master goes on");
      master.process().Continue();
    });
  }
  cluster_.checker().CheckReplay();
  if (fault == Fault::kEmptyMaster) {
    Note("the master is started on an empty directory");
    master.Kill(Death::kLost);
    master.HideDirectory();
    master.Start();
    return Later(20 + seconds, [this, &master] {
      world_.Note("the master is started on its own directory");
      master.Kill(Death::kLost);
      master.GiveDirectoryBack();
      master.Start();
    });
  }
  // At any time, or when something is to be on the disk and is not yet, or is and nobody has been told.
  const std::uint64_t when = random_.Below(3);
  if (when == 0) return EndMaster(fault, seconds);
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
  if (when == 1) {
    master.BeforeNextWrite(hit);
  } else {
    master.AtNextWrite(hit);
  }
  constexpr double kPatience = 3;
  world_.Do(kPatience, hit);
}

void FaultActor::EndMaster(Fault fault, double seconds) {
  MasterMachine& master = cluster_.master();
  Note(fmt::format("the master {} for {:.2f} s", fault == Fault::kMasterKill ? "is killed" : "loses power", seconds));
  if (fault == Fault::kMasterKill) {
    master.Kill(random_.Below(2) == 0 ? Death::kDelivered : Death::kLost);
  } else {
    master.LosePower();
  }
  Later(seconds, [this, &master] {
    world_.Note("the master starts");
    master.Start();
  });
}

void FaultActor::HitWorker(Fault fault) {
  WorkerMachine& worker = AnyWorker();
  const double seconds = Duration();
  if (worker.running() == nullptr || worker.process().stopped()) return;
  if (fault == Fault::kWorkerPause) {
    Note(fmt::format("{} is stopped for {:.2f} s", worker.name(), seconds));
    worker.process().Stop();
    return Later(seconds, [this, &worker] {
      world_.Note(worker.name() + " goes on");
      worker.process().Continue();
    });
  }
  if (fault == Fault::kWorkerSlow) {
    constexpr double kSlow = 10;
    Note(fmt::format("{} is slow for {:.2f} s", worker.name(), 3 * seconds));
    worker.SetSlowness(kSlow);
    return Later(3 * seconds, [&worker] { worker.SetSlowness(1); });
  }
  const bool power = fault == Fault::kWorkerPower;
  Note(fmt::format("{} {} for {:.2f} s", worker.name(), power ? "loses power" : "is killed", seconds));
  worker.Kill(power ? Death::kSilent : random_.Below(2) == 0 ? Death::kDelivered : Death::kLost);
  Later(seconds, [this, &worker] {
    world_.Note(worker.name() + " starts");
    worker.Start();
  });
}

void FaultActor::KillSoon(WorkerMachine& machine, const std::string& why) {
  ++pending_;
  world_.Do(0, [this, &machine, why] {
    --pending_;
    if (machine.running() == nullptr) return;
    Note(fmt::format("{} kills its worker {}", why, machine.name()));
    machine.Kill(Death::kLost);
    Later(Duration(), [this, &machine] {
      world_.Note(machine.name() + " starts");
      machine.Start();
    });
  });
}

void FaultActor::HitLink(Fault fault) {
  WorkerMachine& worker = AnyWorker();
  // To the master, or to another worker.
  WorkerMachine& other = AnyWorker();
  const bool to_master = &other == &worker || random_.Below(2) == 0;
  const HostId a = worker.host();
  const HostId b = to_master ? cluster_.master().host() : other.host();
  const std::string names = worker.name() + " and " + (to_master ? "the master" : other.name());
  if (fault == Fault::kLinkReset) {
    Note("connections between " + names + " break");
    return cluster_.network().Reset(a, b);
  }
  const bool one_way = fault == Fault::kLinkOneWay;
  const bool forth = random_.Below(2) == 0;
  const double seconds = Duration();
  Note(fmt::format("nothing comes through between {} for {:.2f} s{}", names, seconds,
                   one_way ? (forth ? ", forth" : ", back") : ""));
  if (!one_way || forth) cluster_.network().Block(a, b);
  if (!one_way || !forth) cluster_.network().Block(b, a);
  Later(seconds, [this, a, b] {
    cluster_.network().Unblock(a, b);
    cluster_.network().Unblock(b, a);
  });
}

// Nothing is hurt of which no good replica would be left.
void FaultActor::HitDisk(Fault fault) {
  WorkerMachine& worker = AnyWorker();
  Checker& checker = cluster_.checker();
  auto& files = worker.disk().finished;
  if (files.empty() || (fault == Fault::kDiskLost && worker.running() == nullptr)) return;
  if (fault == Fault::kDiskLost) {
    for (const auto& [id, file] : files) {
      if (!checker.HasOtherGoodReplica(worker, id)) return;
    }
    Note("the directory of " + worker.name() + " is gone");
    for (const auto& [id, file] : files) checker.Hurt(id);
    // The daemon notices by its watch over its storage, ends, and is started again with an empty directory.
    worker.Kill(Death::kLost);
    worker.LoseDirectory();
    return Later(1, [&worker] { worker.Start(); });
  }
  auto file = files.begin();
  std::advance(file, static_cast<std::ptrdiff_t>(random_.Below(files.size())));
  if (!checker.HasOtherGoodReplica(worker, file->first)) return;
  Note(fmt::format("{}: block {} of {}", NameOf(fault), file->first, worker.name()));
  checker.Hurt(file->first);
  if (fault == Fault::kRot && !file->second.data.empty()) file->second.data.at(0) ^= 1;
  if (fault == Fault::kTruncate) file->second.data.resize(file->second.data.size() / 2);
  if (fault == Fault::kVanish) files.erase(file);
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
  // It knows to which one, or does not: its directory was made before clusters had ids.
  stranger->MakeStranger(random_.Below(2) == 0 ? FormatClusterId(2, random_.Next()) : "");
  Note(fmt::format("{} of another cluster joins with {} blocks", stranger->name(), blocks));
  stranger->Start();
  cluster_.workers().push_back(std::move(stranger));
}

TaskFate FaultActor::FateOf(const worker::AttemptId& attempt, WorkerMachine& machine) {
  const Plan& plan = cluster_.plan();
  const double draw = random_.Unit();
  if (std::find(poisoned_.begin(), poisoned_.end(), attempt.job) != poisoned_.end() && !attempt.reduce &&
      attempt.task == 0) {
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
  if (fate == TaskFate::kFails) Note(worker::ToText(attempt) + " on " + machine.name() + " will fail");
  return fate;
}

bool FaultActor::WriterGoes() {
  if (!cluster_.plan().Has(Fault::kWriterGone) || drawn_ || left_ == 0 || random_.Below(5) != 0) return false;
  --left_;
  Note("a writer goes away");
  return true;
}

}  // namespace millrace::simulated
