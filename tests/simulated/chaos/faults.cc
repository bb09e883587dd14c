#include "tests/simulated/chaos/faults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "base/cluster_id.h"
#include "dfs/wire/chunks.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {

FaultActor::FaultActor(Cluster& cluster)
    : cluster_(cluster), world_(cluster.world()), random_(world_.Fork()), left_(cluster.plan().most_faults) {
  if (cluster.plan().Has(Fault::kDrain)) operator_.emplace(cluster);
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
// Returns whether the group removes a file, or what served a job that has ended.
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
    if (!restored && master.control() != nullptr && master.control()->doubt().there_is())
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

// No replica is damaged if its block would have no good one left.
void FaultActor::HitDisk(Fault fault) {
  WorkerMachine& worker = AnyWorker();
  if (worker.disk().finished.empty()) return;
  if (fault == Fault::kDiskLost) return LoseDirectory(worker);
  Damage(fault, worker);
}

bool FaultActor::HoldsNothingAlone(WorkerMachine& worker) const {
  const auto& files = worker.disk().finished;
  return std::all_of(files.begin(), files.end(),
                     [&](const auto& file) { return cluster_.checker().HasOtherGoodReplica(worker, file.first); });
}

void FaultActor::LoseDirectory(WorkerMachine& worker) {
  if (worker.running() == nullptr || !HoldsNothingAlone(worker)) return;
  Note("the directory of " + worker.name() + " is gone");
  for (const auto& [id, file] : worker.disk().finished) cluster_.checker().Hurt(id);
  // The daemon notices by its watch over its storage, ends, and is started again with an empty directory.
  Begin(worker.host());
  worker.Kill(Death::kLost);
  worker.LoseDirectory();
  Later(1, [this, &worker] {
    End(worker.host());
    worker.Start();
  });
}

// This happens while the daemon runs or in a crash of it. In a crash only acknowledged blocks are lost, since a writer
// that completes a file is believed about the replicas that it wrote.
void FaultActor::Damage(Fault fault, WorkerMachine& worker) {
  if (worker.stranger()) return;
  auto& files = worker.disk().finished;
  auto file = files.begin();
  std::advance(file, static_cast<std::ptrdiff_t>(random_.Below(files.size())));
  if (!cluster_.checker().MayBeDamaged(worker, file->first)) return;
  const bool may_crash = worker.running() != nullptr && !worker.process().stopped();
  const bool crash = may_crash && random_.Below(2) == 0 && cluster_.checker().Acknowledged(file->first);
  Note(fmt::format("{}: block {} of {}{}", NameOf(fault), file->first, worker.name(), crash ? ", which crashes" : ""));
  if (crash) TakeAway(worker, DownTime(), Death::kLost);
  cluster_.checker().Hurt(file->first);
  if (fault == Fault::kRot && !file->second.data.empty()) file->second.data.at(0) ^= 1;
  if (fault == Fault::kTruncate) file->second.data.resize(file->second.data.size() / 2);
  if (fault == Fault::kVanish) files.erase(file);
}

void FaultActor::LoseOutput() {
  WorkerMachine& worker = AnyWorker();
  if (worker.running() == nullptr) return;
  const auto& served = worker.running()->plane().served();
  if (served.empty() || random_.Below(2) == 0) return LoseNextOutput(worker);
  auto output = served.begin();
  std::advance(output, static_cast<std::ptrdiff_t>(random_.Below(served.size())));
  LoseOutput(worker, *output);
}

void FaultActor::LoseOutput(WorkerMachine& worker, const AttemptId& map) {
  Note(fmt::format("the output of {} on {} is gone", ToText(map), worker.name()));
  worker.running()->files().LoseRun(map);
}

// Most reduces have not copied the output by then.
void FaultActor::LoseNextOutput(WorkerMachine& worker) {
  constexpr double kPatience = 10;
  ++pending_;
  losing_.insert(worker.host());
  world_.Do(kPatience, [this, host = worker.host()] {
    --pending_;
    losing_.erase(host);
  });
}

void FaultActor::Serving(WorkerMachine& worker, const AttemptId& map) {
  if (losing_.erase(worker.host()) == 0) return;
  world_.Do(0, [this, &worker, map] {
    if (worker.running() != nullptr) LoseOutput(worker, map);
  });
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

// Of one machine, or of several at once, as when a zone runs out of machines; the master may start anew meanwhile.
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

void FaultActor::FillDisk(WorkerMachine& worker, double seconds) {
  Note(fmt::format("the disk of {} is too full for attempts for {:.2f} s", worker.name(), seconds));
  worker.SetFull(true);
  Later(seconds, [this, &worker] {
    world_.Note("the disk of " + worker.name() + " has room");
    worker.SetFull(false);
  });
}

// Once, as a bad sector does, often enough that the disk counts as failed, or all the time. Only one disk is so at a
// time, since else nobody could write.
void FaultActor::RefuseWrites(WorkerMachine& worker, double seconds) {
  const auto refuses = [](const auto& other) { return other->disk().refuses(); };
  if (worker.stranger() || std::any_of(cluster_.workers().begin(), cluster_.workers().end(), refuses)) return;
  constexpr dfs::WriteStep kSteps[] = {dfs::WriteStep::kWrite, dfs::WriteStep::kSync, dfs::WriteStep::kSync,
                                       dfs::WriteStep::kRename};
  constexpr const char* kNames[] = {"write", "sync", "rename"};
  constexpr std::uint32_t kTimes[] = {1, 1, 4, 1'000'000};
  const dfs::WriteStep step = kSteps[random_.Below(std::size(kSteps))];
  const std::uint32_t times = kTimes[random_.Below(std::size(kTimes))];
  const bool full = random_.Below(4) == 0;
  const Status how = full ? NoSpace("No space left on device") : Status(StatusCode::kIo, "Input/output error");
  Note(fmt::format("the disk of {} refuses to {}, up to {} times in {:.2f} s: {}", worker.name(),
                   kNames[static_cast<std::size_t>(step)], times, seconds, how.message()));
  worker.disk().Refuse(step, times, how);
  Later(seconds, [this, &worker] {
    world_.Note("the disk of " + worker.name() + " refuses nothing");
    worker.disk().Obey();
  });
}

// One block, as with a bad sector, or all that there are, as with a bad disk. As with other damage, another replica of
// each is good.
void FaultActor::RefuseReads(WorkerMachine& worker, double seconds) {
  auto& files = worker.disk().finished;
  if (worker.stranger() || files.empty()) return;
  auto first = files.begin();
  auto last = files.end();
  if (random_.Below(3) != 0) {
    std::advance(first, static_cast<std::ptrdiff_t>(random_.Below(files.size())));
    last = std::next(first);
  }
  std::vector<std::uint64_t> blocks;
  for (auto file = first; file != last; ++file) {
    if (!cluster_.checker().MayBeDamaged(worker, file->first)) continue;
    blocks.push_back(file->first);
    cluster_.checker().Hurt(file->first);
    file->second.readable = false;
    file->second.doubted = true;
  }
  if (blocks.empty()) return;
  cluster_.checker().count().unreadable += blocks.size();
  Note(fmt::format("blocks {} of {} cannot be read for {:.2f} s", fmt::join(blocks, " "), worker.name(), seconds));
  Later(seconds, [this, &worker, blocks] {
    world_.Note(fmt::format("blocks {} of {} can be read", fmt::join(blocks, " "), worker.name()));
    for (const std::uint64_t block : blocks) {
      const auto found = worker.disk().finished.find(block);
      if (found != worker.disk().finished.end()) found->second.readable = true;
    }
  });
}

void FaultActor::StorageGone(WorkerMachine& worker, const Status& why) {
  Note(fmt::format("the daemon of {} ends: {}", worker.name(), why.message()));
  ++cluster_.checker().count().disks_over;
  TakeAway(worker, DownTime(), random_.Below(2) == 0 ? Death::kDelivered : Death::kLost);
}

void FaultActor::RefuseLog() {
  MasterMachine& master = cluster_.master();
  if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
  Note("the disk of the master refuses the next write");
  cluster_.checker().CheckReplay();
  master.RefuseLog();
}

void FaultActor::LogFailed(const Status& why) {
  MasterMachine& master = cluster_.master();
  world_.Note("the master ends: " + why.message());
  ++cluster_.checker().count().logs_refused;
  Begin(master.host());
  master.Kill(random_.Below(2) == 0 ? Death::kDelivered : Death::kLost);
  Later(Duration(), [this, &master] {
    world_.Note("the master starts");
    End(master.host());
    master.Start();
  });
}

// Most often for so long that it has to be noticed.
void FaultActor::SlowDisk(WorkerMachine& worker) {
  if (worker.stranger() || ailing_.contains(worker.host())) return;
  const double sync = 2 + 28 * random_.Unit(), seconds = 5 + 115 * random_.Unit();
  Note(fmt::format("each sync of {} takes {:.1f} s for {:.0f} s", worker.name(), sync, seconds));
  cluster_.checker().count().slow_disks += 1;
  worker.SetSyncTime(sync);
  Begin(worker.host());
  ailing_[worker.host()] = {true, world_.seconds()};
  Later(seconds, [this, &worker] {
    world_.Note("the disk of " + worker.name() + " is quick");
    worker.SetSyncTime(WorkerMachine::kQuickSync);
    ailing_.erase(worker.host());
    End(worker.host());
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

// A worker without a directory would join whoever is the master then.
bool FaultActor::MayRemove() const {
  return !cluster_.plan().Has(Fault::kEmptyMaster) && !cluster_.plan().Has(Fault::kOldMaster);
}

bool FaultActor::MayEndMaster() const {
  return cluster_.plan().Has(Fault::kMasterKill) || cluster_.plan().Has(Fault::kMasterPower);
}

// Nobody else works on the node meanwhile: who takes it back into use takes back what the master said to the other.
std::optional<NodeId> FaultActor::TakeHold(WorkerMachine& worker) {
  master::Control* control = cluster_.master().control();
  if (control == nullptr || cluster_.master().misled() || worker.stranger()) return std::nullopt;
  const master::NodeRecord* node = control->nodes().FindByStorage(worker.storage());
  if (node == nullptr || !operated_.insert(node->number).second) return std::nullopt;
  cluster_.checker().count().drains += 1;
  ++pending_;
  return node->number;
}

void FaultActor::Drain() {
  if (!MayRemove()) return Decommission(AnyWorker(), 3 * Duration());
  switch (random_.Below(4)) {
    case 0:
    case 1:
      return Decommission(AnyWorker(), 3 * Duration());
    case 2:
      return Remove(AnyWorker());
    default:
      return AimAt(random_.Below(2) == 0 ? Arrival::kOnlyReplica : Arrival::kOutput);
  }
}

// The next idle worker that such a thing is under way to is decommissioned before it is there.
void FaultActor::AimAt(Arrival what) {
  constexpr double kPatience = 15;
  ++aims_[what];
  Later(kPatience, [this, what] {
    if (aims_[what] > 0) --aims_[what];
  });
}

void FaultActor::Arriving(const std::string& host, Arrival what) {
  if (aims_[what] == 0) return;
  WorkerMachine* worker = cluster_.FindWorker(host);
  if (worker == nullptr || worker->running() == nullptr) return;
  // One that has something else to do would not be let go before this has come.
  if (!worker->running()->runner().Processes().empty() || !worker->running()->plane().served().empty()) return;
  --aims_[what];
  Later(0, [this, worker] { Remove(*worker); });
}

void FaultActor::Journaled() {
  if (operator_) operator_->Journaled();
}

// It may be stopped before anything has left it, or when all has.
void FaultActor::Decommission(WorkerMachine& worker, double seconds) {
  const std::optional<NodeId> node = TakeHold(worker);
  if (!node) return;
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

// The machine goes for good as soon as the master says that it may, or a while later, whatever has happened meanwhile.
void FaultActor::Remove(WorkerMachine& worker) {
  constexpr double kPatience = 60;
  const std::optional<NodeId> held = TakeHold(worker);
  if (!held) return;
  const NodeId node = *held;
  Note(worker.name() + " is decommissioned, to be taken away for good");
  // An answer that came before its reasons are on disk would show only if the master dies then.
  const bool watchful = MayEndMaster() && random_.Below(3) != 0;
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

// The master may end at this moment: it comes back with what is on its disk, and must still mean what it has said.
void FaultActor::Cleared(WorkerMachine& worker, NodeId node) {
  world_.Note("the master says that " + worker.name() + " may go");
  cluster_.checker().Cleared(worker, node);
  if (!MayEndMaster() || random_.Below(4) == 0) return;
  const bool power = cluster_.plan().Has(Fault::kMasterPower);
  Later(0, [this, power] {
    MasterMachine& master = cluster_.master();
    if (master.control() == nullptr || master.process().stopped() || master.misled()) return;
    EndMaster(power ? Fault::kMasterPower : Fault::kMasterKill, Duration());
  });
}

// What happens to somebody who decommissions, at the worst moment.
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
