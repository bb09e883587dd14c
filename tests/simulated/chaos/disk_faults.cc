// SPDX-License-Identifier: Apache-2.0
// The part of FaultActor about disks: what they lose, damage or refuse, how full and how slow they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {

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
  if (Hits(Arrival::kServed)) Later(0, [this, &worker] { Remove(worker); });
  if (losing_.erase(worker.host()) == 0) return;
  world_.Do(0, [this, &worker, map] {
    if (worker.running() != nullptr) LoseOutput(worker, map);
  });
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

}  // namespace millrace::simulated
