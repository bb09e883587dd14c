// SPDX-License-Identifier: Apache-2.0
// CombineTable holds one value for each key, and folds further values into that value as they come. It uses open
// addressing with linear probing. A key of up to 16 bytes lies in its entry as two words, so that a comparison is two
// loads; a longer key lies in an arena, and its hash in the entry.
//
// Entries are placed by the lower bits of their hash. So a table that takes in the entries of another table, in that
// table's order, touches its own memory from front to back. That works only if it is not much smaller than the other:
// otherwise it would be crowded at its front while its back is empty. So a table that cannot get the wanted size places
// its entries by other bits (ScatterByHigherBits).
//   Value     trivially copyable
//   Combine   void operator()(Value& sum, const Value& value): folds `value` into `sum`
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "worker/task/collect/key_arena.h"
#include "worker/task/collect/page_buffer.h"
#include "worker/task/collect/partition.h"
#include "worker/task/run/key_words.h"

namespace millrace::map {

template <class Value, class Combine>
class CombineTable {
 public:
  // For a long key words.low is the address of its bytes and words.high its hash.
  struct FoldedKey {
    run::KeyWords words;
    std::uint64_t size_plus_one;  // of the key; 0: free
    Value value;

    [[nodiscard]] std::string_view key() const {
      const std::size_t size = size_plus_one - 1;
      if (size <= run::kKeyWordBytes) return {reinterpret_cast<const char*>(&words), size};
      return {reinterpret_cast<const char*>(words.low), size};
    }
    [[nodiscard]] std::uint64_t hash() const {
      const std::size_t size = size_plus_one - 1;
      return size <= run::kKeyWordBytes ? HashShortKey(words, size) : words.high;
    }
  };
  // A pair to be folded in. Its words are as in FoldedKey, but the bytes at the address live until Fold returns.
  struct Pair {
    run::KeyWords words;
    std::uint64_t hash;
    std::uint64_t size_plus_one;
    Value value;
  };
  static_assert(std::is_trivially_copyable_v<FoldedKey>);

  CombineTable(Combine combine, std::size_t arena_chunk) : combine_(combine), arena_(arena_chunk) {}

  // Makes an empty table of `bytes` bytes, rounded down to a power of two of entries. Returns false if the kernel gives
  // no memory.
  [[nodiscard]] bool Allocate(std::uint64_t bytes) {
    PageBuffer pages(std::bit_floor(std::max<std::uint64_t>(bytes / sizeof(FoldedKey), 1)) * sizeof(FoldedKey));
    if (pages.data() == nullptr) return false;
    Set(std::move(pages));
    used_ = 0;
    return true;
  }
  // Returns the size in bytes of a table with room for `keys` keys.
  [[nodiscard]] static std::uint64_t BytesFor(std::uint64_t keys) {
    return std::bit_ceil(keys / kFullNumerator * kFullDenominator + kFullDenominator) * sizeof(FoldedKey);
  }
  // Places entries by higher bits of the hash from now on. Requires: the table is empty.
  void ScatterByHigherBits() { shift_ = kHigherBits; }

