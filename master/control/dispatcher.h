// SPDX-License-Identifier: Apache-2.0
// Dispatcher sends orders to workers, as calls of the capability that each handed over when it registered. A call that
// fails because the connection broke counts against nobody; the worker's next registration settles its effect. A call
// that the worker refuses fails its attempt. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/log.h"
#include "base/protocol/worker.capnp.h"
#include "dfs/name/block_manager.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/announcements.h"
#include "master/control/block_tokens.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

class Dispatcher {
 public:
  using Refused = std::function<void(NodeId node, const AttemptId& attempt, const std::string& reason)>;
  using OutputCopied = std::function<void(const OutputCopyOrder& copy, const Status& status)>;
  // `refused` gets the attempts that workers refuse, `output_copied` the outcome of each copy of an output; both after
  // Send has returned. Requires: all other arguments and this outlive `tasks`.
  Dispatcher(kj::Timer& timer, const FileSystem& files, const NodeTable& nodes, const JobTracker& jobs,
             const BlockTokens& tokens, kj::TaskSet& tasks, Refused refused, OutputCopied output_copied, Log log);

  void Connect(NodeId node, worker::wire::WorkerControl::Client control);
  void Disconnect(NodeId node);
  // Returns the node's capability; none while it is not connected.
  [[nodiscard]] kj::Maybe<worker::wire::WorkerControl::Client> Find(NodeId node);

  // Sends the step's orders: first kills, since they make room, and then the orders to forget jobs, to launch attempts,
  // to let reduces compute and to copy map outputs, and the places of map outputs.
  void Send(const Step& step);
  void Send(const dfs::BlockWork& work);
  // Tells those of the nodes that check tokens that a writer without a token may write the block as `token` allows.
  // Resolves when they know, or after a few seconds; never rejects.
  [[nodiscard]] kj::Promise<void> AllowWrite(const std::vector<NodeId>& nodes, dfs::BlockId block,
                                             const std::string& token);
  // Resolves to true if the node answers within `limit`, otherwise to false; at once to false if it is not connected.
  // Never rejects.
  [[nodiscard]] kj::Promise<bool> Answers(NodeId node, kj::Duration limit);
  // Asks the node to read the replica. The node reports what it finds before it answers. Never rejects; the state is
  // kUnreachable if there is no answer.
  [[nodiscard]] kj::Promise<dfs::wire::ReplicaState> Verify(NodeId node, dfs::BlockId block);
  // Does what Verify does, but nobody waits for the answer.
  void VerifyLater(NodeId node, dfs::BlockId block) { tasks_.add(Verify(node, block).ignoreResult()); }

 private:
  void Copy(const dfs::ReplicateWork& copy);
  void Remove(const dfs::DeleteWork& removal, bool unknown);
  struct Peer {
    worker::wire::WorkerControl::Client control;
    std::set<JobId> set_up;
  };
  void SetUp(NodeId node, Peer& peer, const JobRecord& record);
  void Launch(const LaunchOrder& order);
  void Grant(const ComputeOrder& order);
  void CopyOutput(const OutputCopyOrder& order);
  void Tell(const OutputsOrder& order);
  void Detach(const std::string& what, NodeId node, kj::Promise<void> call);

  kj::Timer& timer_;
  const FileSystem& files_;
  const NodeTable& nodes_;
  const JobTracker& jobs_;
  const BlockTokens& tokens_;
  kj::TaskSet& tasks_;
  Refused refused_;
  OutputCopied output_copied_;
  Log log_;
  std::map<NodeId, Peer> peers_;
  Announcements announcements_;
};

}  // namespace millrace::master
