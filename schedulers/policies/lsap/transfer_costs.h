// SPDX-License-Identifier: Apache-2.0
// TransferCosts: the cost of a map in each of the idle slots, as the costs of an Assignment's row (Guo et al., formula
// 1).
//
// The cost is 0 on a node with a replica, else the time to transfer the input there: bytes / max over replicas of
// BW(replica, node). BW is the bandwidth measured between the two nodes, else between their racks, else between their
// datacenters, else the one configured for their distance, divided by the free slots of the node. With `uniform`, the
// cost is one constant for every node without a replica. Costs are rounded down by at most 1/16, since the solver is
// faster with fewer different costs.
//
// Each pair has exactly the cost of CostByFormula (reference.h), which computes pairs one by one.
//
// A row gets one cost for each place whose cost differs from that of the place above it. Where a place is dearer than
// the place above it, or must not be used, the place above gets no cost; each place beside the dearer one gets a cost
// instead.
//
// Thread rule: one thread; made for one assignment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/lsap/assignment.h"
#include "schedulers/policies/lsap/idle_slots.h"

namespace millrace::sched {

class TransferCosts {
 public:
  // The cost of one second of transfer, and of 1 of fairness cost.
  static constexpr double kUnit = 10'000;

  struct Options {
    bool uniform = false;  // one second for every transfer
    LevelBandwidths configured;
    // True: use the bandwidths measured to places that have no replica of the row. False: the distance alone decides
    // the cost at such places.
    bool far_pairs = true;
  };
  struct Row {
    const MapInput* input = nullptr;
    Locality worst = Locality::kOff;  // the farthest locality allowed
    double weight = 1;                // factor of the transfer's cost
    double fixed = 0;                 // added cost in any slot, in units of kUnit
    std::vector<NodeId> closed = {};  // nodes where it must not run; few
  };

  TransferCosts(const ClusterState& state, const IdleSlots& slots, Options options);

  // Returns the costs of the row; empty if it can run nowhere. The result is valid until the next call.
  [[nodiscard]] std::span<const Assignment::PlaceCost> Of(const Row& row);

  // Returns the cost on any node with a replica; no slot costs less.
  [[nodiscard]] static Assignment::Cost Fixed(double fixed);
  // Returns the cost rounded to five significant bits, between 1 and kMaxCost.
  [[nodiscard]] static Assignment::Cost Round(double cost);

 private:
  // A place, in any tree, whose cost differs from that of the place above.
  struct Special {
    PlaceLevel level;
    std::uint32_t id;
    double bandwidth;  // 0: closed; infinite: the input is there
    Locality locality;
  };
  struct Mark {  // of a place
    std::uint32_t round = 0;
    bool special = false;
    bool opened = false;  // a place below it is dearer
    Locality locality = Locality::kOff;
    Assignment::Cost cost = 0;
  };

  void CollectSpecials(const Row& row);
  void CollectDatacenters(bool partners);
  void CollectRacks(bool partners);
  void CollectNodes(bool partners);
  // These do nothing if the place has been added for this row; AddNode also does nothing if the node has no free slot.
  void AddDatacenter(std::uint32_t datacenter);
  void AddRack(std::uint32_t rack);
  void AddNode(NodeId node);
  [[nodiscard]] Locality LocalityOf(PlaceLevel level, std::uint32_t id) const;
  [[nodiscard]] Location RackLocation(std::uint32_t rack) const;
  [[nodiscard]] double BandwidthTo(PlaceLevel level, std::uint32_t id) const;
  [[nodiscard]] double Between(NodeId replica, PlaceLevel level, std::uint32_t id) const;
  [[nodiscard]] Assignment::Cost CostOf(const Row& row, double bandwidth, std::uint32_t free_slots) const;
  void MarkTree(const Row& row, std::size_t tree);
  void OpenAbove(Assignment::Place place);
  // Returns the nearest place above that has a cost of its own.
  [[nodiscard]] Assignment::Place SourceAbove(Assignment::Place place);
  Mark& MarkOf(Assignment::Place place);
  void Emit(const Row& row, Assignment::Place place, Assignment::Cost cost, Locality locality);

  const ClusterState& state_;
  const IdleSlots& slots_;
  const Options options_;
  std::vector<std::uint32_t> datacenter_of_;  // by rack, of racks with a free slot; used with far_pairs
  std::vector<NodeId> replicas_;              // replicas on live nodes
  std::vector<Special> specials_;
  std::vector<std::uint32_t> node_round_, rack_round_,
      datacenter_round_;  // by place, or id: its last round as a special
  std::vector<Assignment::Place> marked_;
  std::vector<Mark> marks_;  // by place
  std::uint32_t round_ = 0;
  std::vector<Assignment::PlaceCost> costs_;
};

}  // namespace millrace::sched
