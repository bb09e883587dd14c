// SPDX-License-Identifier: Apache-2.0
// WorkerAgent does a worker's work for its master. It accepts attempts, has them executed, reports their outcome,
// serves and copies map outputs, and keeps and drops blocks. The master decides; the agent checks that an order is
// possible and refuses it otherwise. It owns no socket, thread or file; it reaches them through the seams in
// AgentParts. This class handles jobs, blocks and the exchange with the master; AttemptTable (attempt_table.h) handles
// attempts. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cluster_id.h"
#include "base/log.h"
#include "base/machine_size.h"
#include "base/protocol/worker.capnp.h"
#include "base/random.h"
#include "base/rpc/task_group.h"
#include "dfs/data/block_store.h"
#include "worker/daemon/agent/agent_parts.h"
#include "worker/daemon/agent/attempt_table.h"
#include "worker/daemon/agent/log_archiver.h"
#include "worker/daemon/agent/master_session.h"
#include "worker/daemon/agent/peer_watch.h"
#include "worker/daemon/agent/worker_config.h"
#include "worker/daemon/storage/scrubber.h"

namespace millrace::worker {

// The facts about a worker that are not in its configuration.
struct WorkerIdentity {
  std::string storage;     // storage_lock.h
  std::uint16_t port = 0;  // the bulk server's
  std::string local_socket;
  std::string cluster;  // the cluster of the directory; empty: none yet
  // Stores the cluster's id in the directory. The agent calls it on its Background, one call at a time.
  std::function<Status(const std::string& cluster)> join;
  std::string sandbox = {};  // the parts of the sandbox of its tasks (base/sandbox/sandbox.h)
  Moment told = {};          // the last moment that a master has told the worker, as stored in the directory
  // Stores a moment in the directory. The agent calls it on its Background. If it is empty, moments are kept in memory
  // only.
  std::function<Status(const Moment& told)> keep_told = {};
  MachineCores cores = {};  // that tasks may use
};

// The announcement that the worker's machine will be taken away.
struct Departure {
  kj::TimePoint at = kj::origin<kj::TimePoint>();  // by the agent's timer
  std::string reason;                              // "spot notice"
};

inline constexpr kj::Duration kFarewell = 1 * kj::SECONDS;

class WorkerAgent final : private SessionOwner {
 public:
  WorkerAgent(AgentParts parts, WorkerConfig config, WorkerIdentity identity, Random random, Log log);
  ~WorkerAgent() noexcept override;

  // Registers with config.master, now and after every loss of the connection.
  void Start();
  // Stops the worker on request. Its attempts end and are reported to the master as lost, which counts against nobody.
  // Resolves when the master has answered, or after kFarewell.
  [[nodiscard]] kj::Promise<void> Leave();
  // Notes that the machine will be taken away or, without `departure`, that it stays after all. Reports this to the
  // master.
  void Foretell(std::optional<Departure> departure);
  // Sets the function that is called after each registration.
  void OnRegistered(std::function<void(NodeId node)> then) { on_registered_ = std::move(then); }

