// SPDX-License-Identifier: Apache-2.0
// SortedRows against std::set, with more elements than a row holds.
#include "schedulers/offering/sorted_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace millrace::sched {
namespace {

TEST(SortedRows, AreWhatASetIs) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  SortedRows<std::uint32_t> rows;
  std::set<std::uint32_t> set;
  std::size_t most = 0;
  for (int step = 0; step < 20000; ++step) {
    // Grows and shrinks in turn, to nothing and above many rows.
    const bool shrinks = step / 2000 % 2 == 1;
    const std::uint32_t value = static_cast<std::uint32_t>(random() % 2000);
    if (shrinks && !set.empty()) {
      auto at = set.lower_bound(value);
      if (at == set.end()) at = set.begin();
      rows.Erase(*at);
      set.erase(at);
    } else if (set.insert(value).second) {
      rows.Insert(value);
    }
    most = std::max(most, set.size());
    ASSERT_EQ(rows.empty(), set.empty());
    const auto behind = rows.Behind(value);
    const auto expected = set.upper_bound(value);
    ASSERT_EQ(behind == rows.end(), expected == set.end());
    if (expected != set.end()) {
      ASSERT_EQ(*behind, *expected);
    }
    if (step % 50 != 0) continue;
    std::vector<std::uint32_t> walked;
    for (const std::uint32_t element : rows) walked.push_back(element);
    ASSERT_EQ(walked, std::vector<std::uint32_t>(set.begin(), set.end()));
  }
  EXPECT_GT(most, 500U);
}

}  // namespace
}  // namespace millrace::sched
