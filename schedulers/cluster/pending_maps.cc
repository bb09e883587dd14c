// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/pending_maps.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "schedulers/events/limits.h"

namespace millrace::sched {
namespace {

// Each pair has the place in its upper half and the map in its lower half, so that one sort of integers orders all
// shelves.
using Pairs = std::vector<std::uint64_t>;

constexpr std::size_t kFewPairs = 512;  // below this many, counting does not pay
constexpr unsigned kDigits = 3, kDigitBits = 11;
static_assert(32 + kDigits * kDigitBits >= 64);

// The pairs come in rising order of their maps, so only the places need sorting. It is a counting sort with no more
// passes than the places have digits.
void Sort(Pairs* pairs) {
  if (pairs->size() < kFewPairs) return std::sort(pairs->begin(), pairs->end());
  Pairs sorted(pairs->size());
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    const auto value = [shift = 32 + digit * kDigitBits](std::uint64_t pair) {
      return pair >> shift & ((1u << kDigitBits) - 1);
    };
    std::array<std::uint32_t, 1u << kDigitBits> at{};  // where the next pair with this digit goes
    for (const std::uint64_t pair : *pairs) ++at[value(pair)];
    if (at[value(pairs->front())] == pairs->size()) continue;
    std::exclusive_scan(at.begin(), at.end(), at.begin(), 0u);
    for (const std::uint64_t pair : *pairs) sorted[at[value(pair)]++] = pair;
    pairs->swap(sorted);
  }
}

}  // namespace

PlaceShelves::PlaceShelves(const std::vector<Shelf>& shelves) {
  if (shelves.empty()) return;
  slots_.resize(shelves.size() + shelves.size() / 2 + 1);
  for (const Shelf& shelf : shelves) {
    std::size_t at = Home(shelf.place);
    while (slots_[at].place != Shelf::kNowhere) at = Behind(at);
    slots_[at] = shelf;
  }
}

