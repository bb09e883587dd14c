// PlaceShelves: the shelves of a job's pending maps (pending_maps.h), found by place.
//
// It is a hash table with open addressing and linear probing in one array, which is two thirds full and never grows. So
// a search touches one or two cache lines, however many places there are. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::sched {

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

}  // namespace millrace::sched
