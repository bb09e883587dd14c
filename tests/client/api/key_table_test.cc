// SPDX-License-Identifier: Apache-2.0
#include "client/api/key_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace millrace {
namespace {

// Not commutative: what comes out tells the order.
struct Append {
  void operator()(std::uint64_t& all, const std::uint64_t& more) const { all = all * 31 + more; }
};

TEST(KeyTableTest, FoldsTheValuesOfAKeyInTheirOrder) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  KeyTable<std::uint64_t, Append> table;
  for (int round = 0; round < 3; ++round) {
    std::map<std::string, std::uint64_t> expected, taken;
    for (int i = 0; i < 20'000; ++i) {
      std::string key = std::to_string(random.Below(1000));
      key.append(random.Below(4) == 0 ? 10 + key.size() % 30 : 0, 'x');  // to both sides of 16 bytes
      const std::uint64_t value = random.Below(100);
      ASSERT_FALSE(table.Add(key, value));
      const auto [at, first] = expected.emplace(key, value);
      if (!first) Append()(at->second, value);
    }
    table.TakeAll([&](std::string_view key, std::uint64_t value) {
      EXPECT_TRUE(taken.emplace(key, value).second) << key << " comes twice";
    });
    EXPECT_EQ(taken, expected);
  }
}

TEST(KeyTableTest, SaysWhenItIsFullAndIsEmptyAfterItWasTaken) {
  for (const std::size_t size : {8u, 100u}) {
    KeyTable<std::uint64_t, Append> table({}, std::uint64_t{4} << 20);
    std::size_t added = 0, taken = 0;
    const auto count = [&taken](std::string_view, std::uint64_t) { ++taken; };
    for (int times = 0; times < 3; ++times) {
      std::string key;
      do {
        key = std::to_string(added++);
        key.insert(0, size - key.size(), '0');
      } while (!table.Add(key, 1) && added < 10'000'000);
      table.TakeAll(count);
      EXPECT_EQ(taken, added) << "keys of " << size << " bytes";
      table.TakeAll(count);
      EXPECT_EQ(taken, added) << "they were taken";
    }
  }
}

}  // namespace
}  // namespace millrace
