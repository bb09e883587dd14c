// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/transfer_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace millrace::sched {
namespace {

constexpr double kHere = std::numeric_limits<double>::infinity();
constexpr Assignment::Cost kClosed = std::numeric_limits<Assignment::Cost>::max();

}  // namespace

TransferCosts::TransferCosts(const ClusterState& state, const IdleSlots& slots, Options options)
    : state_(state),
      slots_(slots),
      options_(options),
      node_round_(slots.size()),
      rack_round_(state.topology().racks()),
      datacenter_round_(state.topology().datacenters()),
      marks_(slots.size()) {
  const Topology& topology = state.topology();
  datacenter_of_.assign(topology.racks(), Location::kNowhere);
  if (state.bandwidths().rack_pairs() == 0 || !options.far_pairs) return;
  for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
    const Location at = topology.Of(NodeId{node});
    datacenter_of_[at.rack] = at.datacenter;
  }
}

// This is half of what Assignment takes, since the cost of a transfer and a fixed cost are added.
constexpr Assignment::Cost kMostCost = Assignment::kMaxCost / 2;
constexpr auto kMost = static_cast<double>(kMostCost);

Assignment::Cost TransferCosts::Round(double cost) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(cost, 1.0, kMost));
  constexpr int kBits = 5;
  const int drop = std::max(0, static_cast<int>(std::bit_width(whole)) - kBits);
  return static_cast<Assignment::Cost>(whole >> drop << drop);
}

Assignment::Cost TransferCosts::Fixed(double fixed) {
  return static_cast<Assignment::Cost>(std::clamp(fixed * kUnit, 0.0, kMost));
}

Assignment::Cost TransferCosts::CostOf(const Row& row, double bandwidth, std::uint32_t free_slots) const {
  if (bandwidth == 0) return kClosed;
  const Assignment::Cost fixed = Fixed(row.fixed);
  if (bandwidth == kHere) return fixed;
  const double seconds =
      options_.uniform ? 1 : static_cast<double>(row.input->bytes) / bandwidth * static_cast<double>(free_slots);
  return fixed + Round(seconds * row.weight * kUnit);
}

double TransferCosts::Between(NodeId replica, PlaceLevel level, std::uint32_t id) const {
  const Bandwidths& measured = state_.bandwidths();
  const Topology& topology = state_.topology();
  const LevelBandwidths& configured = options_.configured;
  const Location here = topology.Of(replica);
  switch (level) {
    case PlaceLevel::kNode:
      return measured.Between(replica, NodeId{id}, topology, configured);
    case PlaceLevel::kRack:
      return measured.BetweenRacks(here, RackLocation(id), configured);
    case PlaceLevel::kDatacenter:
      return measured.BetweenDatacenters(here.datacenter, id, configured);
    case PlaceLevel::kCluster:
      break;
  }
  return configured.off;
}

double TransferCosts::BandwidthTo(PlaceLevel level, std::uint32_t id) const {
  double most = 0;
  for (const NodeId replica : replicas_) most = std::max(most, Between(replica, level, id));
  return most;
}

Location TransferCosts::RackLocation(std::uint32_t rack) const {
  for (const NodeId replica : replicas_) {
    const Location at = state_.topology().Of(replica);
    if (at.rack == rack) return at;
  }
  return {rack, datacenter_of_[rack]};
}

Locality TransferCosts::LocalityOf(PlaceLevel level, std::uint32_t id) const {
  if (level == PlaceLevel::kNode) return state_.topology().Distance(NodeId{id}, replicas_);
  const std::uint32_t datacenter = level == PlaceLevel::kRack ? RackLocation(id).datacenter : id;
  Locality locality = Locality::kOff;
  for (const NodeId replica : replicas_) {
    const Location at = state_.topology().Of(replica);
    if (level == PlaceLevel::kRack && at.rack == id) return Locality::kRack;
    if (at.datacenter == datacenter) locality = Locality::kDatacenter;
  }
  return locality;
}

void TransferCosts::AddDatacenter(std::uint32_t datacenter) {
  if (std::exchange(datacenter_round_[datacenter], round_) == round_) return;
  constexpr auto kLevel = PlaceLevel::kDatacenter;
  specials_.push_back({kLevel, datacenter, BandwidthTo(kLevel, datacenter), LocalityOf(kLevel, datacenter)});
}

void TransferCosts::AddRack(std::uint32_t rack) {
  if (std::exchange(rack_round_[rack], round_) == round_) return;
  constexpr auto kLevel = PlaceLevel::kRack;
  specials_.push_back({kLevel, rack, BandwidthTo(kLevel, rack), LocalityOf(kLevel, rack)});
}

void TransferCosts::AddNode(NodeId node) {
  const Assignment::Place place = slots_.OfNode(node);
  if (place == Assignment::kNoPlace || std::exchange(node_round_[place], round_) == round_) return;
  constexpr auto kLevel = PlaceLevel::kNode;
  const Locality locality = LocalityOf(kLevel, node.value);
  const double bandwidth = locality == Locality::kNode ? kHere : BandwidthTo(kLevel, node.value);
  specials_.push_back({kLevel, node.value, bandwidth, locality});
}

