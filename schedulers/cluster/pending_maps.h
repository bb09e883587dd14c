// SPDX-License-Identifier: Apache-2.0
// PendingMaps: the pending map tasks of one job, found by how close their input is to a node.
//
// At submission every node, rack and datacenter that has input of the job gets a shelf: the numbers of the maps with
// input there, in rising order, with a cursor at the first map that may still be pending. A map that stops being
// pending is only marked; cursors pass marked maps once and never go back, so a job's shelves cost O(maps) over its
// life. A map that becomes pending again (its attempt failed, its output was lost, its replicas moved) leaves the
// shelves for good and goes to an ordered set, which is small. The lowest number comes first within a level. Thread
// rule: one thread, const calls included (they move cursors).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/ordered_bits.h"
#include "schedulers/cluster/topology.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// PlaceShelves: the shelves of PendingMaps, found by place.
//
// It is a hash table with open addressing and linear probing in one array, which is two thirds full and never grows. So
// a search touches one or two cache lines, however many places there are. Thread rule: one thread.
using PlaceKey = std::uint32_t;  // level in the top two bits, node, rack or datacenter below

// A run of entries in PendingMaps.
struct Shelf {
  static constexpr PlaceKey kNowhere = 0xffffffff;  // marks a gap
  PlaceKey place = kNowhere;
  std::uint32_t next = 0;  // the first entry that may still be pending
  std::uint32_t end = 0;
  std::uint32_t count = 0;  // pending maps of the place, on the shelf or returned
};

class PlaceShelves {
 public:
  PlaceShelves() = default;
  // Requires: no two shelves have the same place, and none has kNowhere.
  explicit PlaceShelves(const std::vector<Shelf>& shelves);

  // Returns the shelf of the place; null if the place has none. The shelf stays at this address.
  [[nodiscard]] Shelf* Find(PlaceKey place) {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = Home(place); slots_[at].place != Shelf::kNowhere; at = Behind(at)) {
      if (slots_[at].place == place) return &slots_[at];
    }
    return nullptr;
  }
  // Prefetches the memory that Find(place) will read.
  void Prefetch(PlaceKey place) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[Home(place)]);
  }
  // Returns the shelves. The order is arbitrary, but the same for the same places. Shelves with the place kNowhere are
  // gaps.
  [[nodiscard]] const std::vector<Shelf>& slots() const { return slots_; }
  [[nodiscard]] std::vector<Shelf>& slots() { return slots_; }

 private:
  // The multiplier is 2^32 divided by the golden ratio, which spreads numbers that follow each other.
  [[nodiscard]] std::size_t Home(PlaceKey place) const {
    return static_cast<std::size_t>(std::uint64_t{place * 0x9e3779b1U} * slots_.size() >> 32);
  }
  [[nodiscard]] std::size_t Behind(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }

  std::vector<Shelf> slots_;
};

struct MapChoice {
  std::uint32_t map = 0;  // index within the job
  Locality locality = Locality::kOff;
  bool operator==(const MapChoice&) const = default;
};

class PendingMaps {
 public:
  PendingMaps() = default;
  // Makes all of the maps pending.
  PendingMaps(const std::vector<MapInput>& maps, const Topology& topology);

  // Erase takes the map out, and Insert puts it back. They append to *nodes each node at which the map was the last
  // pending one (Erase), or is now the first (Insert). If `nodes` is null, the counts by node become out of date, and
  // the next call that needs them computes them again. Requires: `input` and the topology are the same at Erase as when
  // the map was put in. To change either, erase the map first and insert it again afterwards.
  void Erase(std::uint32_t map, const MapInput& input, const Topology& topology, std::vector<NodeId>* nodes);
  void Insert(std::uint32_t map, const MapInput& input, const Topology& topology, std::vector<NodeId>* nodes);

  // Prefetches the memory that an Erase of the map with `nodes` will read.
  void Prefetch(std::uint32_t map) const { __builtin_prefetch(&shelves_of_[map]); }

  [[nodiscard]] const OrderedBits& all() const { return all_; }
  // Return the number of bytes that the largest, or the smallest, of the maps reads. O(1), but O(maps) on the first
  // call and when all maps of that size have left since the last call. Requires: some map is pending, and `maps` is the
  // vector that this object was made from.
  [[nodiscard]] std::uint64_t Largest(const std::vector<MapInput>& maps) const;
  [[nodiscard]] std::uint64_t Smallest(const std::vector<MapInput>& maps) const;
  // Returns the maps whose input lies on no live node, so that one node is as good for them as another.
  [[nodiscard]] const OrderedBits& unlocated() const { return unlocated_; }
  // Returns the closest map for this node that is no farther than `worst`. `skip`, if there is one, is called only for
  // maps that left before and came back; maps for which it returns true are skipped.
  using Skip = std::function<bool(std::uint32_t map)>;
  [[nodiscard]] std::optional<MapChoice> Best(NodeId node, Location location, Locality worst,
                                              const Skip& skip = {}) const;
  // Returns the first map of unlocated() that `skip`, as for Best, does not exclude.
  [[nodiscard]] std::optional<MapChoice> FirstUnlocated(const Skip& skip = {}) const;
  // Returns the number of maps with a replica on the node. O(1), but O(maps) when the counts are out of date.
  [[nodiscard]] std::uint32_t CountAt(NodeId node) const;
  // Calls visit(node) for the nodes with a replica of a pending map until `visit` returns false. The order is arbitrary
  // but always the same. O(places), but O(maps) when the counts are out of date.
  template <class Visit>
  void VisitNodes(const Visit& visit) const;
  [[nodiscard]] std::vector<NodeId> Nodes() const;
  // Returns the maps with a replica on the node, in rising order. O(their number).
  [[nodiscard]] std::vector<std::uint32_t> At(NodeId node) const;
  // Calls visit(map) for the maps of At(node), in the same order, until `visit` returns false.
  template <class Visit>
  void VisitAt(NodeId node, const Visit& visit) const;

