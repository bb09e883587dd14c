// SPDX-License-Identifier: Apache-2.0
#include "worker/task/run/segment_merger.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/worker/task/run/encode_records.h"
#include "worker/task/run/key_words.h"

namespace millrace::run {
namespace {

bool KeyLess(const Record& a, const Record& b) { return a.first < b.first; }

// Compares the merge of stably sorted segments with one stable sort of all of them in the order of the segments.
void ExpectMerged(std::vector<std::vector<Record>> segments) {
  std::vector<Record> expected;
  std::vector<std::string> bytes;
  std::uint64_t raw = 0;
  for (auto& records : segments) {
    std::stable_sort(records.begin(), records.end(), KeyLess);
    expected.insert(expected.end(), records.begin(), records.end());
    bytes.push_back(EncodeRecords(records));
    raw += bytes.back().size();
  }
  std::stable_sort(expected.begin(), expected.end(), KeyLess);
  std::vector<SegmentCursor> cursors;
  for (const std::string& b : bytes) cursors.emplace_back(b, false, "s");
  SegmentMerger merger(std::move(cursors));
  for (const Record& record : expected) {
    ASSERT_TRUE(merger.Next());
    ASSERT_EQ(merger.key(), record.first);
    ASSERT_EQ(merger.value(), record.second);
  }
  EXPECT_FALSE(merger.Next());
  EXPECT_FALSE(merger.Next());
  EXPECT_TRUE(merger.status().ok());
  EXPECT_EQ(merger.raw_bytes_consumed(), raw);
}

TEST(SegmentMergerTest, NoneOneAndEmptySegments) {
  ExpectMerged({});
  ExpectMerged({{}});
  ExpectMerged({{}, {}, {}});
  ExpectMerged({{{"b", "1"}, {"a", "2"}}});
  ExpectMerged({{}, {{"a", "1"}}, {}});
}

TEST(SegmentMergerTest, EqualKeysComeInTheOrderOfTheSegments) {
  ExpectMerged(
      {{{"a", "0.1"}, {"a", "0.2"}, {"c", "0.3"}}, {}, {{"a", "2.1"}, {"b", "2.2"}}, {{"", "3.1"}, {"a", "3.2"}}});
}

TEST(SegmentMergerTest, KeysOfHighBytesAreNotTakenForTheEnd) {
  const std::string high16(16, '\xff'), high17(17, '\xff'), high40(40, '\xff');
  ExpectMerged({{{high16, "1"}, {high17, "2"}, {high40, "3"}},
                {},
                {{high17, "4"}, {high16, "5"}, {high40, "6"}},
                {{high40, "7"}}});
}

TEST(SegmentMergerTest, NulBytesCountInTheOrder) {
  const auto nuls = [](const char* text, std::size_t count) { return text + std::string(count, '\0'); };
  std::vector<std::vector<Record>> segments(5);
  for (std::size_t i = 0; i < 100; ++i) segments[i % 5].emplace_back(nuls("ab", (i * 7) % 20), std::to_string(i));
  ExpectMerged(segments);
}

TEST(SegmentMergerTest, RandomSegments) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::vector<Record>> segments(1 + random.Below(seed % 7 == 0 ? 300 : 20));
    const std::uint64_t letters = 1 + random.Below(4), length = 1 + random.Below(40);
    int serial = 0;
    for (auto& records : segments) {
      for (std::uint64_t n = random.Below(50); n > 0; --n) {
        std::string key(random.Below(length), 'a');
        for (char& c : key) c = static_cast<char>('a' + random.Below(letters) * (seed % 2 == 0 ? 40 : 1));
        records.emplace_back(key, std::to_string(serial++));
      }
    }
    ExpectMerged(segments);
  }
}

TEST(SegmentMergerTest, TenThousandSegments) {
  std::vector<std::vector<Record>> segments(10000);
  Random random(3);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (int j = 0; j < 3; ++j) segments[i].emplace_back("key" + std::to_string(random.Below(1000)), std::to_string(i));
  }
  ExpectMerged(segments);
}

TEST(SegmentMergerTest, ABrokenSegmentStopsTheMerge) {
  const std::string good = EncodeRecords({{"a", "1"}, {"b", "2"}, {"z", "3"}});
  const std::string bad = EncodeRecords({{"b", "4"}}) + "\x7f";
  for (const bool bad_first : {false, true}) {
    std::vector<SegmentCursor> cursors;
    cursors.emplace_back(bad_first ? bad : good, false, "first");
    cursors.emplace_back(bad_first ? good : bad, false, "second");
    SegmentMerger merger(std::move(cursors));
    int records = 0;
    while (merger.Next()) ++records;
    EXPECT_LE(records, 3);
    EXPECT_EQ(merger.status().code(), StatusCode::kCorrupt);
    EXPECT_NE(merger.status().message().find(bad_first ? "first" : "second"), std::string::npos);
    EXPECT_FALSE(merger.Next());
  }
}

TEST(KeyWordsTest, EveryLengthAtEveryPlaceOfAPage) {
  std::vector<char> page(3 * 4096);
  Random random(9);
  for (char& c : page) c = static_cast<char>(1 + random.Below(255));
  for (std::size_t at = 4000; at < 8300; ++at) {
    for (std::size_t size = 0; size <= 20; ++size) {
      unsigned char expected[16] = {};
      for (std::size_t i = 0; i < std::min<std::size_t>(size, 16); ++i)
        expected[i] = static_cast<unsigned char>(page[at + i]);
      const KeyWords words = LoadKeyWords({page.data() + at, size});
      std::uint64_t low = 0, high = 0;
      for (int i = 7; i >= 0; --i) low = low << 8 | expected[i], high = high << 8 | expected[8 + i];
      ASSERT_EQ(words.low, low) << at << " " << size;
      ASSERT_EQ(words.high, high) << at << " " << size;
    }
  }
  EXPECT_EQ(LoadKeyWords({}).low, 0u);
}

}  // namespace
}  // namespace millrace::run
