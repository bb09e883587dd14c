// SPDX-License-Identifier: Apache-2.0
// MapAssignment: assigns the pending maps to the idle map slots of a cluster, all at once, at the least total cost (Guo
// et al., section 3.2). Maps that are alike (same replicas, same size, same limits) are one row of the problem.
//
// Thread rule: one thread; made for one assignment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/lsap/assignment.h"
#include "schedulers/policies/lsap/idle_slots.h"
#include "schedulers/policies/lsap/local_match.h"
#include "schedulers/policies/lsap/transfer_costs.h"

namespace millrace::sched {

class MapAssignment {
 public:
  // A pending map.
  struct Task {
    JobId job;
    std::uint32_t map = 0;
    Locality worst = Locality::kOff;  // the farthest locality allowed
    double weight = 1;                // factor of the transfer's cost
    double fixed = 0;                 // added cost in any slot; in the same unit as seconds of transfer
  };
  struct Placed {
    std::size_t task = 0;  // its number, in the order of Add
    NodeId node;
  };
  struct Plan {
    std::vector<Placed> placed;  // by node, then task
  };

  // Uses the slots that are free now.
  MapAssignment(const ClusterState& state, TransferCosts::Options options);

  [[nodiscard]] std::uint32_t slots() const { return slots_.total(); }
  // Adds a task; tasks are numbered from 0. Among equal tasks the one that was added first is preferred.
  void Add(const Task& task);
  // Returns the plan at the least cost.
  [[nodiscard]] Plan Solve() const;
  // Returns the plan at the least cost if it can put every map on a node with its input; nothing if no such plan is
  // optimal. The call is cheap, since it computes no transfer costs. A map costs its fixed cost at its input, and more
  // elsewhere. So a plan of local maps is optimal exactly when it fills all slots or places all maps, and the maps that
  // it places have the lowest fixed costs of all.
  [[nodiscard]] std::optional<Plan> SolveLocally() const;

 private:
  struct Row {
    Task first;
    std::size_t begin = 0;  // number of its first task
    std::size_t last = 0;   // number of its last task
    std::uint32_t tasks = 1;
  };
  // Returns a hash that is equal for alike tasks.
  [[nodiscard]] std::uint64_t HashOf(const Task& task) const;
  [[nodiscard]] bool Alike(const Task& a, const Task& b) const;
  [[nodiscard]] const MapInput& InputOf(const Task& task) const;
  [[nodiscard]] std::vector<NodeId> ClosedTo(const Task& task) const;
  // The places where the maps of each row have their input and a free slot.
  struct LocalRows {
    struct RowPlaces {
      Assignment::Cost fixed;
      std::uint32_t row;         // into rows_
      std::uint32_t begin, end;  // into places
    };
    std::vector<RowPlaces> rows;
    std::vector<Assignment::Place> places;
    [[nodiscard]] std::span<const Assignment::Place> PlacesOf(const RowPlaces& entry) const {
      return std::span(places).subspan(entry.begin, entry.end - entry.begin);
    }
  };
  [[nodiscard]] LocalRows RowsAtData() const;
  // Gives slots to `wanted` tasks, those of the lowest fixed costs (rows are in rising order of fixed cost). All tasks
  // of each cost get slots, except that of the highest cost only as many do as are left to place. Returns false if that
  // is impossible.
  bool MatchCheapest(const LocalRows& local, std::uint64_t wanted, LocalMatch* match) const;
  // Returns the costs of the row in all idle slots; valid until the next call.
  [[nodiscard]] std::span<const Assignment::PlaceCost> CostsOf(const Row& row, TransferCosts* costs) const;
  // Returns a limit on fixed costs: no plan at the least cost runs a map whose fixed cost is above it. Keeps the costs
  // that the call computes in *known, by row.
  using RowCosts = std::vector<Assignment::PlaceCost>;
  Assignment::Cost HighestFixed(TransferCosts* costs, std::vector<RowCosts>* known) const;
  [[nodiscard]] Plan PlanOf(const std::vector<Assignment::Share>& shares) const;
  [[nodiscard]] bool Constrained(const Task& task) const;

  const ClusterState& state_;
  const TransferCosts::Options options_;
  Assignment places_;  // without rows
  const IdleSlots slots_;
  std::vector<Row> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of_hash_;  // the row added last; looked up, not walked
  std::vector<std::size_t> next_;                                 // by task: the next task of its row
};

}  // namespace millrace::sched