  // These carry out the master's calls to ControlServer (worker.capnp describes them).
  void SetUpJob(task::wire::JobSetup::Reader setup, ExecutableId executable);
  [[nodiscard]] AttemptTable& attempts() { return attempts_; }
  void MapOutputs(JobId job, const std::vector<AnnouncedOutput>& ready, const std::vector<AttemptId>& gone,
                  const std::vector<std::uint32_t>& left_out) {
    attempts_.MapOutputs(job, node_, ready, gone, left_out);
  }
  [[nodiscard]] kj::Promise<void> CopyOutput(const AnnouncedOutput& output);
  void ForgetJob(JobId job);
  void Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token);
  void AllowWrite(std::uint64_t block, std::string token) { parts_.plane.AllowWrite(block, std::move(token)); }
  void DeleteBlocks(std::vector<std::uint64_t> ids);
  void TrashBlocks(std::vector<std::uint64_t> ids);
  // Reads the block from the disk and reports its state to the master (Found). While a block is being read, further
  // callers share that reading.
  [[nodiscard]] kj::Promise<dfs::wire::ReplicaState> VerifyBlock(std::uint64_t id);
  [[nodiscard]] kj::Promise<LogPiece> ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                              std::uint32_t limit);

  // Takes in the result of reading a block. Reports a bad block to the master at once; the report of a sound block
  // makes the master trust the replica again.
  void Found(const CheckedBlock& checked);
  // Notes that a disk of this worker has failed. `ids` are the blocks of that disk; reports these blocks to the master
  // as gone.
  void LostBlocks(const std::vector<std::uint64_t>& ids);
  // Reports to the master that the storage is gone. Resolves when the master has the report, or cannot be reached.
  // Nothing is sent to the master after that.
  [[nodiscard]] kj::Promise<void> Leave(const std::string& reason) { return session_.Leave(reason); }

  [[nodiscard]] std::set<JobId> Jobs() const;  // the jobs that are set up here
  [[nodiscard]] std::size_t running() const { return attempts_.size(); }
  [[nodiscard]] bool registered() const { return session_.stands(); }  // true until the connection breaks

 private:
  // ---- blocks ----
  void RemoveBlocks(std::vector<std::uint64_t> ids, std::function<Status(std::uint64_t)> remove);
  kj::Promise<void> SweepBlocks();
  // ---- jobs, and the exchange with the master ----
  void FetchExecutable(const std::shared_ptr<WorkerJob>& job);
  void OutputCopied(const AttemptId& map, const Status& status);
  void ExecutableFetched(const std::shared_ptr<WorkerJob>& job, const Result<std::string>& path);
  kj::Promise<void> Join(std::string cluster) override;
  void DescribeWorker(master::wire::WorkerInfo::Builder info) override;
  void DescribeForetelling(master::wire::WorkerSession::ForetellParams::Builder foretelling) override;
  void Write(const Departure& departure, master::wire::Leaving::Builder leaving) const;
  wire::WorkerControl::Client Control() override;
  void Registered(NodeId node, master::wire::WorkerSettings::Reader settings) override;
  void DescribeHeartbeat(master::wire::WorkerSession::HeartbeatParams::Builder heartbeat) override;
  void HeartbeatAnswered(master::wire::WorkerSession::HeartbeatResults::Reader answer) override;
  void NoteTold(master::wire::Moment::Reader moment);
  void DescribeDisks(master::wire::WorkerStats::Builder stats) const;
  void DescribeUnreached(master::wire::WorkerSession::HeartbeatParams::Builder heartbeat);
  kj::Promise<void> RemovalsMade() override;
  std::vector<dfs::StoredBlock> Blocks() override;
  std::vector<dfs::StoredBlock> Trash() override { return parts_.blocks.ListTrash(); }
  kj::Promise<std::vector<dfs::StoredBlock>> Restore(std::vector<std::uint64_t> ids) override;

  AgentParts parts_;
  WorkerConfig config_;
  WorkerIdentity identity_;
  std::uint64_t incarnation_;
  Log log_;
  NodeId node_;
  std::optional<Departure> departure_;
  std::uint64_t claims_ = 0;                // the number of times that this worker listed its attempts to a master
  std::optional<kj::TimePoint> told_kept_;  // when identity_.told was last stored
  std::function<void(NodeId)> on_registered_;
  std::map<std::uint64_t, std::vector<kj::Own<kj::PromiseFulfiller<dfs::wire::ReplicaState>>>> checking_;
  struct OutputCopy {
    std::uint64_t claims = 0;  // the value of claims_ when the copy was last asked for
    std::vector<kj::Own<kj::PromiseFulfiller<void>>> asked;
  };
  std::map<AttemptId, OutputCopy> output_copies_;  // under way
  WorkerJobs jobs_;
  AttemptTable attempts_;
  std::shared_ptr<WorkerAgent*> self_;  // callbacks and capabilities that outlive the agent find null
  rpc::TaskGroup tasks_;
  PeerWatch peers_;
  MasterSession session_;  // it calls the agent
  LogArchiver archiver_;   // last: it uses the session
};

}  // namespace millrace::worker
