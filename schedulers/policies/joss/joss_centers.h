// JossCenters: the datacenters as JoSS sees them: which nodes of each live, and which take tasks. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "schedulers/core/cluster_state.h"
#include "schedulers/policies/joss/joss_placing.h"
#include "schedulers/policies/joss/joss_queues.h"

namespace millrace::sched {

class JossCenters {
 public:
  // Nodes came or went. O(nodes).
  void Rebuild(const ClusterState& state);

  [[nodiscard]] CenterId size() const { return static_cast<CenterId>(centers_.size()); }  // all are below
  // Datacenters with a node that lives.
  [[nodiscard]] std::uint32_t live() const { return live_; }
  // Nodes that have slots of the kind and take tasks.
  [[nodiscard]] const OrderedBits& OpenNodes(TaskKind kind, CenterId center) const {
    return centers_[center].open[kind];
  }
  [[nodiscard]] bool IsOpen(TaskKind kind, CenterId center) const { return !OpenNodes(kind, center).empty(); }

  // Tasks that wait for the datacenter or run in it.
  [[nodiscard]] std::uint64_t Unprocessed(const ClusterState& state, const JossQueues& queues, CenterId center) const;
  // The one with the fewest unprocessed tasks of those that take tasks of all `kinds`; of all that live if none does;
  // the lowest number of several. One lives. O(nodes).
  [[nodiscard]] CenterId LeastLoaded(const ClusterState& state, const JossQueues& queues,
                                     std::initializer_list<TaskKind> kinds) const;

  // Datacenters that take maps and hold a replica on a node that lives, in rising order.
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