  // Fetches the slots of the hash into the cache. It should be called some pairs before Fold.
  void Prefetch(std::uint64_t hash) const { __builtin_prefetch(&table_[(hash >> shift_) & mask_], 1); }
  // Folds the pairs into the table, in order. Requires: the table has room for as many new keys as there are pairs.
  void Fold(std::span<const Pair> pairs) {
    const Slots slots{table_, mask_, shift_};  // a copy, since for the compiler a fold may change any member
    for (const Pair& pair : pairs) {
      pair.size_plus_one - 1 <= run::kKeyWordBytes ? FoldShort(slots, pair) : FoldLong(slots, pair);
    }
  }
  [[nodiscard]] bool HasRoom(std::uint64_t keys) const { return used_ + keys <= limit_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t table_bytes() const { return pages_.size(); }
  [[nodiscard]] std::uint64_t arena_bytes() const { return arena_.bytes(); }

  // Grows the table to twice its size. Returns false if there is no memory.
  [[nodiscard]] bool Grow() {
    PageBuffer bigger(2 * pages_.size());
    if (bigger.data() == nullptr) return false;
    const std::span<FoldedKey> old(table_, mask_ + 1);
    const PageBuffer old_pages = std::exchange(pages_, PageBuffer());
    Set(std::move(bigger));
    for (const FoldedKey& entry : old) {
      if (entry.size_plus_one == 0) continue;
      std::uint64_t at = (entry.hash() >> shift_) & mask_;
      while (table_[at].size_plus_one != 0) at = (at + 1) & mask_;
      table_[at] = entry;
    }
    return true;
  }

  // Moves the entries side by side and returns them, in the order of their places. Requires: nothing is folded in after
  // this call until Clear.
  [[nodiscard]] std::span<const FoldedKey> Compact() {
    std::size_t count = 0;
    for (std::uint64_t at = 0; at <= mask_; ++at) {
      if (table_[at].size_plus_one != 0) table_[count++] = table_[at];
    }
    return {table_, count};
  }
  // Returns the part of the table after the entries. It has room for one item of half an entry's size for each entry.
  // Requires: Compact was called.
  [[nodiscard]] std::span<FoldedKey> Rest() { return {table_ + used_, mask_ + 1 - used_}; }
  void Clear() {
    std::memset(static_cast<void*>(pages_.data()), 0, pages_.size());
    arena_.Clear();
    used_ = 0;
  }

 private:
  // The slots in which pairs are looked up.
  struct Slots {
    FoldedKey* entries;
    std::uint64_t mask;
    unsigned shift;
  };
  // The highest load. It leaves room after the entries for one item of half an entry's size for each, while a table is
  // sorted.
  static constexpr std::uint64_t kFullNumerator = 5, kFullDenominator = 8;
  // These bits are above those of any table that fits a machine, and below those that choose the reduce (partition.h).
  static constexpr unsigned kHigherBits = 20;

  void Set(PageBuffer pages) {
    pages_ = std::move(pages);
    table_ = reinterpret_cast<FoldedKey*>(pages_.data());
    mask_ = pages_.size() / sizeof(FoldedKey) - 1;
    limit_ = (mask_ + 1) / kFullDenominator * kFullNumerator;
  }

  void FoldShort(const Slots& slots, const Pair& pair) {
    for (std::uint64_t at = (pair.hash >> slots.shift) & slots.mask;; at = (at + 1) & slots.mask) {
      FoldedKey& entry = slots.entries[at];
      const std::uint64_t differs = (entry.words.low ^ pair.words.low) | (entry.words.high ^ pair.words.high) |
                                    (entry.size_plus_one ^ pair.size_plus_one);
      if (differs == 0) [[likely]]
        return combine_(entry.value, pair.value);
      if (entry.size_plus_one == 0) {
        entry = {pair.words, pair.size_plus_one, pair.value};
        ++used_;
        return;
      }
    }
  }

  void FoldLong(const Slots& slots, const Pair& pair) {
    const auto* const bytes = reinterpret_cast<const char*>(pair.words.low);
    const std::size_t size = pair.size_plus_one - 1;
    for (std::uint64_t at = (pair.hash >> slots.shift) & slots.mask;; at = (at + 1) & slots.mask) {
      FoldedKey& entry = slots.entries[at];
      if (entry.size_plus_one == 0) {
        const char* const copy = arena_.Copy({bytes, size});
        entry = {{reinterpret_cast<std::uint64_t>(copy), pair.hash}, pair.size_plus_one, pair.value};
        ++used_;
        return;
      }
      if (entry.words.high == pair.hash && entry.size_plus_one == pair.size_plus_one &&
          std::memcmp(entry.key().data(), bytes, size) == 0) {
        return combine_(entry.value, pair.value);
      }
    }
  }

  Combine combine_;
  FoldedKey* table_ = nullptr;
  std::uint64_t mask_ = 0;
  unsigned shift_ = 0;
  std::uint64_t used_ = 0;   // entries
  std::uint64_t limit_ = 0;  // the most entries
  PageBuffer pages_;
  KeyArena arena_;  // long keys
};

}  // namespace millrace::map
