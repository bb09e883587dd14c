// OutputMoves plans copies of the map outputs of running jobs whose nodes will leave: what is copied where, and how
// often that failed. Pure. Thread rule: the control thread.
//
// An output is copied whole, all partitions, to a node that stays. When that node serves it, the engine is told of the
// new place (sched::OutputMoved), and reduces fetch it from there: the attempt that made it stays the winner of its
// map. Until then the old place serves it. An output that cannot be copied is lost with its node, and its map runs
// again.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "master/jobs/orders.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {

// Returns the outputs on this node for reduces of live jobs, in order. O(outputs of the node)
[[nodiscard]] std::vector<AttemptId> OutputsOn(NodeId node, const sched::ClusterState& cluster);

class OutputMoves {
 public:
  static constexpr unsigned kMostTo = 2;        // under way at a time to one node: one is copied, the next one waits
  static constexpr unsigned kMostFailures = 4;  // then the output is left to its fate

  // Returns the copies to start now of outputs on the `leaving` nodes. Targets are nodes that take tasks and are not
  // leaving, first the one that was sent the fewest outputs.
  std::vector<OutputCopyOrder> Next(const sched::ClusterState& cluster, const std::set<NodeId>& leaving);
  // Notes that a copy has ended.
  void End(const OutputCopyOrder& copy, bool made);

 private:
  struct UnderWay {
    NodeId to, from;
  };
  void DropStale(const sched::ClusterState& cluster);
  [[nodiscard]] bool CanTake(const sched::NodeState& node, const std::set<NodeId>& leaving) const;

  std::map<AttemptId, UnderWay> under_way_;
  std::map<NodeId, unsigned> to_;            // how many of these go to each node
  std::map<NodeId, std::uint64_t> went_to_;  // copies to each node so far
  std::map<AttemptId, unsigned> failures_;   // of outputs of live jobs
};

}  // namespace millrace::master
