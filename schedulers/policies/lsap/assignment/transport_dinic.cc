// Dinic's algorithm on the arcs of reduced cost 0.
#include "schedulers/policies/lsap/assignment/transport.h"

namespace millrace::sched {

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

// One step on from tip_, or back from a dead end; false when there is nothing left of the path.
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
