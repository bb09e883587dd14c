// SPDX-License-Identifier: Apache-2.0
// ScrubSchedule chooses the block that is read next in search of rot, and the time. Pure.
//
//   the block that has not been read for the longest time is next
//   a block is due 9/10 of the period after it was last read; a new block counts as read when it is first seen
//   speed = the lowest at which every block can be read, after all those before it, by the time when it is due
//   the next block begins when the time that the one before it takes at that speed is over
//
// So every block is read within the period. The readings are spread evenly over the period if the blocks came evenly,
// and follow each other as fast as the caller's limit allows if reading is late. A block costs its bytes plus
// kBlockCost. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dfs/data/block_store.h"

namespace millrace::worker {

class ScrubSchedule {
 public:
  static constexpr std::uint64_t kBlockCost = std::uint64_t{64} << 10;  // for finding and opening a block

  // `saved` is an earlier result of Text. Lines that make no sense are ignored, and times after `now` count as `now`.
  // Requires: period > 0.
  ScrubSchedule(Micros period, std::string_view saved, Micros now);

  struct Next {
    dfs::StoredBlock block;
    Micros at = 0;
  };
  // Returns the next of these blocks; nothing if `blocks` is empty. O(n). Requires: `blocks` contains all blocks, by
  // rising id.
  [[nodiscard]] std::optional<Next> Choose(const std::vector<dfs::StoredBlock>& blocks, Micros now);
  // Notes that the reading of the block began at this time.
  void Began(std::uint64_t id, Micros at);
  // Returns the times at which the blocks were last read, a line for each block.
  [[nodiscard]] std::string Text() const;

 private:
  struct ScheduledScrub {
    Micros last = 0;
    std::uint64_t cost = 0;
  };
  void Follow(const std::vector<dfs::StoredBlock>& blocks, Micros now);
  void Set(std::uint64_t id, Micros last);
  [[nodiscard]] double SlowestSpeed(Micros from) const;  // bytes per microsecond

  Micros period_;
  std::map<std::uint64_t, ScheduledScrub> blocks_;
  std::set<std::pair<Micros, std::uint64_t>> by_time_;  // last, id
  std::optional<Micros> began_;                         // when the previous reading began
  std::uint64_t cost_before_ = 0;                       // the cost of that reading
};

}  // namespace millrace::worker
