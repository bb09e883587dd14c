// SPDX-License-Identifier: Apache-2.0
// The attempts that a worker's daemon executes.
#include <utility>

#include "base/ids/ids.h"
#include "base/protocol/attempt_wire.h"
#include "base/rpc/status_codec.h"
#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/files.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {

namespace {

constexpr int kReadTries = 4;

BlockPlaces PlacesOf(dfs::wire::LocatedBlock::Reader located) {
  BlockPlaces block;
  block.id = located.getBlock().getId();
  block.length = located.getBlock().getLength();
  block.crc = located.getBlock().getCrc();
  for (const auto place : located.getReplicas())
    block.holders.push_back({NodeId{place.getNode()}, place.getHost().cStr()});
  return block;
}

// As the real reader: what the split names first, then what the master says now.
Result<std::string> ReadInputBlock(Cluster& cluster, kj::WaitScope& scope, HostId reader, MasterCaller& caller,
                                   const std::string& path, BlockPlaces block) {
  Result<std::string> data = Unavailable("not read");
  for (int i = 0; i < kReadTries; ++i) {
    data = ReadBlock(cluster, scope, reader, caller, block);
    if (data.ok()) return data;
    (void)Await(cluster.world().Sleep(1), scope);
    const auto now = Locate(caller, scope, path, nullptr);
    if (!now.ok()) continue;
    for (const BlockPlaces& located : *now) {
      if (located.id == block.id) block = located;
    }
  }
  return data;
}

}  // namespace

struct TaskRunner::Running {
  std::uint64_t run = 0;
  kj::Promise<void> fiber = nullptr;
};

TaskRunner::TaskRunner(Cluster& cluster, WorkerMachine& machine, TaskFiles& files)
    : cluster_(cluster), machine_(machine), files_(files), random_(cluster.world().Fork()) {}

TaskRunner::~TaskRunner() noexcept = default;

void TaskRunner::SetUpJob(JobId job, std::string, worker::OwnedMessage<task::wire::SetUp> set_up) {
  const auto setup = set_up.reader().getJob();
  const auto output = setup.getOutputDirectory().asChars();
  jobs_[job] = {std::string(output.begin(), output.size()), setup.getReduces(), setup.getReplication()};
}

void TaskRunner::Begin(const AttemptId& id, Body body) {
  cluster_.checker().Started(id, machine_);
  auto running = std::make_unique<Running>();
  const std::uint64_t run = running->run = runs_++;
  Running& kept = *running;
  running_[id] = std::move(running);
  kept.fiber = cluster_.world()
                   .Spawn([this, id, run, body = kj::mv(body)](kj::WaitScope& scope) mutable {
                     auto done = std::make_shared<worker::OwnedMessage<task::wire::Done>>();
                     ToWire(id, done->builder().initAttempt());
                     const Status status = body(scope, done->builder());
                     (void)Await(machine_.process().MayReceive(), scope);
                     tasks_.Add(kj::evalLater([this, id, run, status, done] { End(id, run, status, *done); }));
                   })
                   .eagerlyEvaluate(nullptr);
}

void TaskRunner::End(const AttemptId& id, std::uint64_t run, const Status& status,
                     worker::OwnedMessage<task::wire::Done>& done) {
  const auto found = running_.find(id);
  if (found == running_.end() || found->second->run != run) return;  // killed meanwhile
  running_.erase(found);
  if (observer_ == nullptr) return;
  if (!status.ok()) return observer_->TaskFailed(id, {status.message(), ""});
  observer_->TaskDone(id, std::move(done));
}

// The time that an attempt takes, and what goes wrong with it.
Status TaskRunner::Work(kj::WaitScope& scope, const AttemptId& id) {
  const Plan& plan = cluster_.plan();
  const double most = id.task.reduce() ? plan.reduce_time : plan.map_time;
  const double time = most * (0.2 + 0.8 * random_.Unit()) * machine_.slowness();
  const TaskFate fate = cluster_.faults().FateOf(id, machine_);
  (void)Await(cluster_.world().Sleep(time / 2), scope);
  if (fate == TaskFate::kHangs) {
    cluster_.world().Note(ToText(id) + " on " + machine_.name() + " hangs");
    (void)Await(kj::Promise<void>(kj::NEVER_DONE), scope);
  }
  if (fate == TaskFate::kKillsWorker) {
    cluster_.faults().KillSoon(machine_, ToText(id));
    (void)Await(kj::Promise<void>(kj::NEVER_DONE), scope);
  }
  (void)Await(cluster_.world().Sleep(time / 2), scope);
  if (fate == TaskFate::kFails) return Internal("drawn to fail");
  return Status::Ok();
}

