// Workers: the workers of the cluster as the control strand deals with them: they register, are heard, report their
// blocks, leave, are lost and in the end forgotten. Who is here is in worker_sessions.h; what a worker that comes or
// goes means for files and jobs is carried out here. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/moment.h"
#include "base/rpc/transport.h"
#include "base/status.h"
#include "master/cluster/clearance.h"
#include "master/cluster/node_table.h"
#include "master/control/dispatcher.h"
#include "master/control/node_watch.h"
#include "master/control/worker_sessions.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

class Control;

class Workers {
 public:
  // Requires: all outlive it. `dialer` reaches the workers' ports; without it workers are taken at their word.
  Workers(Control& control, Dispatcher& dispatcher, rpc::Dialer* dialer, kj::TaskSet& tasks)
      : control_(control), dispatcher_(dispatcher), dialer_(dialer), tasks_(tasks), watch_(control) {}

  // The master starts now: the workers that jobs knew of may come for startup_grace.
  void Start();
  // What time brings: workers that were silent for too long are lost.
  void LoseSilent();
  // Forgets the workers that were lost for master.forget_nodes_after, or that left as they had foretold, and notes of
  // the others when they were lost.
  void ForgetOld();
  // There is room on the disk again: workers that registered meanwhile do so anew, and what they have is settled.
  void SettleAgain() { sessions_.EndUnsettled(); }
  [[nodiscard]] bool InStartupGrace() const;

  // ---- registration ----
  struct Registration {
    NodeId node;
    std::uint64_t epoch = 0;
    JobTracker::Reconciled reconciled;
    bool older = false;                     // the worker was told of more than the database holds
    kj::Promise<void> committed = nullptr;  // the worker acts on the rest when this has resolved
  };
  // kInvalid, with both clusters named, for a worker that belongs to another cluster than this one.
  [[nodiscard]] Status CheckCluster(const std::string& host, const std::string& cluster) const;
  // kInvalid, with both releases named, for a worker that is too far from this master's release (base/release.h).
  [[nodiscard]] Status CheckRelease(const std::string& host, const Release& release) const;
  // Rejects with kUnavailable, and what to set, unless the worker's port takes a connection.
  [[nodiscard]] kj::Promise<void> DialBack(const WorkerFacts& facts);
  // kDenied for a worker that shows the certificate of another one (NodeTable::CheckCertificate).
  [[nodiscard]] Status CheckCertificate(const WorkerFacts& facts) const;
  // Makes a worker wait that registers with a storage whose session stands, or at an address where another one's does,
  // while that session's holder is asked for a sign of life. Rejects with kBusy, naming the holder, if the holder
  // answers. It does not wait for a holder whose connection broke. If a holder does not answer, it waits for a
  // heartbeat, two seconds at most.
  [[nodiscard]] kj::Promise<void> AwaitVacancy(const WorkerFacts& facts);
  // Registers the worker, and takes others for lost that were at its address. Requires: AwaitVacancy has just resolved.
  // `epoch` tells this session from earlier ones of the same worker: what those still say is ignored. While nothing can
  // be written the worker is known for its blocks alone: nothing is settled, and when there is room its session ends,
  // so that it registers again.
  // `told`: the last moment that the worker was told of.
  Result<Registration> Register(const WorkerFacts& facts, worker::wire::WorkerControl::Client control,
                                const Claims& claims, std::optional<Leaving> leaving, const Moment& told);
  // Takes in that the worker's machine will be taken away, or with nothing that it stays after all. A node that leaves
  // is drained, whoever asked for what, and what only it has is had elsewhere before anything else.
  void Foretell(NodeId node, std::optional<Leaving> leaving);
  // Drains the node as its record says, or takes it back into use.
  void FollowDraining(const NodeRecord& node, Step* step);
  [[nodiscard]] NodeWatch& watch() { return watch_; }
  // Lets attempts that will not have ended when their node leaves run elsewhere.
  void GiveUpLate();
  // Lets other nodes copy the map outputs that only drained nodes have.
  void MoveOutputs();
  // Notes that the node was heard. Returns false if the session is not the node's current one.
  bool Heard(NodeId node, std::uint64_t epoch);
  // Notes what a worker says of its disks, and tells the log when they are full and when they have room again.
  // `no_room` says that attempts cannot start there.
  void NoteSpace(NodeId node, const WorkerSpace& space, bool no_room = false);
  // Notes that the worker's trash is not empty, before its next heartbeat says how much is there.
  void NoteTrash(NodeId node);
  // Returns the time since the node was last heard; for one that was lost before this master started, since it was
  // lost.
  [[nodiscard]] std::uint64_t MillisSilent(const NodeRecord& node) const;
  // Notes that the session's connection is gone. The node is given up once nobody listens at its port any more (its
  // process is gone), or disconnect_grace is over.
  void SessionDropped(NodeId node, std::uint64_t epoch);
  // Removes lost workers from the table for good, all or none; one that comes back is a new node. kNotFound for an
  // unknown node; kBusy for one that is alive, or may still be on its way after a start of the master. Without `force`,
  // kInvalid for one that may be the way back to blocks that are missing or have too few replicas.
  Status ForgetNodes(const std::set<NodeId>& nodes, bool force, Step* step);
  // Notes that the worker says that its storage is gone: the worker is lost now.
  void Leave(NodeId node, std::uint64_t epoch, const std::string& reason);

