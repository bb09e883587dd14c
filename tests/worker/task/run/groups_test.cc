// SPDX-License-Identifier: Apache-2.0
#include "worker/task/run/groups.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/worker/task/run/encode_records.h"

namespace millrace::reduce {
namespace {

using run::EncodeRecords;
using run::Record;

Groups Merge(const std::vector<std::string>& segments) {
  std::vector<run::SegmentCursor> cursors;
  for (const std::string& bytes : segments) cursors.emplace_back(bytes, false, "s");
  return Groups(std::move(cursors));
}

TEST(GroupsTest, NoRecordsNoGroups) {
  Groups groups = Merge({});
  std::string_view value;
  EXPECT_FALSE(groups.NextValue(&value));
  EXPECT_FALSE(groups.NextGroup());
  EXPECT_FALSE(groups.NextGroup());
  EXPECT_FALSE(groups.NextValue(&value));
  EXPECT_TRUE(groups.status().ok());
}

TEST(GroupsTest, TheEmptyKeyIsAGroup) {
  const std::vector<std::string> segments = {EncodeRecords({{"", "1"}, {"", "2"}, {"x", "3"}})};
  Groups groups = Merge(segments);
  std::string_view value;
  EXPECT_FALSE(groups.NextValue(&value));  // before the first group
  ASSERT_TRUE(groups.NextGroup());
  EXPECT_EQ(groups.key(), "");
  ASSERT_TRUE(groups.NextValue(&value));
  EXPECT_EQ(value, "1");
  ASSERT_TRUE(groups.NextValue(&value));
  EXPECT_FALSE(groups.NextValue(&value));
  EXPECT_FALSE(groups.NextValue(&value));
  ASSERT_TRUE(groups.NextGroup());
  EXPECT_EQ(groups.key(), "x");
}

// Any number of a group's values may be left unread.
TEST(GroupsTest, SkippedValues) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::string> segments;
    std::vector<std::vector<std::string>> expected(30);  // values by key
    std::uint64_t total = 0;
    for (std::uint64_t s = 0, count = 1 + random.Below(5); s < count; ++s) {
      std::vector<Record> records;
      for (std::size_t key = 0; key < expected.size(); ++key) {
        for (std::uint64_t n = random.Below(4); n > 0; --n) {
          records.emplace_back("key" + std::to_string(100 + key), std::to_string(total++));
          expected[key].push_back(records.back().second);
        }
      }
      segments.push_back(EncodeRecords(records));
    }
    Groups groups = Merge(segments);
    std::uint64_t seen_groups = 0, consumed_before = 0;
    for (std::size_t key = 0; key < expected.size(); ++key) {
      if (expected[key].empty()) continue;
      ASSERT_TRUE(groups.NextGroup());
      ++seen_groups;
      EXPECT_EQ(groups.records(), consumed_before);
      std::string_view value;
      for (std::uint64_t i = 0, wanted = random.Below(expected[key].size() + 2); i < wanted; ++i) {
        const bool more = i < expected[key].size();
        ASSERT_EQ(groups.NextValue(&value), more);
        if (more) {
          EXPECT_EQ(value, expected[key][i]);
        }
      }
      EXPECT_EQ(groups.key(), "key" + std::to_string(100 + key));
      consumed_before += expected[key].size();
    }
    EXPECT_FALSE(groups.NextGroup());
    EXPECT_EQ(groups.groups(), seen_groups);
    EXPECT_EQ(groups.records(), total);
  }
}

TEST(GroupsTest, ABrokenSegmentEndsTheGroups) {
  const std::vector<std::string> segments = {EncodeRecords({{"a", "1"}}) + "\x7f"};
  Groups groups = Merge(segments);
  std::string_view value;
  while (groups.NextGroup()) {
    while (groups.NextValue(&value)) {
    }
  }
  EXPECT_EQ(groups.status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace::reduce
