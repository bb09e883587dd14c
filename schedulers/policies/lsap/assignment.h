// SPDX-License-Identifier: Apache-2.0
// Assignment: assigns tasks to slots, as many as possible, at the least total cost. This is the linear sum assignment
// problem of Guo et al., section 3.2, with the slots of one node and the tasks of one kind taken together.
//
// Places form trees: clusters, datacenters, racks, nodes. Any place may have slots, but usually only nodes do. A row is
// a number of tasks that are alike. It has costs at places, and the cost of one of its tasks in a slot is the least of
// the row's costs at the slot's place and at the places above that place. So a map with three replicas needs 0 at three
// nodes and one cost each at their racks, their datacenters and the whole cluster. A pair whose cost is higher than
// that of its rack is expressed by costs at all nodes of the rack instead of one at the rack. Where a row has no cost,
// its tasks cannot run.
//
// A task or slot that is left over costs nothing, like the dummies of the paper. The cost of the plan is exactly that
// of LeastDenseCost (reference.h). The solver uses only integers, so that the same problem has the same answer
// everywhere. Among equally good answers it tends to prefer the lowest rows and places.
//
// 2,900 slots and tasks with levels take some 4 ms, 10,000 slots and 100,000 tasks some 30 ms (tests/bench). Thread
// rule: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::sched {

class Assignment {
 public:
  using Place = std::uint32_t;
  using Row = std::uint32_t;
  using Cost = std::int64_t;
  static constexpr Place kNoPlace = 0xffffffff;
  static constexpr Cost kMaxCost = Cost{1} << 31;
  static constexpr std::uint32_t kMaxUnits = 1u << 24;  // total tasks, and total slots

  struct PlaceCost {
    Place place = 0;
    Cost cost = 0;
  };
  // A number of tasks of the row that run at the place.
  struct Share {
    Row row = 0;
    Place place = 0;
    std::uint32_t tasks = 0;
    bool operator==(const Share&) const = default;
  };
  struct Plan {
    std::vector<Share> shares;  // by row, then place; no two of the same
    Cost cost = 0;
    std::uint32_t tasks = 0;  // the number of assigned tasks in all
  };

  // Adds a place and returns its number, from 0. Requires: the place above was added before.
  Place AddPlace(Place above, std::uint32_t slots);
  // Adds a row and returns its number, from 0. Costs are from 0 to kMaxCost, in any order; of several costs at one
  // place the least counts.
  Row AddRow(std::uint32_t tasks, std::span<const PlaceCost> costs);

  [[nodiscard]] Plan Solve() const;

 private:
  struct PlaceInfo {
    Place above;
    std::uint32_t slots;
    Row last_row;             // the last row with a cost here
    std::uint32_t last_cost;  // index of that cost in costs_
  };
  struct RowCost {
    Row row;
    Place place;
    Cost cost;
  };

  class Network;

  std::vector<PlaceInfo> places_;
  std::vector<std::uint32_t> tasks_;  // by row
  std::vector<RowCost> costs_;        // by row
  std::uint32_t roots_ = 0;
  std::uint64_t slots_ = 0;
  std::uint64_t all_tasks_ = 0;
  Cost max_cost_ = 0;
  bool anywhere_ = true;  // every row has a cost at every root, so every task can run everywhere
};

}  // namespace millrace::sched
