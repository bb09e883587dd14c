#include "examples/terasort/range_partition.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "examples/teragen/teragen.h"

namespace millrace::examples {
namespace {

std::string Key(const std::string& begin) { return begin + std::string(kTeraKeyBytes - begin.size(), '\0'); }

TEST(RangePartitionTest, ARangeBeginsWithItsCut) {
  const RangePartition ranges({Key("b"), Key("b"), Key("bb"), std::string(10, '\xff')});
  EXPECT_EQ(ranges.ranges(), 5u);
  EXPECT_EQ(ranges.Find(Key("")), 0u);
  EXPECT_EQ(ranges.Find("azzzzzzzzz"), 0u);
  EXPECT_EQ(ranges.Find(Key("b")), 2u) << "between two equal cuts there is nothing";
  EXPECT_EQ(ranges.Find("ba\xff\xff\xff\xff\xff\xff\xff\xff"), 2u);
  EXPECT_EQ(ranges.Find(Key("bb")), 3u);
  EXPECT_EQ(ranges.Find(std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe")), 3u);
  EXPECT_EQ(ranges.Find(std::string(10, '\xff')), 4u);
  EXPECT_EQ(RangePartition().Find(Key("x")), 0u);
}

TEST(RangePartitionTest, FindsWhatCountingFinds) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto key = [&random] {
    std::string text;
    for (std::size_t i = 0; i < kTeraKeyBytes; ++i)
      text.push_back(static_cast<char>(random.Below(random.Below(2) == 0 ? 2 : 256)));
    return text;
  };
  for (const std::uint32_t ranges : {1u, 2u, 7u, 256u, 1000u}) {
    std::vector<std::string> sample;
    for (int i = 0; i < 5000; ++i) sample.push_back(key());
    const std::vector<std::string> cuts = CutSample(sample, ranges);
    ASSERT_EQ(cuts.size(), ranges - 1);
    const RangePartition partition(FromHex(ToHex(cuts)).value());
    for (int i = 0; i < 2000; ++i) {
      const std::string wanted = i % 2 == 0 || cuts.empty() ? key() : cuts[random.Below(cuts.size())];
      const auto expected = std::ranges::count_if(cuts, [&](const std::string& cut) { return cut <= wanted; });
      ASSERT_EQ(partition.Find(wanted), expected);
    }
  }
}

TEST(RangePartitionTest, ASampleIsCutIntoEqualShares) {
  std::vector<std::string> keys;
  for (char c = 'z'; c >= 'a'; --c) keys.push_back(Key(std::string(1, c)));
  EXPECT_EQ(CutSample(keys, 2), (std::vector<std::string>{Key("n")}));
  EXPECT_EQ(CutSample(keys, 1), std::vector<std::string>());
  EXPECT_EQ(CutSample({}, 3), (std::vector<std::string>{Key(""), Key("")}));
}

TEST(RangePartitionTest, TextThatIsNoCutIsRefused) {
  EXPECT_FALSE(FromHex("00").ok());
  EXPECT_FALSE(FromHex("0000000000000000000g").ok());
  EXPECT_FALSE(FromHex(ToHex({Key("b"), Key("a")})).ok());
  EXPECT_EQ(FromHex("")->size(), 0u);
}

TEST(TeraGenTest, KeysAreSpreadEvenly) {
  constexpr int kRecords = 256 * 400;
  std::array<int, 256> first{}, tenth{};
  char record[kTeraRecordBytes];
  for (int i = 0; i < kRecords; ++i) {
    TeraGen::Fill(1, static_cast<std::uint64_t>(i), record);
    ++first[static_cast<unsigned char>(record[0])];
    ++tenth[static_cast<unsigned char>(record[9])];
  }
  // Counts of mean 400 and deviation 20; seven deviations.
  for (const auto& counts : {first, tenth}) {
    EXPECT_GT(*std::ranges::min_element(counts), 260);
    EXPECT_LT(*std::ranges::max_element(counts), 540);
  }
}

TEST(TeraGenTest, ARecordIsLaidOutAsTeraGenHasIt) {
  char record[kTeraRecordBytes], other[kTeraRecordBytes];
  TeraGen::Fill(7, 0x1234567890abcdefu, record);
  TeraGen::Fill(8, 0x1234567890abcdefu, other);
  EXPECT_NE(std::string_view(record, 10), std::string_view(other, 10));
  EXPECT_EQ(std::string(record + 10, 38),
            std::string("\x00\x11", 2) + "00000000000000001234567890ABCDEF" + "\x88\x99\xaa\xbb");
  EXPECT_EQ(std::string(record + 96, 4), "\xcc\xdd\xee\xff");
  for (int i = 48; i < 96; ++i) EXPECT_EQ(record[i], record[i / 4 * 4]);
}

}  // namespace
}  // namespace millrace::examples
