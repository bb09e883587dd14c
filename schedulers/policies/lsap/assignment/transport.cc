#include "schedulers/policies/lsap/assignment/transport.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "schedulers/cluster/check.h"

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

bool Transport::Settle(Vertex vertex) {
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
    if (!Settle(vertex)) continue;
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
    if (!Settle(vertex)) continue;
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

// As much as fits, along path_ in any order.
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

}  // namespace millrace::sched
