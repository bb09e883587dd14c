// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/transport.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "schedulers/events/check.h"

namespace millrace::sched {
namespace {

// With so little left, or so little gained by the last round, paths one by one are cheaper than another round.
constexpr std::uint64_t kFewUnits = 8;
constexpr std::uint64_t kPoorGain = 64;  // less than one in so many of the units left

}  // namespace

Transport::Transport(std::uint32_t vertices)
    : supply_(vertices),
      room_(vertices),
      potential_(vertices),
      distance_(vertices),
      mark_(vertices),
      level_(vertices, kFar),
      next_(vertices) {}

std::uint32_t Transport::AddArc(Vertex from, Vertex to, Cost cost) {
  SCHED_CHECK(cost >= 0, std::to_string(cost));
  added_.push_back({from, to, cost});
  return static_cast<std::uint32_t>(added_.size() - 1);
}

void Transport::IndexArcs() {
  const std::size_t vertices = supply_.size();
  out_begin_.assign(vertices + 1, 0);
  in_begin_.assign(vertices + 1, 0);
  for (const Added& arc : added_) {
    ++out_begin_[arc.from + 1];
    ++in_begin_[arc.to + 1];
  }
  for (std::size_t v = 0; v < vertices; ++v) {
    out_begin_[v + 1] += out_begin_[v];
    in_begin_[v + 1] += in_begin_[v];
  }
  out_.resize(added_.size());
  in_.resize(added_.size());
  position_.resize(added_.size());
  flow_.assign(added_.size(), 0);
  std::vector<std::uint32_t> out_end(out_begin_.begin(), out_begin_.end() - 1);
  std::vector<std::uint32_t> in_end(in_begin_.begin(), in_begin_.end() - 1);
  for (std::size_t i = 0; i < added_.size(); ++i) {
    const Added& arc = added_[i];
    const std::uint32_t at = out_end[arc.from]++;
    position_[i] = at;
    out_[at] = {arc.to, at, arc.cost};
    in_[in_end[arc.to]++] = {arc.from, at, arc.cost};
  }
}

void Transport::Solve() {
  IndexArcs();
  for (Vertex v = 0; v < supply_.size(); ++v) {
    if (supply_[v] > 0) sources_.push_back(v);
  }
  std::uint64_t left = DropShippedSources();
  while (left > 0) {
    OpenPaths();
    const std::uint64_t shipped = ShipAlongOpenPaths();
    left = DropShippedSources();
    if (left <= kFewUnits || shipped * kPoorGain < left) break;
  }
  for (const Vertex source : sources_) {
    while (supply_[source] > 0) ShipByShortestPath(source);
  }
}

std::uint64_t Transport::DropShippedSources() {
  std::erase_if(sources_, [this](Vertex v) { return supply_[v] == 0; });
  std::uint64_t left = 0;
  for (const Vertex v : sources_) left += supply_[v];
  return left;
}

// --- Searches ---

void Transport::Frontier::Clear(Cost at) {
  at_ = at;
  here_.clear();
  farther_.clear();
}

void Transport::Frontier::Push(Cost distance, Vertex vertex) {
  if (distance == at_) {
    here_.push_back(vertex);
    return;
  }
  farther_.emplace_back(distance, vertex);
  std::push_heap(farther_.begin(), farther_.end(), std::greater<>());
}

bool Transport::Frontier::Pop(Cost* distance, Vertex* vertex) {
  if (here_.empty()) {
    if (farther_.empty()) return false;
    std::pop_heap(farther_.begin(), farther_.end(), std::greater<>());
    at_ = farther_.back().first;
    here_.push_back(farther_.back().second);
    farther_.pop_back();
  }
  *distance = at_;
  *vertex = here_.back();
  here_.pop_back();
  return true;
}

void Transport::ClearSearch() {
  SCHED_CHECK(round_ < kFar / 2 - 1, std::to_string(round_));
  ++round_;
  settled_.clear();
  frontier_.Clear(0);
}

bool Transport::Reach(Vertex vertex, Cost distance) {
  if (mark_[vertex] >= 2 * round_) {
    if (mark_[vertex] == 2 * round_ + 1 || distance_[vertex] <= distance) return false;
  } else {
    mark_[vertex] = 2 * round_;
  }
  distance_[vertex] = distance;
  frontier_.Push(distance, vertex);
  return true;
}

bool Transport::MarkSettled(Vertex vertex) {
  if (mark_[vertex] == 2 * round_ + 1) return false;
  mark_[vertex] = 2 * round_ + 1;
  settled_.push_back(vertex);
  return true;
}

// Vertices with room all have the same potential: they start with it, and no search goes on behind one. So each is at
// distance 0 here.
void Transport::OpenPaths() {
  ClearSearch();
  for (Vertex v = static_cast<Vertex>(room_.size()); v-- > 0;) {
    if (room_[v] > 0) Reach(v, 0);
  }
  std::size_t missing = sources_.size();
  Cost distance = 0;
  Vertex vertex = 0;
  while (missing > 0) {
    SCHED_CHECK(frontier_.Pop(&distance, &vertex), std::to_string(missing) + " sources without a way to a sink");
    if (!MarkSettled(vertex)) continue;
    if (supply_[vertex] > 0) --missing;
    for (std::uint32_t i = in_begin_[vertex]; i < in_begin_[vertex + 1]; ++i) {
      Reach(in_[i].other, distance + Reduced(in_[i].other, vertex, in_[i].cost));
    }
    for (std::uint32_t i = out_begin_[vertex]; i < out_begin_[vertex + 1]; ++i) {
      if (flow_[i] > 0) Reach(out_[i].other, distance);
    }
  }
  for (const Vertex v : settled_) potential_[v] += distance - distance_[v];
}

Transport::Vertex Transport::SearchFrom(Vertex source) {
  ClearSearch();
  parent_.resize(supply_.size());
  Reach(source, 0);
  Cost distance = 0;
  Vertex vertex = 0;
  for (;;) {
    SCHED_CHECK(frontier_.Pop(&distance, &vertex), "source " + std::to_string(source) + " has no way to a sink");
    if (!MarkSettled(vertex)) continue;
    if (room_[vertex] > 0) break;
    for (std::uint32_t i = out_begin_[vertex]; i < out_begin_[vertex + 1]; ++i) {
      const Vertex to = out_[i].other;
      if (Reach(to, distance + Reduced(vertex, to, out_[i].cost))) parent_[to] = {i, vertex, false};
    }
    for (std::uint32_t i = in_begin_[vertex]; i < in_begin_[vertex + 1]; ++i) {
      if (flow_[in_[i].arc] > 0 && Reach(in_[i].other, distance)) parent_[in_[i].other] = {in_[i].arc, vertex, true};
    }
  }
  for (const Vertex v : settled_) potential_[v] -= distance - distance_[v];
  return vertex;
}

void Transport::ShipByShortestPath(Vertex source) {
  const Vertex sink = SearchFrom(source);
  path_.clear();
  for (Vertex v = sink; v != source; v = path_.back().from) path_.push_back(parent_[v]);
  Ship(source, sink);
}

// It ships as much as fits, along path_ in any order.
std::uint32_t Transport::Ship(Vertex source, Vertex sink) {
  std::uint32_t units = std::min(supply_[source], room_[sink]);
  for (const Step& step : path_) {
    if (step.back) units = std::min(units, flow_[step.arc]);
  }
  for (const Step& step : path_) flow_[step.arc] += step.back ? -units : units;
  supply_[source] -= units;
  room_[sink] -= units;
  return units;
}

// --- Dinic's algorithm on the arcs of reduced cost 0 ---

std::uint64_t Transport::ShipAlongOpenPaths() {
  std::uint64_t shipped = 0;
  while (FindLevels()) {
    for (const Vertex source : sources_) shipped += ShipFrom(source);
  }
  return shipped;
}

bool Transport::FindLevels() {
  for (const Vertex v : queue_) level_[v] = kFar;
  queue_.clear();
  const auto enter = [this](Vertex v, std::uint32_t level) {
    if (level_[v] != kFar) return;
    level_[v] = level;
    next_[v] = 0;
    queue_.push_back(v);
  };
  for (const Vertex v : sources_) {
    if (supply_[v] > 0) enter(v, 0);
  }
  std::uint32_t last = kFar;
  for (std::size_t at = 0; at < queue_.size() && level_[queue_[at]] <= last; ++at) {
    const Vertex v = queue_[at];
    if (room_[v] > 0) last = level_[v];
    if (level_[v] >= last) continue;
    for (std::uint32_t i = out_begin_[v]; i < out_begin_[v + 1]; ++i) {
      if (Reduced(v, out_[i].other, out_[i].cost) == 0) enter(out_[i].other, level_[v] + 1);
    }
    for (std::uint32_t i = in_begin_[v]; i < in_begin_[v + 1]; ++i) {
      if (flow_[in_[i].arc] > 0) enter(in_[i].other, level_[v] + 1);
    }
  }
  return last != kFar;
}

Transport::Edge Transport::EdgeAt(Vertex vertex, std::uint32_t number) const {
  const std::uint32_t out = out_begin_[vertex] + number;
  if (out < out_begin_[vertex + 1]) {
    const Link& link = out_[out];
    return {link.other, {out, vertex, false}, Reduced(vertex, link.other, link.cost) == 0};
  }
  const Link& link = in_[in_begin_[vertex] + (out - out_begin_[vertex + 1])];
  return {link.other, {link.arc, vertex, true}, flow_[link.arc] > 0};
}

std::uint64_t Transport::ShipFrom(Vertex source) {
  std::uint64_t shipped = 0;
  while (supply_[source] > 0 && level_[source] == 0) {
    path_.clear();
    tip_ = source;
    while (room_[tip_] == 0) {
      if (!Advance()) return shipped;
    }
    shipped += Ship(source, tip_);
  }
  return shipped;
}

// It goes one step on from tip_, or back from a dead end. Returns false when there is nothing left of the path.
bool Transport::Advance() {
  const std::uint32_t edges = out_begin_[tip_ + 1] - out_begin_[tip_] + in_begin_[tip_ + 1] - in_begin_[tip_];
  for (std::uint32_t& i = next_[tip_]; i < edges; ++i) {
    const Edge edge = EdgeAt(tip_, i);
    if (!edge.usable || level_[edge.to] != level_[tip_] + 1) continue;
    path_.push_back(edge.step);
    tip_ = edge.to;
    return true;
  }
  level_[tip_] = kFar - 1;  // leads nowhere in this round; not kFar, which FindLevels takes for "not in the queue"
  if (path_.empty()) return false;
  tip_ = path_.back().from;
  ++next_[tip_];
  path_.pop_back();
  return true;
}

}  // namespace millrace::sched
