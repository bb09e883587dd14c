// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/task/run/compress_choice.h"

namespace millrace::run {
namespace {

constexpr CompressionFigures kText{0.27e9, 2.1};  // zstd level 1 on words, a core

struct Case {
  const char* what;
  ShuffleLink link;  // bytes per second, crossing, waited, maps
  CompressionFigures figures;
  bool begins, goes_on;  // after a map that was not compressed, and one that was
};

// By hand, per raw byte on the first line: moving what zstd takes away 0.5 * (1 - 1/2.1) / 50e6 = 5.2 ns, compressing
// 1 / (2 * 0.27e9) = 1.9 ns.
TEST(CompressRule, SavesMoreThanItCosts) {
  const std::vector<Case> cases = {
      {"50 MB/s, two workers", {50e6, 0.5, 1, 2}, kText, true, true},
      {"100 MB/s: 2.6 ns to 1.9", {100e6, 0.5, 1, 2}, kText, true, true},
      {"125 MB/s: 2.1 ns to 1.9, within the band", {125e6, 0.5, 1, 2}, kText, false, true},
      {"160 MB/s: 1.6 ns to 1.9, within the band", {160e6, 0.5, 1, 2}, kText, false, true},
      {"200 MB/s: 1.3 ns to 1.9", {200e6, 0.5, 1, 2}, kText, false, false},
      {"loopback", {3.3e9, 0.5, 1, 2}, kText, false, false},
      {"nearly all crosses", {200e6, 0.99, 1, 2}, kText, true, true},
      {"one worker: nothing crosses", {1e6, 0, 1, 2}, kText, false, false},
      {"many cores", {1e9, 0.9, 1, 32}, kText, true, true},
      {"one core", {160e6, 0.9, 1, 1}, kText, false, false},
      {"the copies wait for maps", {50e6, 0.5, 0.2, 2}, kText, false, false},
      {"the copies wait for maps most of the time", {50e6, 0.5, 0.4, 2}, kText, false, true},
      {"no link was measured", {0, 0.5, 1, 2}, kText, false, false},
      {"no record was measured", {50e6, 0.5, 1, 2}, {}, false, false},
      {"noise, which does not shrink", {1e6, 1, 1, 2}, {1e9, 1}, false, false},
      {"shrinks by a tenth", {50e6, 0.5, 1, 2}, {0.4e9, 1.1}, false, false},
      {"a count of maps that is missing is one", {20e6, 0.5, 1, 0}, kText, true, true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(CompressionPays(c.link, c.figures, false), c.begins) << c.what;
    EXPECT_EQ(CompressionPays(c.link, c.figures, true), c.goes_on) << c.what;
  }
}

// A rate that wanders within the band changes the decision at most once.
TEST(CompressRule, DoesNotFlap) {
  bool compressed = false;
  int changes = 0;
  for (int i = 0; i < 100; ++i) {
    const ShuffleLink link{i % 2 == 0 ? 115e6 : 165e6, 0.5, 1, 2};
    const bool next = CompressionPays(link, kText, compressed);
    changes += next != compressed ? 1 : 0;
    compressed = next;
  }
  EXPECT_LE(changes, 1);
}

TEST(CompressRule, SamplesOnlyWhereItCouldPay) {
  EXPECT_TRUE(CompressionCouldPay({100e6, 0.5, 1, 2}));
  EXPECT_FALSE(CompressionCouldPay({3.3e9, 0.5, 1, 2}));
  EXPECT_FALSE(CompressionCouldPay({100e6, 0, 1, 2}));
  EXPECT_FALSE(CompressionCouldPay({}));
}

class CompressChoiceTest : public testing::Test {
 protected:
  bool Map(std::size_t first, std::uint64_t expected, const ShuffleLink& link = kSlow, double core_share = 1) {
    if (!choice_.Begin(link, [core_share] { return core_share; })) return false;
    return choice_.Choose(std::string(first, 'x'), expected);
  }
  static constexpr ShuffleLink kSlow{50e6, 0.5, 1, 2};
  std::vector<std::size_t> samples_;
  CompressionFigures figures_ = kText;
  CompressChoice choice_{[this](std::string_view sample) {
    samples_.push_back(sample.size());
    return figures_;
  }};
};

TEST_F(CompressChoiceTest, SamplesAFrameOfALargeMap) {
  EXPECT_TRUE(Map(64 << 10, 64 << 20));
  EXPECT_EQ(samples_, std::vector<std::size_t>{64 << 10});
}

TEST_F(CompressChoiceTest, SamplesOneInAHundredBytesAtTheMost) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t expected : {100'000, 1'000'000, 50'000, 3'000'000, 20'000'000, 700'000, 700'000}) {
    (void)Map(std::min<std::uint64_t>(expected, 64 << 10), expected);
    bytes += expected;
    EXPECT_LE(choice_.sampled_bytes() * 100, bytes);
  }
  EXPECT_GE(samples_.size(), 3u);
}

TEST_F(CompressChoiceTest, SmallMapsAreNotCompressedUntilTogetherTheyAreWorthASample) {
  EXPECT_FALSE(Map(64 << 10, 200'000));
  EXPECT_TRUE(samples_.empty());
  EXPECT_FALSE(Map(64 << 10, 200'000));
  EXPECT_TRUE(Map(64 << 10, 200'000));
  EXPECT_TRUE(Map(64 << 10, 200'000)) << "by the last sample";
  EXPECT_EQ(samples_.size(), 1u);
}

TEST_F(CompressChoiceTest, NeitherSamplesNorCompressesWhereNothingCrosses) {
  EXPECT_FALSE(Map(64 << 10, 64 << 20, {50e6, 0, 1, 2}));
  EXPECT_FALSE(Map(64 << 10, 64 << 20, {3e9, 0.5, 1, 2}));
  EXPECT_TRUE(samples_.empty());
}

TEST_F(CompressChoiceTest, FollowsRecordsThatChange) {
  EXPECT_TRUE(Map(64 << 10, 64 << 20));
  figures_.ratio = 1.01;
  EXPECT_FALSE(Map(64 << 10, 64 << 20));
}

TEST_F(CompressChoiceTest, CoresThatAreShortCompressLess) {
  EXPECT_FALSE(Map(64 << 10, 64 << 20, kSlow, 0.3));
  EXPECT_TRUE(Map(64 << 10, 64 << 20, kSlow, 1));
  EXPECT_TRUE(Map(64 << 10, 64 << 20, kSlow, 0.4)) << "goes on within the band";
}

TEST(CompressChoice, MeasuresWhatZstdBrings) {
  CompressChoice choice;
  std::string words;
  for (int i = 0; words.size() < (64 << 10); ++i) words += "word" + std::to_string(i * 7919 % 1000) + " ";
  ASSERT_TRUE(choice.Begin({1e6, 1, 1, 1}, CoreShare()));
  EXPECT_TRUE(choice.Choose(words, 64 << 20)) << "on a link of 1 MB/s";
  std::string noise(64 << 10, '\0');
  std::uint64_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  ASSERT_TRUE(choice.Begin({1e6, 1, 1, 1}, CoreShare()));
  EXPECT_FALSE(choice.Choose(noise, 64 << 20));
}

TEST(CoreShare, IsAPartOfACore) {
  const CoreShare share;
  EXPECT_GT(share(), 0);
  EXPECT_LE(share(), 1);
}

}  // namespace
}  // namespace millrace::run