  // ---- whether a node may go ----
  // Returns what the master knows of the node, without tasks and outputs if it does not drain. What ClearanceOf says of
  // it may be told once everything that was finished before is on disk (Control::Kept): a master that started anew
  // might know otherwise.
  [[nodiscard]] NodeStand StandOf(const NodeRecord& node) const;
  // What a lost node takes with it.
  struct Loss {
    std::uint64_t blocks = 0;
    bool known = false;  // the blocks were seen there; otherwise all blocks that are missing may be there
  };
  [[nodiscard]] Loss LossOf(NodeId node) const;

  // ---- waiting for workers after a start ----
  // Returns true while a missing replica or missing room may only be a worker that has not come back, or not reported,
  // yet: within the grace after a start, as long as there is such a worker, or none at all.
  [[nodiscard]] bool AwaitingReports() const;
  // Returns a line that says which workers are awaited, for how long by now and for how long at most; empty unless
  // AwaitingReports.
  [[nodiscard]] std::string AwaitedLine() const;
  // Returns true if this node is awaited: it is not here and has not said that it leaves, or has not listed its blocks.
  [[nodiscard]] bool Awaits(const NodeRecord& node) const;
  // Serves a call that needs more reports and is tried again with each: resolves at the next report of a worker, at the
  // latest when the grace is over. Rejects with kBusy and AwaitedLine when the call, which came at `since`, has waited
  // for kReportPatience: that is far less than a client's patience for an answer, so that its user hears why.
  static constexpr kj::Duration kReportPatience = 2 * kj::SECONDS;
  [[nodiscard]] kj::Promise<void> NextReport(kj::TimePoint since);
  void Reported(NodeId node);
  // Logs it if the list of blocks that the worker just gave names some that no file has.
  void TellUnknown(NodeId node);

 private:
  // Asks until nobody listens at the worker's port any more, and then gives the worker up.
  [[nodiscard]] kj::Promise<void> AskAfter(NodeId node, std::uint64_t epoch);
  void Lose(NodeId node);
  void DrainBlocks(const NodeRecord& node);
  void TellLeaving(const NodeRecord& node) const;
  // An address belongs to one worker: these have one of another storage there.
  [[nodiscard]] std::vector<NodeId> OthersAt(const WorkerFacts& facts) const;
  void LoseOthersAt(const WorkerFacts& facts);
  // Returns why the worker is refused while the holder of its storage or address answers.
  [[nodiscard]] static Status Occupied(const WorkerFacts& facts, const NodeRecord& holder);
  // `silent`: holders that were asked and did not answer, with their sessions.
  [[nodiscard]] kj::Promise<void> AwaitVacancyBut(const WorkerFacts& facts, std::map<NodeId, std::uint64_t> silent);
  [[nodiscard]] Status CheckForget(NodeId node, bool force) const;

  Control& control_;
  Dispatcher& dispatcher_;
  rpc::Dialer* const dialer_;
  kj::TaskSet& tasks_;
  WorkerSessions sessions_;
  NodeWatch watch_;
  Micros started_ = 0;  // as Control::Awake tells it
  std::list<kj::Own<kj::PromiseFulfiller<void>>> report_waiters_;
};

}  // namespace millrace::master