void PendingMaps::CollectPlaces(const MapInput& input, const Topology& topology, std::vector<PlaceKey>* places) {
  places->clear();
  for (const NodeId replica : input.replicas) {
    if (replica.value > kMaxId) continue;  // no node with such an id can join
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
  Pairs pairs;
  std::vector<PlaceKey> places;
  for (std::uint32_t map = 0; map < count; ++map) {
    CollectPlaces(maps[map], topology, &places);
    for (const PlaceKey place : places) pairs.push_back(std::uint64_t{place} << 32 | map);
    if (!AnyIsThere(places)) unlocated_.Insert(map);
  }
  Sort(&pairs);
  entries_.reserve(pairs.size());
  std::vector<Shelf> shelves[3];
  for (const std::uint64_t pair : pairs) {
    const auto place = static_cast<PlaceKey>(pair >> 32);
    const auto at = static_cast<std::uint32_t>(entries_.size());
    std::vector<Shelf>& of_level = shelves[LevelOf(place)];
    if (of_level.empty() || of_level.back().place != place) of_level.push_back({place, at, at, 0});
    entries_.push_back(static_cast<std::uint32_t>(pair));
    ++of_level.back().end;
    ++of_level.back().count;
  }
  for (std::size_t level = 0; level < 3; ++level) shelves_[level] = PlaceShelves(shelves[level]);
  if (!shelves[0].empty()) stocked_.resize(shelves[0].back().place + 1);
  shelves_of_.assign(count, {OrderedBits::kNone, OrderedBits::kNone, OrderedBits::kNone, OrderedBits::kNone});
  for (const Shelf& shelf : shelves[0]) {
    stocked_[shelf.place] = true;
    const auto number = static_cast<std::uint32_t>(FindShelf(shelf.place) - shelves_[0].slots().data());
    for (std::uint32_t at = shelf.next; at < shelf.end; ++at) {
      auto& of_map = shelves_of_[entries_[at]];
      const auto free = std::find(of_map.begin(), of_map.end(), OrderedBits::kNone);
      if (free == of_map.end()) {
        of_map[0] = kMany;
      } else {
        *free = number;
      }
    }
  }
}

std::uint64_t PendingMaps::Largest(const std::vector<MapInput>& maps) const {
  if (largest_.maps > 0) return largest_.bytes;
  for (const std::uint32_t map : all_) {
    if (largest_.maps == 0 || maps[map].bytes > largest_.bytes) largest_ = {maps[map].bytes, 0};
    if (maps[map].bytes == largest_.bytes) ++largest_.maps;
  }
  return largest_.bytes;
}

std::uint64_t PendingMaps::Smallest(const std::vector<MapInput>& maps) const {
  if (smallest_.maps > 0) return smallest_.bytes;
  for (const std::uint32_t map : all_) {
    if (smallest_.maps == 0 || maps[map].bytes < smallest_.bytes) smallest_ = {maps[map].bytes, 0};
    if (maps[map].bytes == smallest_.bytes) ++smallest_.maps;
  }
  return smallest_.bytes;
}

// A job whose sizes nobody has asked for pays nothing: its inputs need not be read from memory.
void PendingMaps::NoteSize(bool came, const MapInput& input) {
  for (Extreme* extreme : {&largest_, &smallest_}) {
    if (extreme->maps == 0) continue;
    const bool beyond = extreme == &largest_ ? input.bytes > extreme->bytes : input.bytes < extreme->bytes;
    if (beyond) *extreme = {input.bytes, 0};
    if (input.bytes == extreme->bytes) extreme->maps += came ? 1 : -1;
  }
}

std::uint32_t& PendingMaps::CountOf(PlaceKey place) const {
  Shelf* shelf = FindShelf(place);
  return shelf != nullptr ? shelf->count : counts_off_shelves_[place];
}

// Counts a map out of its shelves.
void PendingMaps::CountShelved(std::uint32_t map, const MapInput& input, std::vector<NodeId>* nodes) {
  if (nodes == nullptr || shelves_of_[map][0] == kMany) return CountNodes(input, false, nodes);
  for (const std::uint32_t number : shelves_of_[map]) {
    if (number == OrderedBits::kNone) return;
    Shelf& shelf = shelves_[0].slots()[number];
    if (--shelf.count == 0) nodes->push_back(NodeId{shelf.place});
  }
}

// Counts a map in or out at the nodes of its input. Racks and datacenters have no counts.
void PendingMaps::CountNodes(const MapInput& input, bool came, std::vector<NodeId>* nodes) {
  if (nodes == nullptr) {
    counted_ = false;
    return;
  }
  for (auto replica = input.replicas.begin(); replica != input.replicas.end(); ++replica) {
    if (replica->value > kMaxId || std::find(input.replicas.begin(), replica, *replica) != replica) continue;
    std::uint32_t& count = CountOf(Key(Locality::kNode, replica->value));
    if (came ? count++ == 0 : --count == 0) nodes->push_back(*replica);
  }
}

void PendingMaps::Recount() const {
  if (std::exchange(counted_, true)) return;
  for (Shelf& shelf : shelves_[0].slots()) {
    const auto from = entries_.begin() + shelf.next, to = entries_.begin() + shelf.end;
    shelf.count = static_cast<std::uint32_t>(std::count_if(from, to, [this](auto map) { return shelved_[map]; }));
  }
  counts_off_shelves_.clear();
  for (const auto& [place, map] : returned_) {
    if (IsNode(place)) ++CountOf(place);
  }
}

std::uint32_t PendingMaps::CountAt(NodeId node) const {
  Recount();
  const PlaceKey place = Key(Locality::kNode, node.value);
  if (const Shelf* shelf = FindShelf(place); shelf != nullptr) return shelf->count;
  const auto count = counts_off_shelves_.find(place);
  return count == counts_off_shelves_.end() ? 0 : count->second;
}

std::vector<NodeId> PendingMaps::Nodes() const {
  std::vector<NodeId> nodes;
  VisitNodes([&nodes](NodeId node) {
    nodes.push_back(node);
    return true;
  });
  return nodes;
}

void PendingMaps::Erase(std::uint32_t map, const MapInput& input, const Topology& topology,
                        std::vector<NodeId>* nodes) {
  if (!all_.Contains(map)) return;
  if (nodes != nullptr) Recount();
  all_.Erase(map);
  NoteSize(false, input);
  unlocated_.Erase(map);
  if (shelved_[map]) {
    shelved_[map] = false;
    return CountShelved(map, input, nodes);
  }
  CountNodes(input, false, nodes);
  std::vector<PlaceKey> places;
  CollectPlaces(input, topology, &places);
  for (const PlaceKey place : places) returned_.erase({place, map});
}

void PendingMaps::Insert(std::uint32_t map, const MapInput& input, const Topology& topology,
                         std::vector<NodeId>* nodes) {
  if (all_.Contains(map)) return;
  if (nodes != nullptr) Recount();
  all_.Insert(map);
  NoteSize(true, input);
  CountNodes(input, true, nodes);
  std::vector<PlaceKey> places;
  CollectPlaces(input, topology, &places);
  for (const PlaceKey place : places) returned_.insert({place, map});
  if (!AnyIsThere(places)) unlocated_.Insert(map);
}

std::uint32_t PendingMaps::FirstOnShelf(PlaceKey place) const {
  if (IsNode(place) && !(place < stocked_.size() && stocked_[place])) return OrderedBits::kNone;
  Shelf* shelf = FindShelf(place);
  if (shelf == nullptr) return OrderedBits::kNone;
  while (shelf->next < shelf->end && !shelved_[entries_[shelf->next]]) ++shelf->next;
  if (shelf->next < shelf->end) return entries_[shelf->next];
  if (IsNode(place)) stocked_[place] = false;
  return OrderedBits::kNone;
}

std::uint32_t PendingMaps::FirstAt(PlaceKey place, const Skip& skip) const {
  const std::uint32_t first = FirstOnShelf(place);
  if (returned_.empty()) return first;
  auto back = returned_.lower_bound({place, 0});
  while (skip && back != returned_.end() && back->first == place && skip(back->second)) ++back;
  return back != returned_.end() && back->first == place ? std::min(first, back->second) : first;
}

std::optional<MapChoice> PendingMaps::FirstOf(const OrderedBits& maps, const Skip& skip) const {
  std::uint32_t first = maps.First();
  while (skip && first != OrderedBits::kNone && !shelved_[first] && skip(first)) first = maps.NextFrom(first + 1);
  return first == OrderedBits::kNone ? std::nullopt : std::optional(MapChoice{first, Locality::kOff});
}

std::optional<MapChoice> PendingMaps::FirstUnlocated(const Skip& skip) const { return FirstOf(unlocated_, skip); }

std::optional<MapChoice> PendingMaps::Best(NodeId node, Location location, Locality worst, const Skip& skip) const {
  if (all_.empty()) return std::nullopt;
  const std::uint32_t ids[] = {node.value, location.rack, location.datacenter};
  shelves_[1].Prefetch(Key(Locality::kRack, location.rack));
  for (const Locality level : {Locality::kNode, Locality::kRack, Locality::kDatacenter}) {
    if (level > worst) return std::nullopt;
    const std::uint32_t map = FirstAt(Key(level, ids[static_cast<int>(level)]), skip);
    if (map != OrderedBits::kNone) return MapChoice{map, level};
  }
  if (worst < Locality::kOff) return std::nullopt;
  return FirstOf(all_, skip);
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
