// SPDX-License-Identifier: Apache-2.0
// Workers manages the cluster's workers for the control strand: they register, send heartbeats, report their blocks,
// leave, are lost and in the end forgotten. WorkerSessions (worker_sessions.h) records which workers are here; this
// class carries out what the arrival or loss of one means for files and jobs. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cluster_id.h"
#include "base/log.h"
#include "base/rpc/transport.h"
#include "base/status.h"
#include "master/cluster/clearance.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/cluster_record.h"
#include "master/control/database_age.h"
#include "master/control/disk_room.h"
#include "master/control/dispatcher.h"
#include "master/control/master_clock.h"
#include "master/control/master_config.h"
#include "master/control/node_watch.h"
#include "master/control/steps.h"
#include "master/control/worker_sessions.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// The parts of the master that the workers' arrivals and losses change.
struct WorkersParts {
  const MasterConfig& config;
  const Identity& identity;
  const MasterClock& clock;
  kj::Timer& timer;
  const DiskRoom& room;
  FileSystem& files;
  NodeTable& nodes;
  JobTracker& jobs;
  Steps& steps;
  DatabaseAge& age;
  NodeWatch& watch;
  Dispatcher& dispatcher;
  rpc::Dialer* dialer;  // reaches the workers' ports; null: workers are taken at their word
  bool asks_workers;    // with `dialer`: whether the process that registers must answer at the worker's address
  kj::TaskSet& tasks;
  Log log;
};

class Workers {
 public:
  // Requires: the parts and this outlive the tasks.
  explicit Workers(WorkersParts parts) : master_(std::move(parts)) {}

  // Called when the master starts. The workers that jobs knew of have startup_grace to come back.
  void Start();
  // Declares workers lost that have been silent for too long.
  void LoseSilent();
  // Forgets the workers that have been lost for master.forget_nodes_after, or that left as announced. Notes the time of
  // the loss of the other lost workers.
  void ForgetOld();
  // Called when there is room on the disk again. Workers that registered while there was none register again, and their
  // attempts are settled.
  void SettleAgain() { sessions_.EndUnsettled(); }
  [[nodiscard]] bool InStartupGrace() const;

  // ---- registration ----
  struct Registration {
    NodeId node;
    std::uint64_t epoch = 0;
    JobTracker::Reconciled reconciled;
    bool older = false;                     // the worker knows a later moment than the database contains
    kj::Promise<void> committed = nullptr;  // once it has resolved, the worker acts on the rest
  };
  // Returns kInvalid, naming both clusters, if the worker belongs to another cluster.
  [[nodiscard]] Status CheckCluster(const std::string& host, const std::string& cluster) const;
  // Returns kInvalid, naming both releases, if the worker's release is too far from this master's (base/release.h).
  [[nodiscard]] Status CheckRelease(const std::string& host, const Release& release) const;
  // Rejects with kUnavailable, naming the setting to change, unless the worker's port accepts a connection.
  [[nodiscard]] kj::Promise<void> DialBack(const WorkerFacts& facts);
  // Returns kDenied if the worker shows the certificate of another one (NodeTable::CheckCertificate).
  [[nodiscard]] Status CheckCertificate(const WorkerFacts& facts) const;
  // If another session stands for the storage or the address with which the worker registers, asks the holder of that
  // session for a sign of life. Rejects with kBusy, naming the holder, if it answers. Does not wait for a holder whose
  // connection broke. Waits for the answer of any other holder for at most one heartbeat or two seconds, whichever is
  // less.
  [[nodiscard]] kj::Promise<void> AwaitVacancy(const WorkerFacts& facts);
  // Registers the worker and declares the others at its address lost. Requires: AwaitVacancy has just resolved. The
  // epoch distinguishes this session from earlier ones of the same worker, whose calls are ignored. While nothing can
  // be written, only the worker's blocks are used and nothing is settled; when there is room again its session ends, so
  // that it registers again. `told` is the last moment that the worker has learnt from a master.
  Result<Registration> Register(const WorkerFacts& facts, worker::wire::WorkerControl::Client control,
                                const Claims& claims, std::optional<Leaving> leaving, const Moment& told);
  // Notes that the worker's machine will be taken away, or, without `leaving`, that it stays after all. A node that
  // leaves is drained, whatever else was asked for. The data that only this node has is copied elsewhere before any
  // other.
  void Foretell(NodeId node, std::optional<Leaving> leaving);
  // Gives up attempts that will not end before their node leaves, so that their tasks run elsewhere.
  void GiveUpLate();
  // Orders other nodes to copy the map outputs that only drained nodes have.
  void MoveOutputs();
  // Begins the maintenance of these nodes, or sets its end anew. Returns kInvalid, with the number of blocks, if blocks
  // would be on these nodes only, or as NodeTable::CheckMaintenance does, and kBusy while it is not known what they
  // have; `force` begins it all the same, and these blocks are then copied from there. Requires: `maintenance.until` is
  // at most kLongestMaintenance ahead.
  Status Maintain(const std::vector<NodeId>& nodes, const Maintenance& maintenance, bool force, Step* step);
  // Ends the maintenance of these nodes; of those that are in none, nothing changes. Returns kNotFound if a node is
  // unknown.
  Status EndMaintenance(const std::vector<NodeId>& nodes, Step* step);
  // Ends each maintenance whose time is over. A node that is not back is then lost as any other.
  void EndMaintenance();
  // Notes a sign of life from the node. Returns false if the session is not the node's current one.
  bool Heard(NodeId node, std::uint64_t epoch);
  // Notes a worker's report about its disks, and logs when they become full and when they have room again. `no_room`
  // says that attempts cannot start there.
  void NoteSpace(NodeId node, const WorkerSpace& space, bool no_room = false);
  // Notes that the worker's trash is not empty, before its next heartbeat reports the amount.
  void NoteTrash(NodeId node);
  // Returns the milliseconds since the node's last sign of life, or since its loss if it was lost before this master
  // started.
  [[nodiscard]] std::uint64_t MillisSilent(const NodeRecord& node) const;
  // Notes that the session's connection is gone. The node is given up once nobody listens at its port (its process is
  // gone), or disconnect_grace is over.
  void SessionDropped(NodeId node, std::uint64_t epoch);
  // Removes lost workers from the table for good, all or none; one that comes back is a new node. Returns kNotFound if
  // a node is unknown, and kBusy if one is alive, or may still be on its way after a start of the master. Without
  // `force`, returns kInvalid if a node may bring back blocks that are missing or have too few replicas.
  Status ForgetNodes(const std::set<NodeId>& nodes, bool force, Step* step);
  // Notes the worker's report that its storage is gone: the worker is lost now.
  void Leave(NodeId node, std::uint64_t epoch, const std::string& reason);

