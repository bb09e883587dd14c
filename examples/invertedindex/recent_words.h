// RecentWords: remembers words of one file, in bounded memory, so that a word that is frequent there is emitted once or
// a few times instead of each time. It may forget a word, never take one for another.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "worker/map/partition.h"

namespace millrace::examples {

class RecentWords {
 public:
  RecentWords() : slots_(kSlots) {}

  // A new file: nothing is remembered.
  void Clear() {
    if (++generation_ != 0) return;
    slots_.assign(kSlots, Slot{});
    generation_ = 1;
  }
  // True if the word is remembered; it is from now on, in place of another one, unless it is long.
  bool Seen(std::string_view word) {
    if (word.size() > kLongest) return false;
    Slot& slot = slots_[map::HashKey(word) % kSlots];
    if (slot.generation == generation_ && slot.size == word.size() &&
        std::memcmp(slot.bytes, word.data(), word.size()) == 0) {
      return true;
    }
    slot.generation = generation_;
    slot.size = static_cast<std::uint8_t>(word.size());
    std::memcpy(slot.bytes, word.data(), word.size());
    return false;
  }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 16;
  static constexpr std::size_t kLongest = 27;
  struct Slot {
    std::uint32_t generation = 0;
    std::uint8_t size = 0;
    char bytes[kLongest] = {};
  };

  std::vector<Slot> slots_;
  std::uint32_t generation_ = 1;
};

}  // namespace millrace::examples
