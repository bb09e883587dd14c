// SPDX-License-Identifier: Apache-2.0
// Splits text into words at ASCII white space, and keeps a table of the words. Words of up to 16 bytes lie in the slot,
// two slots to a cache line. They are taken in batches: all words of a batch are hashed and their slots prefetched
// before the first is looked up, so that the cache misses overlap. Longer words, which are rare, go to a map beside the
// table.
#pragma once

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "tests/bench/limits/common.h"

namespace millrace::limits {

inline std::uint32_t SpaceMask(const char* at) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i from_tab = _mm256_sub_epi8(bytes, _mm256_set1_epi8('\t'));
  const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(from_tab, _mm256_set1_epi8(4)), from_tab);
  const __m256i blank = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(control, blank)));
}

// Calls on_word(begin, size) for each word. Reads up to 64 bytes past the end of the text.
template <class OnWord>
void ForEachWord(std::string_view text, OnWord&& on_word) {
  const char* word = text.data();
  const char* const end = text.data() + text.size();
  for (const char* at = word; at < end; at += 64) {
    std::uint64_t spaces = SpaceMask(at) | std::uint64_t{SpaceMask(at + 32)} << 32;
    if (end - at < 64) spaces &= (std::uint64_t{1} << (end - at)) - 1;
    for (; spaces != 0; spaces &= spaces - 1) {
      const char* const stop = at + std::countr_zero(spaces);
      if (stop > word) on_word(word, static_cast<std::size_t>(stop - word));
      word = stop + 1;
    }
  }
  if (end > word) on_word(word, static_cast<std::size_t>(end - word));
}

struct Key {
  static constexpr std::size_t kMost = 16;
  std::uint64_t low, high;

  static Key Of(const char* word, std::size_t size) {
    alignas(32) static constexpr std::uint8_t kOnes[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                           255, 255, 255, 255, 255, 255, 255, 255};
    const __m128i mask = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOnes + 16 - size));
    const __m128i bytes = _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(word)), mask);
    return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes)),
            static_cast<std::uint64_t>(_mm_extract_epi64(bytes, 1))};
  }
  [[nodiscard]] std::uint64_t Hash() const {
    const auto product = static_cast<unsigned __int128>(low ^ 0x9e3779b97f4a7c15) * (high ^ 0xbf58476d1ce4e5b9);
    return (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64)) * 0x94d049bb133111eb;
  }
  bool operator==(const Key&) const = default;
};

// Value is an unsigned number. combine(present value, pushed value) returns the new value of a word; it must not return
// zero, which is the value of a new word.
template <class Value, class Combine>
class WordTable {
 public:
  struct Slot {
    Key key;
    Value value;
    std::uint32_t size;
  };
  static_assert(sizeof(Slot) == 32);

  explicit WordTable(std::size_t capacity = std::size_t{1} << 17, Combine combine = {})
      : capacity_(capacity), slots_(Huge<Slot>(capacity)), combine_(combine) {}

  // Adds a word. Values are combined in the order of the calls, at the latest by Flush.
  void Push(const char* word, std::size_t size, Value value) {
    if (size > Key::kMost) {
      Flush();
      PushLong(std::string(word, size), value);
      return;
    }
    Pending& next = pending_[waiting_];
    next = {Key::Of(word, size), value, static_cast<std::uint32_t>(size), 0};
    next.hash = next.key.Hash();
    __builtin_prefetch(&slots_[next.hash >> Shift()], 1);
    if (++waiting_ == kBatch) Flush();
  }
  void PushLong(const std::string& word, Value value) {
    Value& known = long_[word];
    known = combine_(known, value);
  }
  void Flush() {
    for (std::size_t i = 0; i < waiting_; ++i) {
      Slot& slot = Find(pending_[i]);
      slot.value = combine_(slot.value, pending_[i].value);
    }
    waiting_ = 0;
    if (used_ > capacity_ / 2) Grow(capacity_ * 4);
  }
  // Returns the words of `tables` that belong to thread t. Requires: nobody changes the tables meanwhile.
  static WordTable Share(const WordTable (&tables)[kThreads], int t) {
    std::size_t most = 0;
    for (const WordTable& table : tables) most += table.used_;
    // This table never grows: slots come in the order of their hashes, and would first crowd the beginning of a small
    // table.
    WordTable share(std::bit_ceil(most + 1024));
    for (const WordTable& table : tables) share.Take(table, t);
    return share;
  }

  struct Item {
    std::uint64_t prefix;  // the first eight bytes, as a number with the same order
    std::string_view word;
    Value value;
  };
  [[nodiscard]] std::vector<Item> Sorted() const {
    std::vector<Item> items;
    items.reserve(used_ + long_.size());
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (slots_[i].value != 0) items.push_back(ItemOf(slots_[i]));
    }
    for (const auto& [word, value] : long_) {
      std::uint64_t prefix;
      std::memcpy(&prefix, word.data(), sizeof prefix);
      items.push_back({__builtin_bswap64(prefix), word, value});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : a.word < b.word;
    });
    return items;
  }
  [[nodiscard]] std::size_t size() const { return used_ + long_.size(); }

 private:
  static constexpr std::size_t kBatch = 128;
  struct Pending {
    Key key;
    Value value;
    std::uint32_t size;
    std::uint64_t hash;
  };

  void Take(const WordTable& other, int t) {
    for (std::size_t i = 0; i < other.capacity_; ++i) {
      const Slot& slot = other.slots_[i];
      if (slot.value == 0) continue;
      const std::uint64_t hash = slot.key.Hash();
      if (static_cast<int>(hash % kThreads) != t) continue;
      pending_[waiting_] = {slot.key, slot.value, slot.size, hash};
      __builtin_prefetch(&slots_[hash >> Shift()], 1);
      if (++waiting_ == kBatch) Flush();
    }
    Flush();
    for (const auto& [word, value] : other.long_) {
      if (static_cast<int>(word.size() % kThreads) == t) PushLong(word, value);
    }
  }
  [[nodiscard]] int Shift() const { return 64 - std::countr_zero(capacity_); }
  // Returns the word's slot, or a new one with the value 0.
  Slot& Find(const Pending& word) {
    for (std::size_t i = word.hash >> Shift();; i = (i + 1) & (capacity_ - 1)) {
      Slot& slot = slots_[i];
      if (slot.value == 0) {
        slot = {word.key, 0, word.size};
        ++used_;
        return slot;
      }
      if (slot.key == word.key && slot.size == word.size) return slot;
    }
  }
  void Grow(std::size_t capacity) {
    const std::size_t old_capacity = std::exchange(capacity_, capacity);
    Slot* const old = std::exchange(slots_, Huge<Slot>(capacity));
    used_ = 0;
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].value != 0) Find({old[i].key, 0, old[i].size, old[i].key.Hash()}).value = old[i].value;
    }
    Free(old, old_capacity);
  }
  static Item ItemOf(const Slot& slot) {
    return {__builtin_bswap64(slot.key.low), {reinterpret_cast<const char*>(&slot.key), slot.size}, slot.value};
  }

  std::size_t capacity_, used_ = 0;
  Slot* slots_;
  Combine combine_;
  std::unordered_map<std::string, Value> long_;
  Pending pending_[kBatch];
  std::size_t waiting_ = 0;
};

}  // namespace millrace::limits
