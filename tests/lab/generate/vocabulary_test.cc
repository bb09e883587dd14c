// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "lab/generate/text.h"

namespace millrace::generate {
namespace {

TEST(Vocabulary, WordsAreLowerCaseDifferentAndOfTheSizeTold) {
  const Vocabulary words(400'000, 5);
  std::unordered_set<std::string_view> seen;
  for (std::uint32_t rank = 0; rank < words.size(); ++rank) {
    const std::string_view text = words.text(rank);
    ASSERT_TRUE(!text.empty() && text.size() <= Vocabulary::kLongest);
    ASSERT_TRUE(std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; })) << text;
    ASSERT_EQ(words[rank].bytes[text.size()], ' ');
    ASSERT_TRUE(seen.insert(text).second) << text << " comes twice";
  }
}

TEST(Vocabulary, SmallerOneIsTheBeginningOfALarger) {
  const Vocabulary small(1'000, 9), large(5'000, 9), other(1'000, 10);
  std::uint32_t alike = 0;
  for (std::uint32_t rank = 0; rank < small.size(); ++rank) {
    ASSERT_EQ(small.text(rank), large.text(rank));
    alike += small.text(rank) == other.text(rank) ? 1 : 0;
  }
  EXPECT_LT(alike, 100u);
}

TEST(Vocabulary, FrequentWordsAreShorter) {
  const Vocabulary words(100'000, 1);
  const auto mean = [&](std::uint32_t from, std::uint32_t to) {
    double sum = 0;
    for (std::uint32_t rank = from; rank < to; ++rank) sum += words[rank].size;
    return sum / (to - from);
  };
  EXPECT_LT(mean(0, 100), mean(1'000, 10'000));
  EXPECT_LT(mean(1'000, 10'000), mean(50'000, 100'000));
}

}  // namespace
}  // namespace millrace::generate
