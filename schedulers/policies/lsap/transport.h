// SPDX-License-Identifier: Apache-2.0
// Transport: ships goods from sources to sinks along arcs that carry any amount, at the least total cost.
//
// This is a minimum-cost flow on a network without capacities, the form of assignment problems with hubs
// (assignment.h). The algorithm is primal-dual. In each round one shortest-path search back from the sinks gives every
// source a path of reduced cost 0, and Dinic's algorithm ships along all such paths at once. When little supply is
// left, it is shipped along shortest augmenting paths, one source at a time (as in Jonker-Volgenant). With few levels
// of costs there are few rounds, each linear in the number of arcs. All arithmetic is on integers, so the answer is
// optimal and the same on every machine.
//
// Thread rule: one thread. Used once: build it, call Solve(), then read Flow().
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace millrace::sched {

class Transport {
 public:
  using Vertex = std::uint32_t;
  using Cost = std::int64_t;

  explicit Transport(std::uint32_t vertices);

  // A vertex has a supply, or room to receive units, or neither. Solve ships all supply.
  void SetSupply(Vertex vertex, std::uint32_t units) { supply_[vertex] = units; }
  void SetRoom(Vertex vertex, std::uint32_t units) { room_[vertex] = units; }
  // Returns the arc's number, from 0. Among equally good shipments, those along arcs added earlier are preferred,
  // without a guarantee. Requires: cost >= 0, and the costs on any path add up to less than 2^60.
  std::uint32_t AddArc(Vertex from, Vertex to, Cost cost);
  void ReserveArcs(std::size_t count) { added_.reserve(count); }

  // Ships all supplies. Aborts if a source cannot ship all of its supply.
  void Solve();
  // Returns the units that go along the arc.
  [[nodiscard]] std::uint32_t Flow(std::uint32_t arc) const { return flow_[position_[arc]]; }

 private:
  struct Added {
    Vertex from;
    Vertex to;
    Cost cost;
  };
  struct Link {  // an arc, seen from one of its ends
    Vertex other;
    std::uint32_t arc;  // position in out_
    Cost cost;
  };
  struct Step {  // along an arc, or back along an arc that carries units
    std::uint32_t arc;
    Vertex from;
    bool back;
  };
  struct Edge {  // a step that leads from one vertex to another now
    Vertex to;
    Step step;
    bool usable;  // residual, and of reduced cost 0
  };
  // Vertices by distance. Those at the distance reached last are kept in a stack, since with few cost levels nearly all
  // vertices have that distance.
  class Frontier {
   public:
    void Clear(Cost at);
    void Push(Cost distance, Vertex vertex);
    [[nodiscard]] bool Pop(Cost* distance, Vertex* vertex);

   private:
    Cost at_ = 0;
    std::vector<Vertex> here_;
    std::vector<std::pair<Cost, Vertex>> farther_;  // a heap
  };

  void IndexArcs();
  [[nodiscard]] Cost Reduced(Vertex from, Vertex to, Cost cost) const {
    return cost + potential_[from] - potential_[to];
  }
  std::uint64_t DropShippedSources();  // returns the units left to ship
  // Gives every source a path of reduced cost 0 to a vertex with room.
  void OpenPaths();
  // Ships along paths of reduced cost 0 until there are none. Returns the units shipped.
  std::uint64_t ShipAlongOpenPaths();
  bool FindLevels();
  [[nodiscard]] Edge EdgeAt(Vertex vertex, std::uint32_t number) const;
  std::uint64_t ShipFrom(Vertex source);
  bool Advance();
  // Finds a shortest path from the source and ships along it.
  void ShipByShortestPath(Vertex source);
  Vertex SearchFrom(Vertex source);
  std::uint32_t Ship(Vertex source, Vertex sink);

  void ClearSearch();
  bool Reach(Vertex vertex, Cost distance);       // returns true if the distance is shorter than before
  [[nodiscard]] bool MarkSettled(Vertex vertex);  // returns false if it was settled before

  std::vector<std::uint32_t> supply_;
  std::vector<std::uint32_t> room_;
  std::vector<Added> added_;
  std::vector<std::uint32_t> position_;  // of added arcs, in out_
  std::vector<std::uint32_t> out_begin_, in_begin_;
  std::vector<Link> out_, in_;
  std::vector<std::uint32_t> flow_;  // by position
  std::vector<Cost> potential_;
  std::vector<Vertex> sources_;  // sources with units left, in rising order

  // The state of a search.
  static constexpr std::uint32_t kFar = 0xffffffff;
  std::vector<Cost> distance_;
  std::vector<std::uint32_t> mark_;  // by vertex: 2 * round when reached, + 1 when settled
  std::uint32_t round_ = 0;
  std::vector<Vertex> settled_;
  std::vector<Step> parent_;
  Frontier frontier_;
  // The state of Dinic's algorithm.
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> next_;  // by vertex: the edge to try next
  std::vector<Vertex> queue_;
  std::vector<Step> path_;
  Vertex tip_ = 0;
};

}  // namespace millrace::sched