  // ---- whether a node may go ----
  // Returns the master's knowledge of the node; its writes, tasks and outputs only if it drains. The result of
  // ClearanceOf may be shown to clients once every step finished so far is on disk (Steps::Kept), since a restarted
  // master might know otherwise.
  [[nodiscard]] NodeStand StandOf(const NodeRecord& node) const;
  // The blocks that a lost node takes with it.
  struct Loss {
    std::uint64_t blocks = 0;
    bool known = false;  // the blocks were seen on the node; otherwise it may have all blocks that are missing
  };
  [[nodiscard]] Loss LossOf(NodeId node) const;

  // ---- waiting for workers after a start ----
  // Returns true while replicas or room may be missing only because a worker has not come back or not reported yet.
  // That is possible during the grace after a start, as long as there is such a worker, or no worker at all.
  [[nodiscard]] bool AwaitingReports() const;
  // Returns a line with the awaited workers, the time for which they have been awaited, and the most time for which
  // they still will be; empty unless AwaitingReports returns true.
  [[nodiscard]] std::string AwaitedLine() const;
  // Returns true if this node is awaited, that is, if it is not here and has not announced that it leaves, or has not
  // listed its blocks.
  [[nodiscard]] bool Awaits(const NodeRecord& node) const;
  // Makes a call wait that needs more reports; the call is tried again after each one. Resolves at the next report of a
  // worker, at the latest when the grace is over. Rejects with kBusy and AwaitedLine once kReportPatience has passed
  // since the call came, at `since`. A client waits far longer for an answer, so its user learns the reason.
  static constexpr kj::Duration kReportPatience = 2 * kj::SECONDS;
  [[nodiscard]] kj::Promise<void> NextReport(kj::TimePoint since);
  void Reported(NodeId node);
  // Logs if the worker's latest list of blocks names some that no file has.
  void TellUnknown(NodeId node);

 private:
  // Tries the worker's port until nobody listens there, and then gives the worker up.
  [[nodiscard]] kj::Promise<void> AskAfter(NodeId node, std::uint64_t epoch);
  void Lose(NodeId node);
  void TellLeaving(const NodeRecord& node) const;
  // Returns the workers of other storages at this address. An address belongs to one worker.
  [[nodiscard]] std::vector<NodeId> OthersAt(const WorkerFacts& facts) const;
  void LoseOthersAt(const WorkerFacts& facts);
  // Returns the error for a worker that is refused because the holder of its storage or address answers.
  [[nodiscard]] static Status Occupied(const WorkerFacts& facts, const NodeRecord& holder);
  // `silent`: holders that were asked and did not answer, with their sessions.
  [[nodiscard]] kj::Promise<void> AwaitVacancyBut(const WorkerFacts& facts, std::map<NodeId, std::uint64_t> silent);
  [[nodiscard]] Status CheckForget(NodeId node, bool force) const;

  const WorkersParts master_;
  WorkerSessions sessions_;
  std::list<kj::Own<kj::PromiseFulfiller<void>>> report_waiters_;
};

}  // namespace millrace::master
