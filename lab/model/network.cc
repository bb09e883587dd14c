// SPDX-License-Identifier: Apache-2.0
#include "lab/model/network.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "base/check.h"

namespace millrace::sim {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kLongest = 9e18;  // in microseconds: a transfer that takes longer never ends
// If a new rate differs from the old one by less than this, only rounding has changed it, and the flow's end stays.
constexpr double kSame = 1e-12;
constexpr double kLeastWeight = 1e-12;  // a smaller weight is the result of rounding

}  // namespace

Network::Network(std::uint32_t exact_flows, Micros quantum_per_flow)
    : exact_flows_(exact_flows), quantum_per_flow_(quantum_per_flow) {}

LinkId Network::AddLink(double bytes_per_second) {
  MILLRACE_CHECK(bytes_per_second > 0 && std::isfinite(bytes_per_second), "a link without capacity");
  links_.emplace_back().capacity = bytes_per_second;
  return static_cast<LinkId>(links_.size() - 1);
}

FlowId Network::Start(Micros now, std::span<const LinkUse> uses, double bytes, std::uint64_t tag) {
  FlowId id = static_cast<FlowId>(flows_.size());
  if (unused_.empty()) {
    flows_.emplace_back();
    levels_.push_back(0);
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.uses.clear();
  for (const LinkUse& use : uses) flow.uses.push_back({use.link, use.weight, 0});
  flow.left = bytes;
  flow.rate = -1;  // it has no rate yet, so that the first one counts as a change
  flow.since = now;
  flow.tag = tag;
  flow.serial = serial_++;
  Attach(id);
  SetRate(id, uses.empty() || bytes <= 0 ? kInfinite : Provisional(flow), now);
  return id;
}

double Network::Stop(Micros now, FlowId id) {
  const double left = Left(now, id);
  Detach(id);
  return left;
}

double Network::Left(Micros now, FlowId id) const {
  Flow flow = {};
  flow.left = flows_[id].left, flow.rate = flows_[id].rate, flow.since = flows_[id].since;
  Settle(flow, now);
  return flow.left;
}

void Network::Attach(FlowId id) {
  Flow& flow = flows_[id];
  flow.active_place = static_cast<std::uint32_t>(active_.size());
  active_.push_back(id);
  for (std::uint32_t i = 0; i < flow.uses.size(); ++i) {
    Link& link = links_[flow.uses[i].link];
    if (link.flows.empty()) {
      link.weights = 0;
      link.busy_place = static_cast<std::uint32_t>(busy_.size());
      busy_.push_back(flow.uses[i].link);
    }
    flow.uses[i].place = static_cast<std::uint32_t>(link.flows.size());
    link.flows.emplace_back(id, i);
    link.weights += flow.uses[i].weight;
  }
  dirty_ = dirty_ || !flow.uses.empty();
}

void Network::Detach(FlowId id) {
  Flow& flow = flows_[id];
  for (const Use& use : flow.uses) {
    Link& link = links_[use.link];
    link.weights -= use.weight;
    link.flows[use.place] = link.flows.back();
    const auto [moved, which] = link.flows[use.place];
    flows_[moved].uses[which].place = use.place;
    link.flows.pop_back();
    if (!link.flows.empty()) continue;
    busy_[link.busy_place] = busy_.back();
    links_[busy_[link.busy_place]].busy_place = link.busy_place;
    busy_.pop_back();
  }
  dirty_ = dirty_ || !flow.uses.empty();
  active_[flow.active_place] = active_.back();
  flows_[active_[flow.active_place]].active_place = flow.active_place;
  active_.pop_back();
  ++flow.version;
  unused_.push_back(id);
}

void Network::Settle(Flow& flow, Micros now) const {
  if (now > flow.since) {
    const double carried = flow.rate * (static_cast<double>(now - flow.since) / kMicrosPerSecond);
    flow.left = std::max(0.0, flow.left - carried);
    flow.since = now;
  }
}

void Network::SetRate(FlowId id, double rate, Micros now) {
  Flow& flow = flows_[id];
  if (rate == flow.rate || (std::isfinite(rate) && std::abs(rate - flow.rate) <= kSame * rate)) return;
  Settle(flow, now);
  flow.rate = rate;
  const double micros = rate == kInfinite ? 0 : std::ceil(flow.left / rate * kMicrosPerSecond);
  flow.finish = micros < kLongest - static_cast<double>(now) ? now + static_cast<Micros>(micros)
                                                             : std::numeric_limits<Micros>::max();
  finishes_.push_back({flow.finish, flow.serial, id, ++flow.version});
  std::push_heap(finishes_.begin(), finishes_.end(), std::greater<>());
}

double Network::Provisional(const Flow& flow) const {
  double rate = kInfinite;
  for (const Use& use : flow.uses) {
    const Link& link = links_[use.link];
    rate = std::min(rate, link.capacity / std::max(link.weights, use.weight));
  }
  return rate;
}

bool Network::SolveDue(Micros now) const {
  return dirty_ && (active_.size() <= exact_flows_ ||
                    now >= solved_at_ + static_cast<Micros>(active_.size()) * quantum_per_flow_);
}

std::optional<Micros> Network::NextChange(Micros now) {
  if (SolveDue(now)) Solve(now);
  while (!finishes_.empty() && flows_[finishes_.front().flow].version != finishes_.front().version) PopFinish();
  if (finishes_.empty()) return std::nullopt;
  Micros next = finishes_.front().at;
  if (dirty_) next = std::min(next, solved_at_ + static_cast<Micros>(active_.size()) * quantum_per_flow_);
  return std::max(next, now);
}

void Network::PopFinish() {
  std::pop_heap(finishes_.begin(), finishes_.end(), std::greater<>());
  finishes_.pop_back();
}

void Network::Advance(Micros now, std::vector<std::uint64_t>* ended) {
  while (!finishes_.empty() && finishes_.front().at <= now) {
    const Finish finish = finishes_.front();
    PopFinish();
    if (flows_[finish.flow].version != finish.version) continue;
    ended->push_back(flows_[finish.flow].tag);
    Detach(finish.flow);
  }
}

// Solves the rates of all flows. The heap of ends is rebuilt, because most of its ends are out of date after that.
void Network::Solve(Micros now) {
  Fill();
  dirty_ = false;
  solved_at_ = now;
  for (const FlowId id : active_) {
    if (!flows_[id].uses.empty() && flows_[id].left > 0) SetRate(id, levels_[id], now);
  }
  finishes_.clear();
  for (const FlowId id : active_) finishes_.push_back({flows_[id].finish, flows_[id].serial, id, flows_[id].version});
  std::make_heap(finishes_.begin(), finishes_.end(), std::greater<>());
}

// Computes the rates by progressive filling. The level at which a link fills up only rises while flows elsewhere are
// fixed, so the heap may hold old levels, as long as the first one is computed again before it is used.
void Network::Fill() {
  using LevelOfLink = std::pair<double, LinkId>;
  std::vector<LevelOfLink> levels;
  levels.reserve(busy_.size());
  for (const LinkId id : busy_) {
    Link& link = links_[id];
    link.free = link.capacity;
    link.open = 0;
    link.open_flows = static_cast<std::uint32_t>(link.flows.size());
    for (const auto& [flow, which] : link.flows) link.open += flows_[flow].uses[which].weight;
    link.weights = link.open;
    levels.emplace_back(link.free / link.open, id);
  }
  for (const FlowId id : active_) flows_[id].fixed = false;
  std::priority_queue<LevelOfLink, std::vector<LevelOfLink>, std::greater<>> heap(std::greater<>(), std::move(levels));
  double level = 0;
  while (!heap.empty()) {
    const auto [old_level, id] = heap.top();
    heap.pop();
    const Link& link = links_[id];
    if (link.open_flows == 0) continue;
    // Rounding must not put a level below one that was already reached.
    const double now_level = std::max(level, std::max(link.free, 0.0) / std::max(link.open, kLeastWeight));
    if (!heap.empty() && now_level > heap.top().first && now_level > old_level) {
      heap.emplace(now_level, id);
      continue;
    }
    level = now_level;
    Fix(id, level);
  }
}

void Network::Fix(LinkId full, double level) {
  for (const auto& [id, which] : links_[full].flows) {
    Flow& flow = flows_[id];
    if (flow.fixed) continue;
    flow.fixed = true;
    levels_[id] = level;
    for (const Use& use : flow.uses) {
      Link& link = links_[use.link];
      link.free -= use.weight * level;
      link.open -= use.weight;
      --link.open_flows;
    }
  }
}

}  // namespace millrace::sim
