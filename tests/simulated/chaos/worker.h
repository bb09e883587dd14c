// SPDX-License-Identifier: Apache-2.0
// WorkerMachine is a host with a disk and a worker daemon that can die, be stopped and start again. The daemon is the
// real agent; the data plane, tasks and files in its seams are simple but faithful. A map's output exists only where it
// was made or copied to, and dies with the daemon; a reduce has exactly the data that it fetched; a block is on the
// disks that it was written to. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rpc/link.h"
#include "dfs/data/spread_block_store.h"
#include "dfs/data/sync_meter.h"
#include "dfs/wire/chunks.h"
#include "dfs/wire/write_order.h"
#include "tests/fakes/synthetic_worker.h"
#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/cluster.h"
#include "tests/simulated/chaos/disk.h"
#include "worker/daemon/agent/agent.h"
#include "worker/daemon/storage/block_disks.h"

namespace millrace::simulated {

class WorkerMachine;

// The output of a map attempt: a number for each reduce.
using MapOutput = std::vector<std::uint64_t>;

// TaskFiles holds the files of attempts in memory. They are lost with the daemon, since a real daemon removes all files
// that it finds at its start.
class TaskFiles final : public worker::AttemptFiles {
 public:
  explicit TaskFiles(WorkerMachine& machine) : machine_(machine) {}
  [[nodiscard]] worker::AttemptPaths Paths(const AttemptId& attempt) const override;
  [[nodiscard]] std::string SharedDirectory(JobId) const override { return {}; }
  Status Prepare(const AttemptId& attempt) override;
  void RemoveScratch(const AttemptId& attempt) override;
  void RemoveRun(const AttemptId& attempt) override;
  void RemoveJob(JobId job) override { RemoveAllBut(job, {}); }
  void RemoveAllBut(JobId job, const std::set<AttemptId>& outputs) override;
  [[nodiscard]] Result<worker::LogPiece> ReadLog(const AttemptId&, bool, std::uint64_t, std::uint32_t) const override {
    return worker::LogPiece();
  }
  [[nodiscard]] bool HasRoom() override;

  // Writes a run file; fails if the disk refuses the write. If the disk refuses the later write-back, the writer does
  // not notice, and the file makes no sense to its readers.
  Status WriteRun(const AttemptId& map, MapOutput output);
  void LoseRun(const AttemptId& map) { runs_.erase(map); }
  // Returns true if the directories of the attempt exist, that is, until it has ended.
  [[nodiscard]] bool HasScratch(const AttemptId& attempt) const { return scratch_.contains(attempt); }
  [[nodiscard]] const MapOutput* FindRun(const AttemptId& map) const;
  [[nodiscard]] std::string Leftovers() const;  // empty: there are none

 private:
  WorkerMachine& machine_;
  std::map<AttemptId, MapOutput> runs_;
  std::set<AttemptId> scratch_;
};

// DiskBackground runs disk calls one after the other. Each takes a while.
class DiskBackground final : public rpc::Background {
 public:
  ~DiskBackground() noexcept override = default;
  DiskBackground(World& world, kj::Timer& timer) : timer_(timer), random_(world.Fork()) {}
  void Run(std::function<void()> work, std::function<void()> then) override;

 private:
  kj::Timer& timer_;
  Random random_;
  kj::TimePoint free_ = kj::origin<kj::TimePoint>();
  rpc::TaskGroup tasks_;
};

class DataPlane final : public worker::DataPlane {
 public:
  DataPlane(Cluster& cluster, WorkerMachine& machine, TaskFiles& files);
  ~DataPlane() noexcept override = default;
  void Observe(worker::BlockEvents events) override { events_ = std::move(events); }
  void AddMapOutput(const AttemptId& map, std::uint32_t partitions, const std::string& path,
                    std::function<void(Status)> then) override;
  void CopyMapOutput(const shuffle::Source& source, std::uint32_t partitions, const std::string& path,
                     std::function<void(Status)> then) override;
  void RemoveMapOutput(const AttemptId& map) override { served_.erase(map); }
  void RemoveMapOutputs(JobId job) override;
  [[nodiscard]] std::uint64_t ServedBytes(JobId job) const override;
  [[nodiscard]] std::unique_ptr<worker::ReduceCopier> StartCopy(const AttemptId& reduce, std::uint32_t maps,
                                                                std::string file,
                                                                shuffle::CopyCallbacks callbacks) override;
  [[nodiscard]] shuffle::FetchMeter::Figures FetchFigures(JobId) const override { return {}; }
  void Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token) override;
  void UseKeys(dfs::BlockKeys keys) override { keys_ = std::move(keys); }

