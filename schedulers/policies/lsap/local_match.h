// SPDX-License-Identifier: Apache-2.0
// LocalMatch: gives as many maps as possible free slots on the nodes that hold their input.
//
// It is a maximum matching, built row by row. A map takes a free slot at one of its places. If there is none, one is
// freed by moving maps that have slots to other places of theirs (an augmenting path, the shortest first). A map with a
// slot keeps one, though maybe elsewhere. So among all sets of maps that can have slots at once, the result prefers the
// maps that were added first. With rows in rising order of cost, the result is also the cheapest of the largest sets,
// since such sets form a matroid, in which the greedy choice is the best one (Edmonds, "Matroids and the Greedy
// Algorithm", 1971). A map that finds no path finds none later either, nor does any search that reaches a place that a
// failed search has reached. So all failed searches together cost no more than one look at each place of each row.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedulers/policies/lsap/assignment.h"

namespace millrace::sched {

class LocalMatch {
 public:
  using Place = Assignment::Place;
  using Row = Assignment::Row;

  // `free` is the number of free slots by place.
  explicit LocalMatch(std::vector<std::uint32_t> free);

  // Gives slots to as many of the row's tasks as possible, at most `tasks`. Returns the number of tasks that got one.
  // Rows may be added in any order. Requires: each row is added once, and no place is twice in `places`.
  std::uint32_t Add(Row row, std::uint32_t tasks, std::span<const Place> places);
  // Returns the slots of each row at each place, by row, then in the order of its `places`.
  [[nodiscard]] std::vector<Assignment::Share> Shares() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Edge {  // a place that a row's tasks may have slots at
    Place place;
    std::uint32_t row;    // into rows_
    std::uint32_t tasks;  // the row's tasks with slots there
  };
  struct RowEdges {
    Row row;
    std::uint32_t begin;  // index of its first edge in edges_; they end at the next row's
  };
  struct Visit {  // the visit of a search to a place
    std::uint32_t search = 0;
    std::uint32_t edge = kNone;  // the edge by which the search came
    std::uint32_t held = kNone;  // the edge whose task at the place before would move here; kNone: the new task
  };

  std::uint32_t FillFree(std::uint32_t entry, std::uint32_t tasks);
  bool Augment(std::uint32_t entry);
  // Adds to the search the row's edges to places that it has not seen yet. Returns an edge whose place has a free slot.
  std::uint32_t Reach(std::uint32_t entry, std::uint32_t held);
  void Shift(std::uint32_t last);
  void Put(std::uint32_t edge);

  std::vector<std::uint32_t> free_;               // by place
  std::vector<std::vector<std::uint32_t>> held_;  // by place: edges that have, or had, tasks there
  std::vector<Visit> visits_;                     // by place
  std::vector<bool> closed_;                      // by place: no free slot can be reached from here any longer
  std::vector<Edge> edges_;
  std::vector<RowEdges> rows_;
  std::vector<Place> queue_;
  std::uint32_t search_ = 0;
};

}  // namespace millrace::sched
