// SPDX-License-Identifier: Apache-2.0
// ReplicaCounts: the number of blocks for each pair of needed replicas and live replicas. It gives at once the number
// of blocks that lack replicas, for any number of nodes to hold them. Blocks without any replica are counted apart; so
// are blocks that have one and want more. Thread rule: one thread. Costs: Add and Remove O(1), the others a few
// thousand additions at most.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "dfs/name/types.h"

namespace millrace::dfs {

class ReplicaCounts {
 public:
  // `live` replicas count towards the `wanted` ones; `held` is the number of all replicas, including those on draining
  // nodes. `needed` of the wanted replicas must be on nodes in use now, since nodes in maintenance have the others.
  // Requires: `needed` is at most `wanted`, which is at most kMaxReplication, and each Remove reverses an earlier Add.
  void Add(std::uint32_t wanted, std::uint32_t needed, std::uint32_t live, std::size_t held) {
    Change(wanted, needed, live, held, 1);
  }
  void Remove(std::uint32_t wanted, std::uint32_t needed, std::uint32_t live, std::size_t held) {
    Change(wanted, needed, live, held, std::uint64_t(-1));
  }

  [[nodiscard]] std::uint64_t missing() const { return missing_; }
  // Returns the number of blocks that have one replica, wherever it is, and want more.
  [[nodiscard]] std::uint64_t single() const { return single_; }
  // Returns the number of blocks that have fewer replicas than they need, and fewer than `places` (counted as at least
  // one).
  [[nodiscard]] std::uint64_t Under(std::size_t places) const {
    return Count([=](std::size_t wanted, std::size_t live) {
      return live < std::min(wanted, std::max<std::size_t>(1, places));
    });
  }
  // Returns the number of blocks that have fewer replicas than they need, but one in each place.
  [[nodiscard]] std::uint64_t ShortOfPlaces(std::size_t places) const {
    return Count([](std::size_t wanted, std::size_t live) { return live < wanted; }) - Under(places);
  }
  [[nodiscard]] std::uint64_t Over() const {
    return Count([](std::size_t wanted, std::size_t live) { return live > wanted; });
  }
  // Returns the most replicas that a block wants; 0 without blocks.
  [[nodiscard]] std::uint32_t MostWanted() const {
    std::size_t most = kSize;
    while (most > 0 && wanted_[most - 1] == 0) --most;
    return most == 0 ? 0 : static_cast<std::uint32_t>(most - 1);
  }

 private:
  // One more row than any block can want: blocks with more replicas than that are counted in the last row.
  static constexpr std::size_t kSize = kMaxReplication + 2;

  void Change(std::uint32_t wanted, std::uint32_t needed, std::uint32_t live, std::size_t held, std::uint64_t by) {
    wanted_[wanted] += by;
    needed_[needed] += by;
    if (held == 1 && wanted > 1) single_ += by;
    if (held > 0) {
      // A block that has more than it needs now has too many only if it has more than it wants.
      if (live <= wanted) live = std::min(live, needed);
      held_[needed][std::min<std::size_t>(live, kSize - 1)] += by;
    } else {
      missing_ += by;
    }
  }
  template <class Which>
  [[nodiscard]] std::uint64_t Count(Which which) const {
    std::uint64_t count = 0;
    for (std::size_t wanted = 0; wanted < kSize; ++wanted) {
      if (needed_[wanted] == 0) continue;
      for (std::size_t live = 0; live < kSize; ++live) count += which(wanted, live) ? held_[wanted][live] : 0;
    }
    return count;
  }

  std::array<std::uint64_t, kSize> wanted_{}, needed_{};
  std::array<std::array<std::uint64_t, kSize>, kSize> held_{};  // by needed and live replicas
  std::uint64_t missing_ = 0, single_ = 0;
};

}  // namespace millrace::dfs