  // Checks, as the block server does, that a master ordered this block to be written to this node under its present
  // number and, if the block is a copy, with this content.
  [[nodiscard]] Status CheckWrite(std::uint64_t block, const dfs::BlockContent& content,
                                  const std::string& token) const;
  void Received(const dfs::StoredBlock& block);
  void TellUnreached(const std::string& host);
  // Returns the map's number for this reduce; nothing if it is not served here.
  [[nodiscard]] std::optional<std::uint64_t> Serve(const AttemptId& map, std::uint32_t reduce) const;
  [[nodiscard]] const std::set<AttemptId>& served() const { return served_; }

 private:
  class Copier;
  [[nodiscard]] Status CopyRun(kj::WaitScope& scope, const shuffle::Source& source, std::uint32_t partitions);

  Cluster& cluster_;
  WorkerMachine& machine_;
  TaskFiles& files_;
  Random random_;
  worker::BlockEvents events_;
  std::optional<dfs::BlockKeys> keys_;  // once the master has sent them
  std::set<AttemptId> served_;
  rpc::TaskGroup tasks_;
};

class TaskRunner final : public worker::TaskRunner {
 public:
  TaskRunner(Cluster& cluster, WorkerMachine& machine, TaskFiles& files);
  ~TaskRunner() noexcept override;
  void Observe(worker::TaskObserver* observer) override { observer_ = observer; }
  void SetUpJob(JobId job, std::string executable, worker::OwnedMessage<task::wire::SetUp> set_up) override;
  void RunMap(worker::OwnedMessage<task::wire::RunMap> launch) override;
  void RunReduce(worker::OwnedMessage<task::wire::RunReduce> launch) override;
  [[nodiscard]] kj::Promise<void> Kill(const AttemptId& attempt) override;
  [[nodiscard]] kj::Promise<void> EndJob(JobId job) override;
  [[nodiscard]] kj::Promise<void> ForgetJob(JobId job) override;
  [[nodiscard]] std::vector<AttemptId> Processes() const;

 private:
  struct Job {
    std::string output;
    std::uint32_t reduces = 0, replication = 0;
  };
  struct Running;
  using Body = kj::Function<Status(kj::WaitScope&, task::wire::Done::Builder)>;
  void Begin(const AttemptId& id, Body body);
  void End(const AttemptId& id, std::uint64_t run, const Status& status, worker::OwnedMessage<task::wire::Done>& done);
  [[nodiscard]] Status Work(kj::WaitScope& scope, const AttemptId& id);
  // Writes the part file, and beside it a named output with the same bytes, which must exist whenever the part file
  // exists.
  [[nodiscard]] Status WriteOutput(kj::WaitScope& scope, const AttemptId& id, const std::string& text,
                                   task::wire::Done::Builder done);
  [[nodiscard]] Status WriteFile(kj::WaitScope& scope, const AttemptId& id, const char* kind, const std::string& text,
                                 task::wire::Output::Builder output);

  Cluster& cluster_;
  WorkerMachine& machine_;
  TaskFiles& files_;
  Random random_;
  worker::TaskObserver* observer_ = nullptr;
  std::map<JobId, Job> jobs_;
  std::map<AttemptId, std::unique_ptr<Running>> running_;
  std::uint64_t runs_ = 0;
  rpc::TaskGroup tasks_;
};

// WorkerProcess is one incarnation of the daemon.
class WorkerProcess {
 public:
  WorkerProcess(Cluster& cluster, WorkerMachine& machine);
  [[nodiscard]] dfs::BlockStore& blocks() { return *blocks_; }
  [[nodiscard]] std::shared_ptr<dfs::BlockStore> shared_blocks() { return blocks_; }
  [[nodiscard]] worker::BlockDisks& disks() { return *disks_; }
  [[nodiscard]] DataPlane& plane() { return plane_; }
  // Syncs to the disk, which takes WorkerMachine::sync_time.
  void Sync(kj::WaitScope& scope);
  [[nodiscard]] TaskFiles& files() { return files_; }
  [[nodiscard]] const TaskRunner& runner() const { return runner_; }
  // Returns the incarnation of the master that registered the worker last; 0: none yet.
  [[nodiscard]] std::uint64_t registered_at() const { return registered_at_; }
  [[nodiscard]] worker::WorkerAgent& agent() { return *agent_; }
  [[nodiscard]] std::string Leftovers() const;  // remains of jobs; empty: there are none

