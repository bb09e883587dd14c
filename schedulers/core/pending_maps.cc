#include "schedulers/core/pending_maps.h"

#include <algorithm>

#include "schedulers/core/limits.h"

namespace millrace::sched {

void PendingMaps::CollectPlaces(const MapInput& input, const Topology& topology, std::vector<PlaceKey>* places) {
  places->clear();
  for (const NodeId replica : input.replicas) {
    if (replica.value > kMaxId) continue;  // no such node can join
    places->push_back(Key(Locality::kNode, replica.value));
    const Location location = topology.Of(replica);
    if (location.rack == Location::kNowhere) continue;
    places->push_back(Key(Locality::kRack, location.rack));
    places->push_back(Key(Locality::kDatacenter, location.datacenter));
  }
  std::sort(places->begin(), places->end());
  places->erase(std::unique(places->begin(), places->end()), places->end());
}

PendingMaps::PendingMaps(const std::vector<MapInput>& maps, const Topology& topology) {
  const auto count = static_cast<std::uint32_t>(maps.size());
  all_ = OrderedBits::Full(count);
  shelved_.assign(count, true);
  std::vector<std::uint64_t> pairs;  // place above, map below: one integer sort puts all shelves in order
  std::vector<PlaceKey> places;
  for (std::uint32_t map = 0; map < count; ++map) {
    CollectPlaces(maps[map], topology, &places);
    for (const PlaceKey place : places) pairs.push_back(std::uint64_t{place} << 32 | map);
  }
  std::sort(pairs.begin(), pairs.end());
  entries_.reserve(pairs.size());
  std::vector<Shelf> shelves;
  for (const std::uint64_t pair : pairs) {
    const auto place = static_cast<PlaceKey>(pair >> 32);
    const auto at = static_cast<std::uint32_t>(entries_.size());
    if (shelves.empty() || shelves.back().place != place) shelves.push_back({place, at, at, 0});
    entries_.push_back(static_cast<std::uint32_t>(pair));
    ++shelves.back().end;
    ++shelves.back().count;
  }
  shelves_ = PlaceShelves(shelves);
}

std::uint32_t& PendingMaps::CountOf(PlaceKey place) {
  Shelf* shelf = FindShelf(place);
  return shelf != nullptr ? shelf->count : strays_[place];
}

// Counts are kept of nodes alone.
void PendingMaps::CountNodes(const MapInput& input, bool came, std::vector<NodeId>* nodes) {
  for (auto replica = input.replicas.begin(); replica != input.replicas.end(); ++replica) {
    if (replica->value > kMaxId || std::find(input.replicas.begin(), replica, *replica) != replica) continue;
    std::uint32_t& count = CountOf(Key(Locality::kNode, replica->value));
    if (came ? count++ == 0 : --count == 0) nodes->push_back(*replica);
  }
}

std::uint32_t PendingMaps::CountAt(NodeId node) const {
  const PlaceKey place = Key(Locality::kNode, node.value);
  if (const Shelf* shelf = FindShelf(place); shelf != nullptr) return shelf->count;
  const auto stray = strays_.find(place);
  return stray == strays_.end() ? 0 : stray->second;
}

std::vector<NodeId> PendingMaps::Nodes() const {
  std::vector<NodeId> nodes;
  for (const Shelf& shelf : shelves_.slots()) {
    if (shelf.place <= kMaxId && shelf.count > 0) nodes.push_back(NodeId{shelf.place});
  }
  for (const auto& [place, count] : strays_) {
    if (count > 0) nodes.push_back(NodeId{place});
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

void PendingMaps::Erase(std::uint32_t map, const MapInput& input, const Topology& topology,
                        std::vector<NodeId>* nodes) {
  if (!all_.Contains(map)) return;
  all_.Erase(map);
  CountNodes(input, false, nodes);
  if (shelved_[map]) {
    shelved_[map] = false;
    return;
  }
  std::vector<PlaceKey> places;
  CollectPlaces(input, topology, &places);
  for (const PlaceKey place : places) returned_.erase({place, map});
}

void PendingMaps::Insert(std::uint32_t map, const MapInput& input, const Topology& topology,
                         std::vector<NodeId>* nodes) {
  if (all_.Contains(map)) return;
  all_.Insert(map);
  CountNodes(input, true, nodes);
  std::vector<PlaceKey> places;
  CollectPlaces(input, topology, &places);
  for (const PlaceKey place : places) returned_.insert({place, map});
}

std::uint32_t PendingMaps::FirstAt(PlaceKey place, const Skip& skip) const {
  std::uint32_t first = OrderedBits::kNone;
  if (Shelf* shelf = FindShelf(place); shelf != nullptr) {
    while (shelf->next < shelf->end && !shelved_[entries_[shelf->next]]) ++shelf->next;
    if (shelf->next < shelf->end) first = entries_[shelf->next];
  }
  if (returned_.empty()) return first;
  auto back = returned_.lower_bound({place, 0});
  while (skip && back != returned_.end() && back->first == place && skip(back->second)) ++back;
  return back != returned_.end() && back->first == place ? std::min(first, back->second) : first;
}

std::optional<MapChoice> PendingMaps::Best(NodeId node, Location location, Locality worst, const Skip& skip) const {
  if (all_.empty()) return std::nullopt;
  const std::uint32_t ids[] = {node.value, location.rack, location.datacenter};
  for (const Locality level : {Locality::kNode, Locality::kRack, Locality::kDatacenter}) {
    if (level > worst) return std::nullopt;
    const std::uint32_t map = FirstAt(Key(level, ids[static_cast<int>(level)]), skip);
    if (map != OrderedBits::kNone) return MapChoice{map, level};
  }
  if (worst < Locality::kOff) return std::nullopt;
  std::uint32_t any = all_.First();
  while (skip && any != OrderedBits::kNone && !shelved_[any] && skip(any)) any = all_.NextFrom(any + 1);
  return any == OrderedBits::kNone ? std::nullopt : std::optional(MapChoice{any, Locality::kOff});
}

std::vector<std::uint32_t> PendingMaps::At(NodeId node) const {
  std::vector<std::uint32_t> maps;
  VisitAt(node, [&maps](std::uint32_t map) {
    maps.push_back(map);
    return true;
  });
  return maps;
}

}  // namespace millrace::sched
