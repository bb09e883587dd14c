// SPDX-License-Identifier: Apache-2.0
// MasterSession is the worker's side of its link to the master. It registers, reports the worker's blocks and sends
// heartbeats. It begins again by itself whenever the connection breaks or is silent for too long, or the master no
// longer knows the worker. Attempts keep running meanwhile.
//
// The session asks a master for its cluster before it registers, so the master of another cluster learns nothing. From
// such a master it keeps asking and does not end: the usual cause is a master that was started with a wrong directory,
// and when the right one is back, all workers are back by themselves. It also keeps asking a master whose release is
// too far from the worker's (base/release.h), until one of the two is upgraded. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/protocol/master.capnp.h"
#include "base/protocol/worker.capnp.h"
#include "base/random.h"
#include "base/rpc/link.h"
#include "base/rpc/transport.h"
#include "dfs/data/block_store.h"
#include "worker/daemon/agent/block_reporter.h"
#include "worker/daemon/agent/report_queue.h"

namespace millrace::worker {

// The session's requests and reports to its owner.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;
  // Resolves when the disk records that this worker belongs to `cluster`; rejects with kInvalid if it belongs to
  // another.
  virtual kj::Promise<void> Join(std::string cluster) = 0;
  virtual void DescribeWorker(master::wire::WorkerInfo::Builder info) = 0;
  // Writes whether, and when, this machine will be taken away.
  virtual void DescribeForetelling(master::wire::WorkerSession::ForetellParams::Builder foretelling) = 0;
  virtual wire::WorkerControl::Client Control() = 0;
  virtual void Registered(NodeId node, master::wire::WorkerSettings::Reader settings) = 0;
  virtual void DescribeHeartbeat(master::wire::WorkerSession::HeartbeatParams::Builder heartbeat) = 0;
  virtual void HeartbeatAnswered(master::wire::WorkerSession::HeartbeatResults::Reader answer) = 0;
  // Resolves when the blocks that were to be deleted or put aside by orders of earlier sessions are off the disk.
  virtual kj::Promise<void> RemovalsMade() = 0;
  virtual std::vector<dfs::StoredBlock> Blocks() = 0;
  virtual std::vector<dfs::StoredBlock> Trash() = 0;
  // Brings blocks back from the trash; resolves to those that came back.
  virtual kj::Promise<std::vector<dfs::StoredBlock>> Restore(std::vector<std::uint64_t> ids) = 0;
};

class MasterSession {
 public:
  // Requires: all arguments outlive this.
  MasterSession(kj::Timer& timer, rpc::Dialer& dialer, std::string master, Random random, SessionOwner& owner, Log log);
  void Start();  // once
  // Reports to the master that this worker leaves, if there is a session, and ends the session for good.
  [[nodiscard]] kj::Promise<void> Leave(const std::string& reason);
  // Sends the master the present DescribeForetelling. A registration that begins later sends it anyway.
  void Foretell();
  // Asks the master what to do with the logs of these jobs (WorkerSession.archiveLogs). Rejects with kUnavailable if
  // there is no session.
  using LogOrders = capnp::Response<master::wire::WorkerSession::ArchiveLogsResults>;
  [[nodiscard]] kj::Promise<LogOrders> AskAboutLogs(const std::vector<JobId>& jobs);
  // Sends the master the contents of the next heartbeat at once, before any later report.
  void BeatNow();
  // Sends the next heartbeat at once, or as soon as the one under way is answered.
  void BeatSoon();

  [[nodiscard]] ReportQueue& reports() { return reports_; }
  [[nodiscard]] BlockReporter& blocks() { return blocks_; }
  [[nodiscard]] const std::string& master() const { return link_.address(); }
  [[nodiscard]] bool stands() const { return session_ != nullptr; }  // the master has registered this worker

 private:
  static constexpr std::size_t kMostReportsInFlight = 32;
  static constexpr kj::Duration kRefusedWait = 5 * kj::SECONDS;

  kj::Promise<void> Cycle();
  kj::Promise<void> Register(master::wire::Master::Client master);
  [[nodiscard]] kj::Promise<void> AfterFailure(const Status& why);
  kj::Promise<void> Serve(capnp::Response<master::wire::Master::RegisterResults> answer);
  kj::Promise<void> Beat(kj::TimePoint due);
  kj::Promise<void> AwaitBeat(kj::TimePoint next);
  void ListBlocks(master::wire::WorkerSession::Client session);
  void Close();                   // ends all sending of this session
  void Tell(const Status& why);   // logs `why` at once, then every minute, until there is a session
  void Break(const Status& why);  // ends the present session, which is of no use

  kj::Timer& timer_;
  SessionOwner& owner_;
  Log log_;
  rpc::Link link_;
  ReportQueue reports_;
  BlockReporter blocks_;
  std::optional<kj::TimePoint> told_;  // when the log last said that there is no session
  kj::Duration period_ = 1 * kj::SECONDS;
  kj::Duration limit_ = 10 * kj::SECONDS;  // for the answer to one call
  kj::Maybe<master::wire::WorkerSession::Client> session_;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> break_;
  bool to_foretell_ = false;  // something has changed since the registration under way was sent
  kj::Promise<void> listing_ = nullptr;
  kj::Promise<void> foretelling_ = nullptr;
  kj::Promise<void> beat_now_ = nullptr;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> hurry_;  // while the next heartbeat waits for its time
  bool soon_ = false;                                     // the next one does not wait
  kj::Promise<void> cycle_ = nullptr;                     // last: it uses the members above
};

}  // namespace millrace::worker
