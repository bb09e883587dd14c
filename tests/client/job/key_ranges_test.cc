// SPDX-License-Identifier: Apache-2.0
#include "client/job/key_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Cuts = std::vector<std::string>;

std::vector<WeighedKey> Keys(const std::vector<std::pair<std::string, double>>& pairs) {
  std::vector<WeighedKey> keys;
  for (const auto& [key, weight] : pairs) keys.push_back({key, weight});
  return keys;
}

TEST(KeyRangesTest, ARangeBeginsWithItsCut) {
  const KeyRanges ranges({"b", "bb", std::string("bb\0", 3), std::string(12, '\xff')});
  EXPECT_EQ(ranges.ranges(), 5u);
  EXPECT_EQ(ranges.Find(""), 0u);
  EXPECT_EQ(ranges.Find("azzzzzzzzzzzz"), 0u);
  EXPECT_EQ(ranges.Find("b"), 1u);
  EXPECT_EQ(ranges.Find("ba\xff\xff"), 1u);
  EXPECT_EQ(ranges.Find("bb"), 2u);
  EXPECT_EQ(ranges.Find(std::string("bb\0", 3)), 3u) << "of the same eight bytes, with zeros";
  EXPECT_EQ(ranges.Find(std::string(11, '\xff')), 3u);
  EXPECT_EQ(ranges.Find(std::string(12, '\xff')), 4u);
  EXPECT_EQ(KeyRanges().Find("x"), 0u);
}

TEST(KeyRangesTest, FindsWhatCountingFinds) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto key = [&random] {
    std::string text;
    for (std::uint64_t i = random.Below(14); i > 0; --i)
      text.push_back(static_cast<char>(random.Below(random.Below(2) == 0 ? 2 : 256)));
    return text;
  };
  for (const std::uint32_t ranges : {1u, 2u, 7u, 256u, 1000u}) {
    std::vector<WeighedKey> sample;
    for (int i = 0; i < 5000; ++i) sample.push_back({key(), 1});
    const Cuts cuts = CutKeys(sample, ranges);
    ASSERT_LT(cuts.size(), ranges);
    const KeyRanges found(ParseCuts(FormatCuts(cuts)).value());
    for (int i = 0; i < 2000; ++i) {
      const std::string wanted = i % 2 == 0 || cuts.empty() ? key() : cuts[random.Below(cuts.size())];
      ASSERT_EQ(found.Find(wanted), std::ranges::count_if(cuts, [&](const std::string& cut) { return cut <= wanted; }));
    }
  }
}

TEST(CutKeysTest, EqualSharesAndShortCuts) {
  std::vector<WeighedKey> keys;
  for (char c = 'z'; c >= 'a'; --c) keys.push_back({std::string(3, c), 1});
  EXPECT_EQ(CutKeys(keys, 2), Cuts{"n"});
  EXPECT_EQ(CutKeys(keys, 1), Cuts());
  EXPECT_EQ(CutKeys({}, 3), Cuts());
  EXPECT_EQ(CutKeys(Keys({{"banana", 1}, {"bandana", 1}}), 2), Cuts{"band"});
}

TEST(CutKeysTest, AHeavyKeyHasARangeOfItsOwn) {
  EXPECT_EQ(CutKeys(Keys({{"a", 1}, {"b", 1}, {"heavy", 90}, {"x", 1}, {"y", 1}, {"z", 2}}), 4), (Cuts{"h", "x", "z"}));
  EXPECT_EQ(CutKeys(Keys({{"a", 1}, {"heavy", 45}, {"b", 1}, {"heavy", 45}}), 3), (Cuts{"b", "h"}))
      << "what comes twice weighs twice";
  EXPECT_EQ(CutKeys(Keys({{"a", 5}, {"b", 5}}), 8), Cuts{"b"}) << "fewer keys than ranges";
}

// The heaviest range that holds more than one key weighs no more than in the best of all cuts, which are tried.
TEST(CutKeysTest, AsGoodAsTryingAll) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random.Below(9);
    std::vector<WeighedKey> keys;
    for (std::size_t i = 0; i < count; ++i)
      keys.push_back({std::string(1, static_cast<char>('a' + i)), 1.0 + static_cast<double>(random.Below(20))});
    const auto ranges = static_cast<std::uint32_t>(1 + random.Below(5));
    // `bits` says after which keys a range ends.
    const auto heaviest = [&](std::uint32_t bits) {
      double most = 0, sum = 0;
      int of = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sum += keys[i].weight;
        ++of;
        if (i + 1 == count || (bits >> i & 1) != 0) {
          if (of > 1) most = std::max(most, sum);
          sum = 0;
          of = 0;
        }
      }
      return most;
    };
    double best = 1e9;
    for (std::uint32_t bits = 0; bits < 1u << (count - 1); ++bits) {
      if (std::popcount(bits) < static_cast<int>(ranges)) best = std::min(best, heaviest(bits));
    }
    std::uint32_t got = 0;
    for (const std::string& cut : CutKeys(keys, ranges)) got |= 1u << (cut[0] - 'a' - 1);
    ASSERT_LT(std::popcount(got), static_cast<int>(ranges));
    ASSERT_LE(heaviest(got), best);
  }
}

TEST(CutTextTest, IsReadBack) {
  const Cuts cuts{std::string("\0\x01", 2), "a,b", "http://a/1", "http://a/2", "http://b", "\xff"};
  EXPECT_EQ(FormatCuts(cuts), "%00%01,a%2Cb,http%3A%2F%2Fa%2F1,9+2,7+b,%FF");
  EXPECT_EQ(ParseCuts(FormatCuts(cuts)).value(), cuts);
  EXPECT_EQ(ParseCuts("")->size(), 0u);
  EXPECT_THAT(ParseCuts("%ff%Ff,%ff%ff%00").value(), ElementsAre("\xff\xff", std::string("\xff\xff\0", 3)));
}

TEST(CutTextTest, OtherTextIsRefused) {
  for (const char* text : {",", "a,", "a b", "%", "%1", "%1g", "%-1", "1+a", "a,2+b", "a,+b", "a,-1+b", "a,1+",
                           "a,99999999999999999999+b"})
    EXPECT_EQ(ParseCuts(text).status().code(), StatusCode::kInvalid) << text;
  EXPECT_THAT(ParseCuts("b,a").status().message(), HasSubstr("do not rise"));
  EXPECT_THAT(ParseCuts("a,a").status().message(), HasSubstr("do not rise"));
}

TEST(CutTextTest, LongCutsAreShortenedUntilTheyFit) {
  Random random(1);
  Cuts cuts;
  for (int i = 0; i < 999; ++i) {
    std::string cut;
    for (int j = 0; j < 1000; ++j) cut.push_back(static_cast<char>(random.Below(256)));
    cuts.push_back(cut);
  }
  std::ranges::sort(cuts);
  const std::string text = FormatCuts(cuts);
  EXPECT_LE(text.size(), kMostCutText);
  const Result<Cuts> read = ParseCuts(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_GT(read->size(), 950u);
}

}  // namespace
}  // namespace millrace