void TransferCosts::CollectDatacenters(bool partners) {
  for (const NodeId replica : replicas_) AddDatacenter(state_.topology().Of(replica).datacenter);
  if (!partners) return;
  for (const NodeId replica : replicas_) {
    const std::uint32_t from = state_.topology().Of(replica).datacenter;
    for (const auto& known : state_.bandwidths().DatacentersFrom(from)) AddDatacenter(known.to);
  }
}

void TransferCosts::CollectRacks(bool partners) {
  for (const NodeId replica : replicas_) AddRack(state_.topology().Of(replica).rack);
  if (!partners) return;
  for (const NodeId replica : replicas_) {
    for (const auto& known : state_.bandwidths().RacksFrom(state_.topology().Of(replica).rack)) {
      const bool nothing_free = RackLocation(known.to).datacenter == Location::kNowhere;
      if (!nothing_free) AddRack(known.to);
    }
  }
}

void TransferCosts::CollectNodes(bool partners) {
  for (const NodeId replica : replicas_) AddNode(replica);
  if (!partners) return;
  for (const NodeId replica : replicas_) {
    for (const auto& known : state_.bandwidths().NodesFrom(replica)) AddNode(NodeId{known.to});
  }
}

// Those of wider places come first. Where a level is missing, several stand for one place and the last one holds.
void TransferCosts::CollectSpecials(const Row& row) {
  specials_.clear();
  replicas_.clear();
  for (const NodeId replica : row.input->replicas) {
    if (state_.topology().Of(replica).rack != Location::kNowhere) replicas_.push_back(replica);
  }
  const bool partners = options_.far_pairs && !options_.uniform;
  CollectDatacenters(partners);
  CollectRacks(partners);
  CollectNodes(partners);
  for (const NodeId closed : row.closed) {
    std::erase_if(specials_, [&](const Special& s) { return s.level == PlaceLevel::kNode && s.id == closed.value; });
    specials_.push_back({PlaceLevel::kNode, closed.value, 0, Locality::kOff});
  }
}

TransferCosts::Mark& TransferCosts::MarkOf(Assignment::Place place) {
  Mark& mark = marks_[place];
  if (mark.round != round_) mark = {round_, false, false, Locality::kOff, 0};
  return mark;
}

std::span<const Assignment::PlaceCost> TransferCosts::Of(const Row& row) {
  costs_.clear();
  ++round_;
  CollectSpecials(row);
  for (std::size_t tree = 0; tree < slots_.trees().size(); ++tree) MarkTree(row, tree);
  return costs_;
}

void TransferCosts::MarkTree(const Row& row, std::size_t tree) {
  const auto& [free_slots, root] = slots_.trees()[tree];
  MarkOf(root).cost = CostOf(row, options_.configured.off, free_slots);
  marked_.clear();
  for (const Special& special : specials_) {
    const Assignment::Place place = slots_.Find(tree, special.level, special.id);
    if (place == Assignment::kNoPlace) continue;
    Mark& mark = MarkOf(place);
    if (!mark.special && place != root) marked_.push_back(place);
    mark.special = true;
    mark.cost = CostOf(row, special.bandwidth, free_slots);
    mark.locality = std::min(mark.locality, special.locality);
  }
  for (const Assignment::Place place : marked_) OpenAbove(place);
  Emit(row, root, MarkOf(root).cost, MarkOf(root).locality);
  for (const Assignment::Place place : marked_) {
    const Mark& mark = marks_[place];
    const Mark& above = marks_[SourceAbove(place)];
    const bool said = !above.opened && above.cost == mark.cost && above.locality <= row.worst;
    if (mark.cost != kClosed && !said) Emit(row, place, mark.cost, mark.locality);
  }
}

Assignment::Place TransferCosts::SourceAbove(Assignment::Place place) {
  do place = slots_.At(place).above;
  while (slots_.At(place).above != Assignment::kNoPlace && !MarkOf(place).special);
  return place;
}

// A cheaper cost above cannot stand for this place.
void TransferCosts::OpenAbove(Assignment::Place place) {
  const Assignment::Cost cost = marks_[place].cost;
  for (Assignment::Place up = slots_.At(place).above; up != Assignment::kNoPlace; up = slots_.At(up).above) {
    Mark& mark = MarkOf(up);
    const bool own = mark.special || slots_.At(up).above == Assignment::kNoPlace;
    if ((own ? mark.cost : marks_[SourceAbove(up)].cost) < cost) MarkOf(up).opened = true;
  }
}

// The cost is set at the place as a whole, or, if that would be too cheap for some, at the places below it. Special
// places have costs of their own.
void TransferCosts::Emit(const Row& row, Assignment::Place place, Assignment::Cost cost, Locality locality) {
  if (!MarkOf(place).opened) {
    if (locality <= row.worst) costs_.push_back({place, cost});
    return;
  }
  for (const Assignment::Place below : slots_.At(place).below) {
    if (!MarkOf(below).special) Emit(row, below, cost, locality);
  }
}

}  // namespace millrace::sched
