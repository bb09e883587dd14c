// SPDX-License-Identifier: Apache-2.0
// JossCenters: the datacenters in JoSS's view: the live nodes of each, and those that take tasks. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/joss/joss_placing.h"
#include "schedulers/policies/joss/joss_queues.h"

namespace millrace::sched {

class JossCenters {
 public:
  // Reads the nodes again. Call this when nodes came or went. O(nodes).
  void Rebuild(const ClusterState& state);

  [[nodiscard]] CenterId size() const { return static_cast<CenterId>(centers_.size()); }  // all ids are below
  // Returns the number of live datacenters, which are those with a live node.
  [[nodiscard]] std::uint32_t live() const { return live_; }
  // Returns the nodes that have slots of the kind and take tasks.
  [[nodiscard]] const OrderedBits& OpenNodes(TaskKind kind, CenterId center) const {
    return centers_[center].open[kind];
  }
  [[nodiscard]] bool IsOpen(TaskKind kind, CenterId center) const { return !OpenNodes(kind, center).empty(); }

  // Return true if the node (MayRun), or a node of the datacenter that takes tasks (MayRunIn), may run the task: the
  // job does not refuse the node, the task does not avoid it, and the output of a map fits there. MayRunIn: O(nodes).
  [[nodiscard]] static bool MayRun(const ClusterState& state, const TaskId& task, NodeId node);
  [[nodiscard]] bool MayRunIn(const ClusterState& state, const TaskId& task, CenterId center) const;

  // Returns the number of tasks that wait for the datacenter or run in it.
  [[nodiscard]] std::uint64_t Unprocessed(const ClusterState& state, const JossQueues& queues, CenterId center) const;
  // Returns the datacenter with the fewest unprocessed tasks among those that take tasks of all `kinds`, or among the
  // live ones if none does; among equals, the one with the lowest number. O(nodes). Requires: at least one is live.
  [[nodiscard]] CenterId LeastLoaded(const ClusterState& state, const JossQueues& queues,
                                     std::initializer_list<TaskKind> kinds) const;

  // Returns the datacenters that take maps and hold a replica on a live node, in rising order.
  [[nodiscard]] std::vector<CenterId> Holders(const ClusterState& state, const MapInput& input) const;
  [[nodiscard]] bool Holds(const ClusterState& state, const MapInput& input, CenterId center) const;

 private:
  struct Center {
    OrderedBits alive;
    PerKind<OrderedBits> open;
  };
  std::vector<Center> centers_;
  std::uint32_t live_ = 0;
};

}  // namespace millrace::sched
