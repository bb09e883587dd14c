// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/ordered_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace millrace::sched {
namespace {

std::vector<std::uint32_t> Members(const OrderedBits& bits) { return {bits.begin(), bits.end()}; }

TEST(OrderedBits, AnEmptySetHasNoFirst) {
  OrderedBits bits;
  EXPECT_TRUE(bits.empty());
  EXPECT_EQ(bits.First(), OrderedBits::kNone);
  EXPECT_FALSE(bits.Contains(0));
  bits.Erase(7);
  EXPECT_EQ(Members(bits), std::vector<std::uint32_t>());
}

TEST(OrderedBits, GrowsAcrossLevelsAndKeepsItsMembers) {
  OrderedBits bits;
  const std::vector<std::uint32_t> numbers = {0, 63, 64, 4095, 4096, 262143, 262144, 16777215};
  for (const auto number : numbers) bits.Insert(number);
  EXPECT_EQ(Members(bits), numbers);
  EXPECT_EQ(bits.NextFrom(65), 4095U);
  EXPECT_EQ(bits.NextFrom(16777216), OrderedBits::kNone);
}

TEST(OrderedBits, FullHoldsAllBelowItsCount) {
  for (const std::uint32_t count : {0U, 1U, 63U, 64U, 65U, 4096U, 4097U, 262145U}) {
    OrderedBits bits = OrderedBits::Full(count);
    EXPECT_EQ(bits.size(), count);
    const auto members = Members(bits);
    ASSERT_EQ(members.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(members[i], i);
    bits.Insert(count);  // the next one: grows where a word or a level is full
    EXPECT_EQ(bits.NextFrom(count), count);
  }
}

TEST(OrderedBits, ContainsAllOfASubset) {
  OrderedBits all = OrderedBits::Full(200), part;
  EXPECT_TRUE(all.ContainsAll(part));
  part.Insert(3);
  part.Insert(199);
  EXPECT_TRUE(all.ContainsAll(part));
  all.Erase(199);
  EXPECT_FALSE(all.ContainsAll(part));
  part.Erase(199);
  part.Insert(5000);
  EXPECT_FALSE(all.ContainsAll(part));
  part.Erase(5000);
  EXPECT_TRUE(all.ContainsAll(part));
}

TEST(OrderedBits, DoesAsAnOrderedSetDoes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  OrderedBits bits;
  std::set<std::uint32_t> model;
  for (int step = 0; step < 50000; ++step) {
    const std::uint32_t number = random() % (step % 3 == 0 ? 20000 : 200);
    if (random() % 2 == 0) {
      bits.Insert(number);
      model.insert(number);
    } else {
      bits.Erase(number);
      model.erase(number);
    }
    const std::uint32_t from = random() % 21000;
    const auto next = model.lower_bound(from);
    ASSERT_EQ(bits.NextFrom(from), next == model.end() ? OrderedBits::kNone : *next);
    ASSERT_EQ(bits.size(), model.size());
    ASSERT_EQ(bits.Contains(from), model.contains(from));
  }
  EXPECT_EQ(Members(bits), std::vector<std::uint32_t>(model.begin(), model.end()));
}

}  // namespace
}  // namespace millrace::sched
