// SPDX-License-Identifier: Apache-2.0
// Jobs with a Group: records of several keys in one call of Reduce.
#include "client/api/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Runs a map over each text, and `reduces` reduces. Returns the output of each reduce, or its error.
template <class J>
std::vector<std::string> Parts(const std::vector<std::string>& texts, std::uint32_t reduces,
                               std::vector<std::int64_t>* groups = nullptr) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<J>(), files);
  EXPECT_EQ(driver.SetUpJob(reduces), "");
  std::vector<std::string> runs, parts;
  for (std::uint32_t map = 0; map < texts.size(); ++map) {
    runs.push_back(driver.Path("m" + std::to_string(map)));
    driver.LaunchMap(map, {AddLocal(files, map + 1, "f" + std::to_string(map), texts[map])}, runs.back());
    EXPECT_EQ(driver.WaitForEnd().error, "");
  }
  for (std::uint32_t reduce = 0; reduce < reduces; ++reduce) {
    driver.LaunchReduce(reduce, runs);
    TaskDriver::End end = driver.WaitForEnd();
    if (groups != nullptr) groups->push_back(end.counters["millrace.reduce_input_groups"]);
    parts.push_back(
        end.error.empty()
            ? files.tree->written["/out/_temporary/job3.r." + std::to_string(reduce) + ".0/" + end.output_name]
            : end.error);
  }
  return parts;
}

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A line is "user time place". Writes the way of each user, in order of time.
struct Ways {
  using Key = std::pair<std::string, std::uint64_t>;
  using Value = std::string_view;
  static const std::string& Group(const Key& key) { return key.first; }
  void Map(std::string_view line, auto& emit) {
    const std::size_t user = line.find(' '), time = line.find(' ', user + 1);
    emit(Key(line.substr(0, user), NumberOf(line.substr(user + 1))), line.substr(time + 1));
  }
  void Reduce(const Key& first, auto& places, auto& emit) {
    std::string way;
    for (const std::string_view place : places)
      way += std::to_string(places.key().second) + "=" + std::string(place) + " ";
    emit(first.first, std::to_string(first.second) + ": " + way);
  }
};

TEST(GroupTest, AGroupIsOneCallInTheOrderOfKeys) {
  constexpr std::uint32_t kReduces = 3;
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::vector<std::string> texts(4);
  std::map<std::string, std::vector<std::pair<std::uint64_t, std::string>>> ways;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::string user = "u" + std::to_string(random.Next() % 40), place = "p" + std::to_string(i);
    const std::uint64_t time = random.Next() % 300;  // some users have several places at a time
    texts[i / 500] += user + " " + std::to_string(time) + " " + place + "\n";
    ways[user].emplace_back(time, place);
  }
  std::vector<std::int64_t> groups;
  const std::vector<std::string> parts = Parts<Ways>(texts, kReduces, &groups);
  std::vector<std::string> expected(kReduces);
  std::vector<std::int64_t> expected_groups(kReduces);
  for (auto& [user, way] : ways) {
    std::ranges::stable_sort(way, {}, &std::pair<std::uint64_t, std::string>::first);
    const std::uint32_t reduce = HashPartition(user, kReduces);
    ++expected_groups[reduce];
    expected[reduce] += user + "\t" + std::to_string(way.front().first) + ": ";
    for (const auto& [time, place] : way) expected[reduce] += std::to_string(time) + "=" + place + " ";
    expected[reduce] += "\n";
  }
  EXPECT_EQ(parts, expected);
  EXPECT_EQ(groups, expected_groups) << "a group is a call of Reduce";
}

// Keys that are views, which Combine folds; the group is the first word.
struct Firsts {
  using Key = std::string_view;
  using Value = std::uint64_t;
  static std::string_view Group(std::string_view key) { return key.substr(0, key.find(' ')); }
  void Map(std::string_view line, auto& emit) { emit(line, 1); }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
  void Reduce(std::string_view first, auto& counts, auto& emit) {
    std::map<std::string, std::uint64_t> sums;  // of each key, which has a value of each map
    for (const std::uint64_t count : counts) sums[std::string(counts.key())] += count;
    std::string all;
    for (const auto& [key, sum] : sums) all += "," + key + "*" + std::to_string(sum);
    emit(first, all);
  }
};

