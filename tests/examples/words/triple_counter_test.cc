// SPDX-License-Identifier: Apache-2.0
#include "examples/words/triple_counter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace millrace::examples {
namespace {

using Counts = std::map<std::string, std::uint64_t>;
using Text = std::vector<std::string>;

// Bytes on both sides of the bar, and words that begin other words.
std::string RandomWord(Random& random) {
  static constexpr std::string_view kBytes = "abz{}~\x80\xff-";
  std::string word;
  const std::uint64_t size = 1 + (random.Below(30) == 0 ? random.Below(60) : random.Below(4));
  while (word.size() < size) word += kBytes[random.Below(kBytes.size())];
  return word;
}

Counts CountByHand(const std::vector<Text>& texts) {
  Counts counts;
  for (const Text& text : texts) {
    for (std::size_t i = 0; i + 2 < text.size(); ++i) ++counts[text[i] + "|" + text[i + 1] + "|" + text[i + 2]];
  }
  return counts;
}

struct Taken {
  Counts counts;
  std::uint64_t takes = 0;

  void Take(TripleCounter& counter, bool barred) {
    std::string last;
    ++takes;
    counter.Take([&](std::string_view triple, std::uint64_t count) {
      const std::string now = std::string(triple) + (barred ? "|" : "");
      EXPECT_TRUE(last.empty() || last < now) << last << " before " << now;
      last = now;
      counts[std::string(triple)] += count;
    });
  }
};

Taken CountTexts(const std::vector<Text>& texts, std::uint64_t memory, bool barred) {
  TripleCounter counter(memory, barred);
  Taken taken;
  for (const Text& text : texts) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (counter.Push(text[i])) continue;
      taken.Take(counter, barred);
      for (std::size_t back = std::min<std::size_t>(i, 2) + 1; back > 0; --back) {
        EXPECT_TRUE(counter.Push(text[i + 1 - back]));
      }
    }
    counter.EndText();
  }
  taken.Take(counter, barred);
  return taken;
}

TEST(TripleCounterTest, CountsInTheOrderOfTheText) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 40; ++round) {
    Text vocabulary(1 + random.Below(60));
    for (std::string& word : vocabulary) word = RandomWord(random);
    std::vector<Text> texts(1 + random.Below(4));
    for (Text& text : texts) {
      text.resize(random.Below(3000));
      for (std::string& word : text) word = vocabulary[random.Below(vocabulary.size())];
    }
    for (const bool barred : {false, true}) {
      const Taken roomy = CountTexts(texts, 64 << 20, barred);
      EXPECT_EQ(roomy.takes, 1u);
      EXPECT_EQ(roomy.counts, CountByHand(texts));
      EXPECT_EQ(CountTexts(texts, 1, barred).counts, CountByHand(texts));
    }
  }
}

// More different ones than the table holds.
TEST(TripleCounterTest, ATableThatIsFullIsTakenAndBegunAnew) {
  Text text;
  for (int i = 0; i < 120'000; ++i) text.push_back("word" + std::to_string(i));
  const Taken taken = CountTexts({text}, std::uint64_t{4} << 20, false);
  EXPECT_GT(taken.takes, 1u);
  EXPECT_EQ(taken.counts, CountByHand({text}));
}

TEST(TripleCounterTest, TextsOfFewerThanThreeWordsHaveNone) {
  EXPECT_TRUE(CountTexts({{}, {"a"}, {"a", "b"}, {}}, 1 << 20, false).counts.empty());
}

}  // namespace
}  // namespace millrace::examples
