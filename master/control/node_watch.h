// SPDX-License-Identifier: Apache-2.0
// NodeWatch finds nodes that ail (master/cluster/node_judge.h) and keeps work from them. Workers report with their
// heartbeats how long their syncs take and which workers they cannot reach. The answers name the workers to look at
// next: all of them in turn, but at once those that some worker cannot reach, so that others confirm or refute its
// report.
//
// An ailing node takes no tasks (NodeDrained events in the journal), and no blocks that others can take. Nobody can
// fetch from a node that is out of reach, so its running attempts and its map outputs are given up and their tasks run
// elsewhere. The replicas on an ailing node still count, and nothing is deleted because it ails. Thread rule: the
// control thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/log.h"
#include "dfs/name/block_manager.h"
#include "master/cluster/node_judge.h"
#include "master/cluster/node_table.h"
#include "master/control/master_clock.h"
#include "master/control/steps.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// A worker that another one could not reach at its last look, or to which a transfer could not connect.
struct UnreachedPeer {
  std::string host;
  std::uint16_t port = 0;
  std::uint32_t failures = 0;  // failed looks in a row; 0: no look yet
};

// These make the blocks, or the blocks and the tasks, of a node follow its record: whether it drains, leaves, ails or
// is in maintenance.
void FollowDraining(const NodeRecord& node, dfs::BlockManager& blocks);
void FollowDraining(const NodeRecord& node, dfs::BlockManager& blocks, JobTracker& jobs, Step* step);

class NodeWatch {
 public:
  static constexpr std::size_t kMostLooks = 8;         // by one worker after one heartbeat
  static constexpr std::uint32_t kLeastFailures = 2;   // failed looks in a row that make an accusation
  static constexpr Micros kDoubtedFor = 10 * kSecond;  // how long others look at a node that a writer failed to reach

  // With `avoid` (master.avoid_ailing), work is kept from nodes that ail. Requires: the other arguments outlive this.
  NodeWatch(bool avoid, const MasterClock& clock, dfs::BlockManager& blocks, NodeTable& nodes, JobTracker& jobs,
            Steps& steps, Log log)
      : avoid_(avoid),
        clock_(clock),
        blocks_(blocks),
        nodes_(nodes),
        jobs_(jobs),
        steps_(steps),
        log_(std::move(log)) {}

  // Takes in the reports of a worker's heartbeat.
  void Heard(NodeId node, const std::vector<DiskPace>& disks, const std::vector<UnreachedPeer>& unreached);
  // Notes that a writer could not reach the node, so that workers look at it.
  void Doubt(NodeId node);
  // Forgets the reports of a worker that is lost or has restarted.
  void Forget(NodeId node);
  // Returns the live workers that this worker is to look at now, at most kMostLooks. O(live nodes + those not reached)
  [[nodiscard]] std::vector<NodeId> ToLookAt(NodeId asker);
  // Finds the nodes that ail now and keeps work from them, and gives work to those that are well again. Requires: Judge
  // is called now and then, while changes can be written.
  void Judge();

 private:
  struct Said {
    DiskPace pace;
    std::map<NodeId, std::uint32_t> unreached;  // with the failures in a row
  };
  [[nodiscard]] std::vector<NodeSigns> Signs() const;
  void Follow(NodeRecord& node, const Diagnosis* diagnosis);
  [[nodiscard]] std::optional<NodeId> At(const UnreachedPeer& peer) const;  // nothing if no live node has this address

  const bool avoid_;
  const MasterClock& clock_;
  dfs::BlockManager& blocks_;
  NodeTable& nodes_;
  JobTracker& jobs_;
  Steps& steps_;
  const Log log_;
  NodeJudge judge_;
  std::map<NodeId, Said> said_;       // by live workers
  std::map<NodeId, Micros> doubted_;  // when a writer last failed to reach the node
  // The nodes that a worker looked at last.
  struct Turn {
    NodeId own, doubted;
  };
  std::map<NodeId, Turn> turns_;  // by worker
};

}  // namespace millrace::master