TEST(GroupTest, CombineWorksAKey) {
  const std::string text = "a x\nb\na y\na x\nc z\n";
  EXPECT_THAT(Parts<Firsts>({text, text}, 1), ElementsAre("a x\t,a x*4,a y*2\nb\t,b*2\nc z\t,c z*2\n"));
  std::string both;
  for (const std::string& part : Parts<Firsts>({text, text}, 2)) both += part;
  EXPECT_THAT(both, HasSubstr("a x\t,a x*4,a y*2\n")) << "one call, whatever the number of reduces";
}

// Many keys, which maps write in any order: a reduce folds them first, and then makes its groups.
struct Totals {
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  using Value = std::uint64_t;
  static std::uint32_t Group(const Key& key) { return key.first; }
  void Map(std::string_view line, auto& emit) {
    const std::uint64_t number = NumberOf(line);
    emit(Key(number % 7, number), 1), emit(Key(number % 7, number), 1);  // a map whose keys repeat folds them
  }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
  void Reduce(const Key& first, auto& counts, auto& emit) {
    std::uint64_t keys = 0, sum = 0, out_of_order = 0, last = 0;
    for (const std::uint64_t count : counts) {
      ++keys, sum += count;
      if (counts.key().second < last || counts.key().first != first.first) ++out_of_order;
      last = counts.key().second;
    }
    emit(first.first, std::to_string(sum) + " " + std::to_string(out_of_order) + (keys <= sum ? "" : " too many keys"));
  }
};

TEST(GroupTest, FoldedSegmentsAreGrouped) {
  constexpr std::uint64_t kNumbers = 140'000;
  std::string text;
  for (std::uint64_t i = 0; i < kNumbers; ++i) text += std::to_string(i) + "\n";
  std::string lines;
  for (const std::string& part : Parts<Totals>({text, text}, 2)) lines += part;
  for (std::uint32_t group = 0; group < 7; ++group)
    EXPECT_THAT(lines, HasSubstr(std::to_string(group) + "\t" + std::to_string(kNumbers / 7 * 4) + " 0\n"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 7);
}

// Takes at most one value of each group.
struct Earliest : Ways {
  void Reduce(const Key& first, auto& places, auto& emit) {
    for (const std::string_view place : places) {
      if (first.first == "skipped") break;
      return emit(first.first, place);
    }
  }
};
struct NoValues : Ways {
  void Reduce(const Key& first, auto&, auto& emit) { emit(first.first, first.second); }
};

TEST(GroupTest, ReduceMayEndEarly) {
  const std::string text = "b 3 z\na 2 y\nskipped 1 s\na 1 x\nskipped 2 t\nb 7 w\n";
  EXPECT_THAT(Parts<Earliest>({text}, 1), ElementsAre("a\tx\nb\tz\n"));
  EXPECT_THAT(Parts<NoValues>({text}, 1), ElementsAre("a\t1\nb\t3\nskipped\t1\n"));
}

// Sends each group to a reduce of its own choice.
struct Chosen : Ways {
  static std::uint32_t Partition(const Key& key, std::uint32_t) { return key.first == "a" ? 1 : 0; }
};

TEST(GroupTest, APartitionOfTheJobsOwnComesBeforeTheGroups) {
  EXPECT_THAT(Parts<Chosen>({"b 3 z\na 2 y\na 1 x\n"}, 2), ElementsAre("b\t3: 3=z \n", "a\t1: 1=x 2=y \n"));
}

// The group is what the key ends with, so that a group is not together.
struct ByTime : Ways {
  static std::uint64_t Group(const Key& key) { return key.second; }
};

TEST(GroupTest, AGroupThatComesBackFails) {
  EXPECT_THAT(Parts<ByTime>({"a 1 x\nb 2 y\n"}, 1), ElementsAre("a\t1: 1=x \nb\t2: 2=y \n"));
  EXPECT_THAT(Parts<ByTime>({"a 1 x\na 2 y\nb 1 z\n"}, 1)[0], HasSubstr("comes a second time, after other groups"));
}

TEST(GroupWatchTest, MoreGroupsThanItRemembersAreWatchedBySample) {
  constexpr std::uint64_t kGroups = 100'000;
  internal::GroupWatch watch(64);
  for (std::uint64_t i = 0; i < kGroups; ++i) ASSERT_TRUE(watch.Begin("group " + std::to_string(i)));
  EXPECT_EQ(watch.groups(), kGroups);
  EXPECT_TRUE(watch.status().ok());
  bool all = true;
  for (std::uint64_t i = 0; i < kGroups; ++i) all = watch.Begin("group " + std::to_string(i)) && all;
  EXPECT_FALSE(all);
  EXPECT_EQ(watch.status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace millrace
