// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/rpc/status_codec.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"

namespace millrace::simulated {

// ---- files of attempts ----

worker::AttemptPaths TaskFiles::Paths(const AttemptId& attempt) const {
  const std::string stem = ToText(attempt);
  return {attempt.task.reduce() ? "" : stem + ".run", attempt.task.reduce() ? stem + ".copy" : "", stem, stem + ".out",
          stem + ".err"};
}

Status TaskFiles::Prepare(const AttemptId& attempt) {
  scratch_.insert(attempt);
  return Status::Ok();
}

void TaskFiles::RemoveScratch(const AttemptId& attempt) { scratch_.erase(attempt); }
void TaskFiles::RemoveRun(const AttemptId& attempt) { runs_.erase(attempt); }

Status TaskFiles::WriteRun(const AttemptId& map, MapOutput output) {
  MILLRACE_TRY(machine_.disk().Do(dfs::WriteStep::kWrite));
  if (machine_.disk().Do(dfs::WriteStep::kSync).ok()) runs_[map] = std::move(output);
  return Status::Ok();
}

void TaskFiles::RemoveAllBut(JobId job, const std::set<AttemptId>& outputs) {
  std::erase_if(runs_, [&](const auto& run) { return run.first.task.job == job && !outputs.contains(run.first); });
  std::erase_if(scratch_, [&](const AttemptId& attempt) { return attempt.task.job == job; });
}

const MapOutput* TaskFiles::FindRun(const AttemptId& map) const {
  const auto found = runs_.find(map);
  return found == runs_.end() ? nullptr : &found->second;
}

bool TaskFiles::HasRoom() { return !machine_.full(); }

std::string TaskFiles::Leftovers() const {
  std::string left;
  for (const auto& [id, output] : runs_) left += " run file of " + ToText(id);
  for (const AttemptId& id : scratch_) left += " scratch of " + ToText(id);
  return left;
}

void DiskBackground::Run(std::function<void()> work, std::function<void()> then) {
  const auto time = static_cast<std::int64_t>(100 + random_.Below(3000)) * kj::MICROSECONDS;
  free_ = kj::max(free_, timer_.now()) + time;
  tasks_.Add(timer_.atTime(free_).then([work = std::move(work), then = std::move(then)] {
    work();
    then();
  }));
}

// ---- one incarnation ----

namespace {

std::shared_ptr<dfs::SpreadBlockStore> OpenBlocks(Cluster& cluster, WorkerMachine& machine) {
  const auto removing = [&cluster, &machine](std::uint64_t id, bool trash) {
    cluster.checker().Removing(machine, id, trash);
  };
  std::vector<dfs::SpreadBlockStore::Disk> disks;
  disks.push_back({"/data", std::make_unique<DiskBlocks>(machine.disk(), removing)});
  dfs::SpreadBlockStore::Events events;
  events.failing = [&cluster, &machine, incarnation = machine.process().incarnation()](std::size_t disk,
                                                                                       const Status& why) {
    cluster.world().Do(0, [&machine, incarnation, disk, why] {
      const bool same = machine.running() != nullptr && machine.process().incarnation() == incarnation;
      if (same) machine.running()->disks().Failed(disk, why);
    });
  };
  events.refused = [&cluster](std::size_t, int, const Status&) { ++cluster.checker().count().refused; };
  return std::move(*dfs::SpreadBlockStore::Over(std::move(disks), cluster.world().clock().Now(), std::move(events)));
}

}  // namespace

WorkerProcess::WorkerProcess(Cluster& cluster, WorkerMachine& machine)
    : cluster_(cluster),
      machine_(machine),
      meter_(std::make_shared<dfs::SyncMeter>(
          "/disk", [&world = cluster.world()] { return static_cast<Micros>(world.seconds() * kSecond); })),
      dialer_(cluster.network(), machine.host(), machine.process()),
      background_(cluster.world(), machine.process().timer()),
      checks_(cluster.world(), machine.process().timer()),
      blocks_(OpenBlocks(cluster, machine)),
      files_(machine),
      plane_(cluster, machine, files_),
      runner_(cluster, machine, files_),
      executables_(background_) {
  worker::WorkerConfig config;
  const OptionSet options = worker::DeclareWorkerOptions(&config);
  config.master = kMasterAddress;
  config.task_timeout = 30 * kSecond;
  config.host = machine.name();
  config.rack = "/rack" + std::to_string(machine.number() % cluster.plan().racks);
  config.map_slots = cluster.plan().map_slots;
  config.reduce_slots = cluster.plan().reduce_slots;
  agent_ = std::make_unique<worker::WorkerAgent>(
      worker::AgentParts{machine.process().timer(), dialer_, runner_, *blocks_, plane_, files_, executables_,
                         background_, checks_, cluster.world().clock(), &dialer_,
                         [this] { return std::vector<dfs::SyncTimes>{meter_->Times()}; }},
      config,
      worker::WorkerIdentity{machine.storage(), 1, "", machine.joined(),
                             [&machine](const std::string& id) {
                               machine.joined() = id;
                               return Status::Ok();
                             },
                             "", machine.told(),
                             [&machine](const Moment& told) {
                               machine.told() = told;
                               return Status::Ok();
                             }},
      cluster.world().Fork(), cluster.world().MakeLogOf(machine.name()));
  // As the daemon does it: a disk that refuses too much, and was the only one, is the end.
  const auto lost = [this](const std::vector<std::uint64_t>& ids) { agent_->LostBlocks(ids); };
  const auto over = [&cluster, &machine](const Status& why) { cluster.faults().StorageGone(machine, why); };
  disks_ = std::make_unique<worker::BlockDisks>(*blocks_, std::vector<std::string>{"/data"}, "/data", -1,
                                                worker::BlockDisks::Events{lost, over},
                                                cluster.world().MakeLogOf(machine.name()));
  agent_->OnRegistered([this, &cluster, &machine](NodeId) {
    registered_at_ = cluster.master().process().incarnation();
    cluster.checker().Registered(machine);
    cluster.world().Do(0, [&cluster] { cluster.checker().CheckAgreement(); });
    cluster.faults().Registered(machine);
  });
  agent_->Start();
  probing_ = cluster.world().Spawn([this](kj::WaitScope& scope) { Probe(scope); }).eagerlyEvaluate(nullptr);
}

void WorkerProcess::Sync(kj::WaitScope& scope) {
  const std::shared_ptr<dfs::SyncMeter> meter = meter_;
  (void)meter->Time(0, [&] { return Await(cluster_.world().Sleep(machine_.sync_time()), scope); });
}

void WorkerProcess::Probe(kj::WaitScope& scope) {
  constexpr double kEvery = 3;  // seconds, as worker.storage_check
  while (true) {
    (void)Await(cluster_.world().Sleep(kEvery), scope);
    Sync(scope);
  }
}

std::string WorkerProcess::Leftovers() const {
  std::string left = files_.Leftovers();
  if (agent_->running() > 0) left += fmt::format(" {} attempts", agent_->running());
  for (const AttemptId& id : plane_.served()) left += " served output of " + ToText(id);
  return left;
}

WorkerMachine::WorkerMachine(Cluster& cluster, std::uint32_t number)
    : cluster_(cluster),
      host_(cluster.AddHost()),
      number_(number),
      name_("host" + std::to_string(number)),
      storage_("storage" + std::to_string(number)),
      process_(cluster.world(), name_),
      tasks_(cluster.world(), "tasks on " + name_) {}

WorkerMachine::~WorkerMachine() = default;

void WorkerMachine::Start() {
  if (running_ != nullptr) return;
  process_.Start();
  tasks_.Start();
  cluster_.network().Open(name_ + ":1", host_);
  running_ = std::make_unique<WorkerProcess>(cluster_, *this);
  if (!departure_) return;
  // The metadata service is asked when the daemon has begun, so the registration comes before its answer or after it.
  constexpr double kAsking = 0.2;  // seconds at most
  cluster_.world().Do(kAsking * cluster_.world().random().Unit(), [this, incarnation = process_.incarnation()] {
    if (running_ != nullptr && process_.incarnation() == incarnation && departure_) Foretell();
  });
}

void WorkerMachine::SetDeparture(std::optional<kj::TimePoint> at) {
  departure_ = at;
  if (running_ != nullptr) Foretell();
}

void WorkerMachine::Foretell() {
  std::optional<worker::Departure> departure;
  if (departure_) departure = worker::Departure{*departure_, "spot notice"};
  running_->agent().Foretell(std::move(departure));
}

void WorkerMachine::Kill(Death death) {
  if (running_ == nullptr) return;
  cluster_.network().Kill(host_, death);
  cluster_.network().Close(name_ + ":1", death);
  process_.Die();
  tasks_.Die();
  running_.reset();
}

void WorkerMachine::LoseDirectory() {
  disk_ = {};
  joined_.clear();
  told_ = {};
  storage_ = fmt::format("storage{}.{}", number_, ++directories_);
}

// ---- what tasks compute ----

std::uint64_t MapValue(const std::string& bytes, std::uint32_t reduce) {
  std::uint64_t hash = 0xcbf29ce484222325u + reduce;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return Random(hash).Next();
}

std::string OutputText(std::uint64_t sum) { return fmt::format("{:016x}\n", sum); }

}  // namespace millrace::simulated