 private:
  // Writes and syncs a probe every few seconds, as StorageWatch does.
  void Probe(kj::WaitScope& scope);

  Cluster& cluster_;
  WorkerMachine& machine_;
  const std::shared_ptr<dfs::SyncMeter> meter_;  // shared with writers that outlive the process
  Network::Dialer dialer_;
  DiskBackground background_, checks_;
  std::shared_ptr<dfs::SpreadBlockStore> blocks_;
  std::unique_ptr<worker::BlockDisks> disks_;
  TaskFiles files_;
  DataPlane plane_;
  TaskRunner runner_;
  worker::SyntheticExecutables executables_;
  std::uint64_t registered_at_ = 0;  // an incarnation
  std::unique_ptr<worker::WorkerAgent> agent_;
  kj::Promise<void> probing_ = nullptr;
};

class WorkerMachine {
 public:
  WorkerMachine(Cluster& cluster, std::uint32_t number);
  ~WorkerMachine();

  [[nodiscard]] HostId host() const { return host_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& storage() const { return storage_; }
  [[nodiscard]] std::string& joined() { return joined_; }  // the cluster's id, as stored in the directory
  [[nodiscard]] Moment& told() { return told_; }           // as stored in the directory
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] Process& process() { return process_; }
  [[nodiscard]] Process& tasks() { return tasks_; }  // of the tasks, which are never stopped with the daemon
  [[nodiscard]] BlockDisk& disk() { return disk_; }
  [[nodiscard]] WorkerProcess* running() { return running_.get(); }  // null while it is down
  [[nodiscard]] double slowness() const { return slowness_; }
  void SetSlowness(double factor) { slowness_ = factor; }

  void Start();
  void Kill(Death death);
  // Returns true if the worker belongs to another cluster.
  [[nodiscard]] bool stranger() const { return stranger_; }
  void MakeStranger(const std::string& cluster) {
    stranger_ = true;
    joined_ = cluster;
  }
  void LoseDirectory();  // its files, its identity and its cluster
  // Returns true if the machine is down for so long that nothing may wait for it.
  [[nodiscard]] bool gone() const { return gone_; }
  void SetGone(bool gone) { gone_ = gone; }
  // Returns true if the disk has no room for the files of attempts.
  [[nodiscard]] bool full() const { return full_; }
  void SetFull(bool full) { full_ = full; }
  // Returns the time that a sync of the disk takes, in seconds.
  [[nodiscard]] double sync_time() const { return sync_time_; }
  void SetSyncTime(double seconds) { sync_time_ = seconds; }
  static constexpr double kQuickSync = 0.002;
  // Returns the time at which the machine will be taken away, according to its metadata service; none if it stays.
  // Every daemon on the machine learns of it.
  [[nodiscard]] const std::optional<kj::TimePoint>& departure() const { return departure_; }
  void SetDeparture(std::optional<kj::TimePoint> at);

 private:
  void Foretell();

  Cluster& cluster_;
  HostId host_;
  std::uint32_t number_;
  std::string name_, storage_, joined_;
  Moment told_;
  std::uint32_t directories_ = 0;
  double slowness_ = 1, sync_time_ = kQuickSync;
  bool stranger_ = false, gone_ = false, full_ = false;
  std::optional<kj::TimePoint> departure_;
  Process process_, tasks_;
  BlockDisk disk_;
  std::unique_ptr<WorkerProcess> running_;
};

// These compute a map's number for a reduce from the map's bytes, and a reduce's output from the sum of its numbers.
// Tasks and checks use them.
[[nodiscard]] std::uint64_t MapValue(const std::string& bytes, std::uint32_t reduce);
[[nodiscard]] std::string OutputText(std::uint64_t sum);

}  // namespace millrace::simulated
