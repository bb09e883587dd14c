// SPDX-License-Identifier: Apache-2.0
#include "client/api/key_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/api/large_array.h"

namespace millrace {
namespace {

TEST(OrderOfKeysTest, IsTheOrderOfBytesAndThenOfNumbers) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (const std::size_t count : {0u, 1u, 2u, 100u, 5000u}) {
    std::vector<std::string> keys(count);
    for (std::string& key : keys) {
      // Few bytes, zeros among them, so that many keys are equal or begin others.
      for (std::uint64_t n = random.Below(30); n > 0; --n)
        key.push_back(
            "\0\xff"
            "ab"[random.Below(8) == 0 ? random.Below(4) : 2]);
    }
    std::vector<std::uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 0u);
    std::ranges::stable_sort(expected, {}, [&](std::uint32_t i) { return std::string_view(keys[i]); });
    EXPECT_EQ(OrderOfKeys(count, [&](std::uint64_t i) { return std::string_view(keys[i]); }), expected);
  }
}

TEST(LargeArrayTest, BeginsAsZerosAndKeepsWhatIsWritten) {
  constexpr std::size_t kSize = 3'000'000;
  LargeArray<std::uint64_t> array(kSize);
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(array[i], 0u) << i;
  for (std::size_t i = 0; i < kSize; ++i) array[i] = i * i;
  const LargeArray<std::uint64_t> moved = std::move(array);
  EXPECT_EQ(moved[kSize - 1], (kSize - 1) * (kSize - 1));
  EXPECT_NE(LargeArray<char>(0).data(), nullptr);
  EXPECT_THROW(LargeArray<std::uint64_t>(std::size_t{1} << 58), std::bad_alloc);
}

}  // namespace
}  // namespace millrace
