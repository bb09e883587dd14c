// SPDX-License-Identifier: Apache-2.0
// OrderOfKeys sorts many keys at once, for a job that numbers or sorts the keys that it holds. It is a radix sort and
// looks at few bytes of most keys (worker/task/collect/item_sort.h).
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "worker/task/collect/item_sort.h"

namespace millrace {

// Returns the numbers below `count` in the order of the bytes of key_of(number), which is a std::string_view; equal
// keys keep the order of their numbers. key_of is called more than once for a number. Requires: count < 2^32.
template <class KeyOf>
[[nodiscard]] std::vector<std::uint32_t> OrderOfKeys(std::size_t count, const KeyOf& key_of) {
  std::vector<map::SortItem> items;
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) items.push_back({map::PrefixOf(key_of(i)), i});
  map::ItemSorter(key_of).Sort(items, 1);
  std::vector<std::uint32_t> order;
  order.reserve(count);
  for (const map::SortItem& item : items) order.push_back(static_cast<std::uint32_t>(item.position()));
  return order;
}

}  // namespace millrace