 private:
  static constexpr std::uint32_t kMany = OrderedBits::kNone - 1;  // in shelves_of_: more nodes than the array holds

  static PlaceKey Key(Locality level, std::uint32_t id) { return static_cast<PlaceKey>(level) << 30 | id; }
  static void CollectPlaces(const MapInput& input, const Topology& topology, std::vector<PlaceKey>* places);
  static std::size_t LevelOf(PlaceKey place) { return place >> 30; }
  // Returns true if one of the places, which are in rising order, is a rack or datacenter, so that some node with the
  // input is in the topology.
  static bool AnyIsThere(const std::vector<PlaceKey>& places) { return !places.empty() && !IsNode(places.back()); }
  static bool IsNode(PlaceKey place) { return LevelOf(place) == 0; }
  Shelf* FindShelf(PlaceKey place) const { return shelves_[LevelOf(place)].Find(place); }
  std::uint32_t& CountOf(PlaceKey place) const;
  void CountShelved(std::uint32_t map, const MapInput& input, std::vector<NodeId>* nodes);
  void CountNodes(const MapInput& input, bool came, std::vector<NodeId>* nodes);
  void Recount() const;  // computes the counts again if they are out of date
  // FirstOnShelf and FirstAt return kNone if there is no such map.
  [[nodiscard]] std::uint32_t FirstOnShelf(PlaceKey place) const;
  [[nodiscard]] std::uint32_t FirstAt(PlaceKey place, const Skip& skip) const;
  [[nodiscard]] std::optional<MapChoice> FirstOf(const OrderedBits& maps, const Skip& skip) const;

  // The most, or the fewest, bytes that any map reads, and the number of maps that read this many. With 0 maps the
  // bytes are unknown.
  struct Extreme {
    std::uint64_t bytes = 0;
    std::uint32_t maps = 0;
  };
  void NoteSize(bool came, const MapInput& input);

  OrderedBits all_;
  OrderedBits unlocated_;
  mutable Extreme largest_, smallest_;
  // By node id: true if the node has a shelf that is not empty yet. Most searches fail at the node, and these bits fit
  // the cache.
  mutable std::vector<bool> stocked_;
  mutable PlaceShelves shelves_[3];  // by level
  std::vector<std::uint32_t> entries_;
  std::vector<bool> shelved_;  // by map: true if it has never left
  std::vector<std::array<std::uint32_t, 4>>
      shelves_of_;  // by map: the shelves of its nodes in shelves_[0]; kNone ends the list
  std::set<std::pair<PlaceKey, std::uint32_t>> returned_;  // pending, but no longer on the shelves
  mutable bool counted_ = true;                            // the counts by node are up to date
  // The counts of nodes that have no shelf, since replicas moved to them later.
  mutable std::map<PlaceKey, std::uint32_t> counts_off_shelves_;
};

template <class Visit>
void PendingMaps::VisitAt(NodeId node, const Visit& visit) const {
  const PlaceKey place = Key(Locality::kNode, node.value);
  auto back = returned_.lower_bound({place, 0});
  const auto returned_before = [&](std::uint32_t map) {
    return back != returned_.end() && back->first == place && back->second < map;
  };
  if (Shelf* shelf = FindShelf(place); shelf != nullptr) {
    while (shelf->next < shelf->end && !shelved_[entries_[shelf->next]]) ++shelf->next;
    for (std::uint32_t at = shelf->next; at < shelf->end; ++at) {
      if (!shelved_[entries_[at]]) continue;
      for (; returned_before(entries_[at]); ++back) {
        if (!visit(back->second)) return;
      }
      if (!visit(entries_[at])) return;
    }
  }
  for (; returned_before(OrderedBits::kNone); ++back) {
    if (!visit(back->second)) return;
  }
}

template <class Visit>
void PendingMaps::VisitNodes(const Visit& visit) const {
  Recount();
  for (const Shelf& shelf : shelves_[0].slots()) {
    if (shelf.count > 0 && !visit(NodeId{shelf.place})) return;
  }
  for (const auto& [place, count] : counts_off_shelves_) {
    if (count > 0 && !visit(NodeId{place})) return;
  }
}

}  // namespace millrace::sched