void TaskRunner::RunMap(worker::OwnedMessage<task::wire::RunMap> launch) {
  const AttemptId id = FromWire(launch.reader().getAttempt());
  auto kept = std::make_shared<worker::OwnedMessage<task::wire::RunMap>>(std::move(launch));
  Begin(id, [this, id, kept](kj::WaitScope& scope, task::wire::Done::Builder done) -> Status {
    MasterCaller caller(cluster_.world(), cluster_.network(), machine_.host(), machine_.tasks());
    std::string bytes;
    for (const auto input : kept->reader().getInputs()) {
      const auto path = input.getPath().asChars();
      for (const auto located : input.getBlocks()) {
        MILLRACE_ASSIGN(const std::string data,
                        ReadInputBlock(cluster_, scope, machine_.host(), caller, std::string(path.begin(), path.size()),
                                       PlacesOf(located)));
        bytes += data;
      }
    }
    MILLRACE_TRY(Work(scope, id));
    const Job& job = jobs_.at(id.task.job);
    if (job.reduces == 0) return WriteOutput(scope, id, OutputText(MapValue(bytes, 0)), done);
    MapOutput output;
    for (std::uint32_t reduce = 0; reduce < job.reduces; ++reduce) output.push_back(MapValue(bytes, reduce));
    return files_.WriteRun(id, std::move(output));
  });
}

void TaskRunner::RunReduce(worker::OwnedMessage<task::wire::RunReduce> launch) {
  const AttemptId id = FromWire(launch.reader().getAttempt());
  std::uint64_t sum = 0;
  for (const auto segment : launch.reader().getSegments()) sum += segment.getRawLength();
  Begin(id, [this, id, sum](kj::WaitScope& scope, task::wire::Done::Builder done) -> Status {
    MILLRACE_TRY(Work(scope, id));
    return WriteOutput(scope, id, OutputText(sum), done);
  });
}

Status TaskRunner::WriteOutput(kj::WaitScope& scope, const AttemptId& id, const std::string& text,
                               task::wire::Done::Builder done) {
  MILLRACE_TRY(WriteFile(scope, id, "part", text, done.initOutput()));
  return WriteFile(scope, id, "copy", text, done.initNamed(1)[0]);
}

Status TaskRunner::WriteFile(kj::WaitScope& scope, const AttemptId& id, const char* kind, const std::string& text,
                             task::wire::Output::Builder output) {
  const Job job = jobs_.at(id.task.job);
  char name[32];
  std::snprintf(name, sizeof name, "%s-%c-%05u", kind, id.task.reduce() ? 'r' : 'm', id.task.index);
  const std::string attempt = ToText(id);
  MasterCaller caller(cluster_.world(), cluster_.network(), machine_.host(), machine_.tasks());
  FileMaker maker(cluster_, caller, machine_.host());
  MILLRACE_TRY(maker.Create(scope, job.output + "/_temporary/" + attempt + "/" + name, job.replication, false));
  MILLRACE_TRY(maker.AddBlock(scope, text));
  MILLRACE_TRY(maker.HandOver(scope, attempt));
  output.setPresent(true);
  output.setFile(maker.written().file);
  output.setName(name);
  output.setBytes(text.size());
  auto blocks = output.initBlocks(static_cast<unsigned>(maker.written().blocks.size()));
  for (unsigned i = 0; i < blocks.size(); ++i) {
    const Written::Block& block = maker.written().blocks[i];
    blocks[i].initBlock().setId(block.id);
    blocks[i].getBlock().setLength(block.length);
    blocks[i].getBlock().setCrc(block.crc);
    auto nodes = blocks[i].initNodes(static_cast<unsigned>(block.nodes.size()));
    for (unsigned n = 0; n < nodes.size(); ++n) nodes.set(n, block.nodes[n].value);
  }
  return Status::Ok();
}

std::vector<AttemptId> TaskRunner::Processes() const {
  std::vector<AttemptId> all;
  for (const auto& [id, running] : running_) all.push_back(id);
  return all;
}

kj::Promise<void> TaskRunner::Kill(const AttemptId& attempt) {
  running_.erase(attempt);
  return machine_.process().timer().afterDelay(5 * kj::MILLISECONDS);
}

kj::Promise<void> TaskRunner::EndJob(JobId job) {
  std::erase_if(running_, [&](const auto& entry) { return entry.first.task.job == job; });
  return machine_.process().timer().afterDelay(5 * kj::MILLISECONDS);
}

kj::Promise<void> TaskRunner::ForgetJob(JobId job) {
  jobs_.erase(job);
  return EndJob(job);
}

}  // namespace millrace::simulated
