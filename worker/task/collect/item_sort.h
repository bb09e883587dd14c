// SPDX-License-Identifier: Apache-2.0
// The order of a run: by partition, then key bytes, then order of emission. Items are sorted in place. The sort does
// not look at the keys as long as their first 8 bytes decide. It is a most-significant-digit radix sort (American flag:
// McIlroy, Bostic, McIlroy, "Engineering radix sort", Computing Systems 1993). For items that agree in 8 bytes, it
// loads the next 8 bytes of their keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "worker/task/run/key_words.h"

namespace millrace::map {

inline constexpr int kPositionBits = 40;
inline constexpr std::uint32_t kMaxPartitions = std::uint32_t{1} << (64 - kPositionBits);

struct SortItem {
  std::uint64_t prefix;  // 8 key bytes, big-endian, padded with zeros
  std::uint64_t place;   // the record's position (rising with emission) in the lower kPositionBits, the partition above

  [[nodiscard]] std::uint32_t partition() const { return static_cast<std::uint32_t>(place >> kPositionBits); }
  [[nodiscard]] std::uint64_t position() const { return place & ((std::uint64_t{1} << kPositionBits) - 1); }
};

[[nodiscard]] inline std::uint64_t PrefixOf(std::string_view key) {
  return __builtin_bswap64(run::LoadKeyWords(key).low);
}

// KeyOf returns the key bytes (std::string_view) at a position.
template <class KeyOf>
class ItemSorter {
 public:
  explicit ItemSorter(KeyOf key_of) : key_of_(key_of) {}

  // Sorts the items and overwrites their prefixes. Requires: the prefix of each item is the first 8 bytes of its key.
  void Sort(std::span<SortItem> items, std::uint32_t partitions) {
    if (partitions == 1) return ByPrefix(items, kTopDigit, 0);
    std::vector<std::size_t> ends(partitions);
    for (const SortItem& item : items) ++ends[item.partition()];
    Distribute(items, std::span(ends), [](const SortItem& item) { return item.partition(); });
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      ByPrefix(items.subspan(begin, end - begin), kTopDigit, 0);
      begin = end;
    }
  }

 private:
  static constexpr int kTopDigit = 56;
  static constexpr std::size_t kSmall = 96;                    // up to this number of items comparisons are quicker
  static constexpr std::size_t kMaxRadixDepth = 64;            // key bytes; beyond these, keys are compared directly
  static constexpr std::size_t kByPosition = ~std::size_t{0};  // a depth that says that the prefix is the position

  // Turns the `counts` by bucket into the buckets' ends. Every item is moved to its bucket at most once.
  template <class Digit>
  static void Distribute(std::span<SortItem> items, std::span<std::size_t> counts, Digit digit) {
    std::vector<std::size_t> many;
    std::array<std::size_t, 256> few;
    std::size_t* next = few.data();
    if (counts.size() > few.size()) {
      many.resize(counts.size());
      next = many.data();
    }
    std::size_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      next[i] = sum;
      sum += counts[i];
      counts[i] = sum;
    }
    for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
      while (next[bucket] < counts[bucket]) {
        SortItem item = items[next[bucket]];
        for (std::size_t home = digit(item); home != bucket; home = digit(item)) std::swap(item, items[next[home]++]);
        items[next[bucket]++] = item;
      }
    }
  }

  // `depth` is the number of key bytes before those in the prefix.
  void ByPrefix(std::span<SortItem> items, int shift, std::size_t depth) {
    if (items.size() <= kSmall) return BySmall(items, depth);
    const auto digit = [&shift](const SortItem& item) { return (item.prefix >> shift) & 0xff; };
    std::array<std::size_t, 256> ends;
    while (true) {
      ends.fill(0);
      for (const SortItem& item : items) ++ends[digit(item)];
      if (ends[digit(items[0])] != items.size()) break;
      if (shift == 0) return ByNext(items, depth);
      shift -= 8;
    }
    Distribute(items, std::span(ends), digit);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      if (end - begin > 1) {
        const auto bucket = items.subspan(begin, end - begin);
        shift == 0 ? ByNext(bucket, depth) : ByPrefix(bucket, shift - 8, depth);
      }
      begin = end;
    }
  }

  void BySmall(std::span<SortItem> items, std::size_t depth) {
    std::sort(items.begin(), items.end(), [this, depth](const SortItem& a, const SortItem& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : LessBehind(a, b, depth);
    });
  }

  bool LessBehind(const SortItem& a, const SortItem& b, std::size_t depth) {
    if (depth == kByPosition) return a.place < b.place;
    const std::string_view x = key_of_(a.position()), y = key_of_(b.position());
    const int order = x.substr(std::min(depth, x.size())).compare(y.substr(std::min(depth, y.size())));
    return order != 0 ? order < 0 : a.place < b.place;
  }

  // Sorts items that agree in the prefix and in all bytes before it. Keys that end within the prefix come first: the
  // prefix extends them only by zeros, and every longer key begins with the whole prefix.
  void ByNext(std::span<SortItem> items, std::size_t depth) {
    if (items.size() <= kSmall) return BySmall(items, depth);
    const std::size_t reach = depth + sizeof(SortItem::prefix);
    const auto longer = std::partition(items.begin(), items.end(), [this, reach](const SortItem& item) {
      return key_of_(item.position()).size() <= reach;
    });
    const auto ended = static_cast<std::size_t>(longer - items.begin());
    ByLength(items.first(ended));
    const auto rest = items.subspan(ended);
    if (reach >= kMaxRadixDepth) return BySmall(rest, reach - sizeof(SortItem::prefix));
    for (SortItem& item : rest) item.prefix = PrefixOf(key_of_(item.position()).substr(reach));
    if (!rest.empty()) ByPrefix(rest, kTopDigit, reach);
  }

  // Sorts keys that differ only in their length.
  void ByLength(std::span<SortItem> items) {
    const auto length = [this](const SortItem& item) { return key_of_(item.position()).size(); };
    while (!items.empty()) {
      std::size_t shortest = length(items[0]);
      for (const SortItem& item : items) shortest = std::min(shortest, length(item));
      const auto behind =
          std::partition(items.begin(), items.end(), [&](const SortItem& item) { return length(item) == shortest; });
      const auto equal = items.first(static_cast<std::size_t>(behind - items.begin()));
      for (SortItem& item : equal) item.prefix = item.position() << (64 - kPositionBits);
      ByPrefix(equal, kTopDigit, kByPosition);
      items = items.subspan(equal.size());
    }
  }

  KeyOf key_of_;
};

}  // namespace millrace::map
