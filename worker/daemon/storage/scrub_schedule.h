// ScrubSchedule decides which block is read next in search of rot, and when. Pure.
//
//   the block that was not read for longest is next
//   a block is due 9/10 of the period after it was last read; a new block counts as read when it is first seen
//   speed = the lowest at which every block is due no earlier than it and all before it can have been read
//   the next block begins when the time of the one before it, at that speed, is over
//
// So every block is read within the period: evenly spread over it if the blocks came evenly, and as fast as the
// caller's limit allows if reading is late. A block costs its bytes and kBlockCost. Thread rule: one thread.
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
  static constexpr std::uint64_t kBlockCost = std::uint64_t{64} << 10;  // to find and open it

  // `saved` is an earlier result of Text; lines that make no sense are left out, and times after `now` count as `now`.
  // Requires: period > 0.
  ScrubSchedule(Micros period, std::string_view saved, Micros now);

  struct Next {
    dfs::StoredBlock block;
    Micros at = 0;
  };
  // Returns the next of these blocks; nothing if `blocks` is empty. O(n). Requires: `blocks` holds all blocks, by
  // rising id.
  [[nodiscard]] std::optional<Next> Choose(const std::vector<dfs::StoredBlock>& blocks, Micros now);
  // Notes that the reading of the block began at this time.
  void Began(std::uint64_t id, Micros at);
  // Returns when each block was last read, a line for each.
  [[nodiscard]] std::string Text() const;

 private:
  struct ScheduledScrub {
    Micros last = 0;
    std::uint64_t cost = 0;
  };
  void Follow(const std::vector<dfs::StoredBlock>& blocks, Micros now);
  void Set(std::uint64_t id, Micros last);
  [[nodiscard]] double SlowestSpeed(Micros from) const;  // bytes a microsecond

  Micros period_;
  std::map<std::uint64_t, ScheduledScrub> blocks_;
  std::set<std::pair<Micros, std::uint64_t>> by_time_;  // last, id
  std::optional<Micros> began_;                         // when the previous reading began
  std::uint64_t cost_before_ = 0;                       // the cost of that reading
};

}  // namespace millrace::worker
