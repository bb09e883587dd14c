// LocalMatch: maps to free slots of the nodes that hold their input, as many as possible.
//
// It is a maximum matching, built row by row. A map takes a free slot at one of its places; if there is none, one is
// freed by moving maps that have slots to other places of theirs (an augmenting path, the shortest first). What has a
// slot keeps one, though maybe elsewhere, so of all sets of maps that can have slots at once this is the one that
// prefers what was added first; with rows in rising order of cost it is also the cheapest of the largest (such sets
// form a matroid, in which the greedy choice is the best one: Edmonds, "Matroids and the Greedy Algorithm", 1971). A
// map that finds no path finds none later either, nor does any search that comes by where this one was: all searches
// that fail cost together no more than one look at each place of each row. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedulers/policies/lsap/assignment/assignment.h"

namespace millrace::sched {

class LocalMatch {
 public:
  using Place = Assignment::Place;
  using Row = Assignment::Row;

  // `free` are the free slots by place.
  explicit LocalMatch(std::vector<std::uint32_t> free);

  // Gives slots to as many of the row's tasks as possible, at most `tasks`. Returns to how many. The rows may come in
  // any order. Requires: each row is added once, and no place is twice in `places`.
  std::uint32_t Add(Row row, std::uint32_t tasks, std::span<const Place> places);
  // Returns which rows have slots at which places, by row, then in the order of its `places`.
  [[nodiscard]] std::vector<Assignment::Share> Shares() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Edge {  // a place that a row's tasks may have slots at
    Place place;
    std::uint32_t row;    // into rows_
    std::uint32_t tasks;  // that have some
  };
  struct RowEdges {
    Row row;
    std::uint32_t begin;  // into edges_, up to the next row's
  };
  struct Visit {  // of a search, to a place
    std::uint32_t search = 0;
    std::uint32_t edge = kNone;  // by which it came
    std::uint32_t held = kNone;  // whose task, at the place before, would come here; none: the new one
  };

  std::uint32_t FillFree(std::uint32_t entry, std::uint32_t tasks);
  bool Augment(std::uint32_t entry);
  // The edges of the row to places that were not seen yet join the search; gives one whose place has a free slot.
  std::uint32_t Reach(std::uint32_t entry, std::uint32_t held);
  void Shift(std::uint32_t last);
  void Put(std::uint32_t edge);

  std::vector<std::uint32_t> free_;               // by place
  std::vector<std::vector<std::uint32_t>> held_;  // by place: edges with tasks there, and such as had some
  std::vector<Visit> visits_;                     // by place
  std::vector<bool> closed_;                      // by place: no free slot is reached from here any more
  std::vector<Edge> edges_;
  std::vector<RowEdges> rows_;
  std::vector<Place> queue_;
  std::uint32_t search_ = 0;
};

}  // namespace millrace::sched
