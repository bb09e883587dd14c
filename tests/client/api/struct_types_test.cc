// SPDX-License-Identifier: Apache-2.0
// Whole jobs with structs and pairs as Key and Value, against what the standard library makes of the same lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "client/api/job.h"
#include "client/solo/solo.h"

namespace millrace {
namespace {

// Lines are "user page seconds".
struct Line {
  std::string user, page;
  std::uint64_t seconds = 0;
};
Line Read(std::string_view line) {
  std::istringstream words{std::string(line)};
  Line read;
  words >> read.user >> read.page >> read.seconds;
  return read;
}

struct Longest {
  struct Key {
    std::string user;
    std::int32_t hundreds = 0;
  };
  struct Value {
    std::string page;
    std::uint64_t seconds = 0;
  };
  void Map(std::string_view line, auto& emit) {
    const Line read = Read(line);
    emit(Key{read.user, -static_cast<std::int32_t>(read.seconds / 100)}, Value{read.page, read.seconds});
  }
  void Reduce(const Key& key, auto& values, auto& emit) {
    Value longest;
    for (const Value& value : values) {
      if (std::tie(value.seconds, value.page) > std::tie(longest.seconds, longest.page)) longest = value;
    }
    emit(key, longest);
  }
};

struct Mean {
  using Key = std::string;
  using Value = std::pair<std::uint64_t, std::tuple<std::uint64_t, std::int32_t>>;  // count, sum and longest
  void Map(std::string_view line, auto& emit) {
    const Line read = Read(line);
    emit(read.page, Value(1, {read.seconds, static_cast<std::int32_t>(read.seconds)}));
  }
  static Value Combine(const Value& a, const Value& b) {
    const auto& [sum_a, most_a] = a.second;
    const auto& [sum_b, most_b] = b.second;
    return {a.first + b.first, {sum_a + sum_b, std::max(most_a, most_b)}};
  }
};

class StructTypesTest : public ::testing::Test {
 protected:
  StructTypesTest() {
    Random random(seed_);
    std::string text;
    for (int i = 0; i < 5000; ++i) {
      lines_.push_back(
          {"u" + std::to_string(random.Below(40)), "/p" + std::to_string(random.Below(300)), random.Below(500)});
      text += lines_.back().user + " " + lines_.back().page + " " + std::to_string(lines_.back().seconds) + "\n";
    }
    EXPECT_TRUE(WriteFileDurably(In("text"), text).ok());
  }
  [[nodiscard]] std::string In(const std::string& name) const { return directory_.path() + "/" + name; }

  template <class J>
  std::string Run(std::uint64_t split_length) {
    solo::SoloRun run;
    run.output = In("out" + std::to_string(split_length));
    run.inputs = {In("text")};
    run.reduces = 1;
    run.split_length = split_length;
    const auto done = solo::RunSolo(internal::BindJob<J>(), "job", run);
    EXPECT_TRUE(done.ok()) << done.status().message();
    return ReadWholeFile(run.output + "/part-r-00000").value();
  }

  const std::uint64_t seed_ = SeedFromSystem();
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
  TempDir directory_ = TempDir::Make("struct-types-").value();
  std::vector<Line> lines_;
};

TEST_F(StructTypesTest, KeysAndValuesOfStructsWithText) {
  std::map<std::pair<std::string, std::int32_t>, std::pair<std::uint64_t, std::string>> longest;
  for (const Line& line : lines_) {
    auto& there = longest[{line.user, -static_cast<std::int32_t>(line.seconds / 100)}];
    there = std::max(there, {line.seconds, line.page});
  }
  std::string expected;
  for (const auto& [key, value] : longest)
    expected +=
        key.first + "\t" + std::to_string(key.second) + "\t" + value.second + "\t" + std::to_string(value.first) + "\n";
  for (const std::uint64_t length : {1000, 20'000, 1'000'000}) EXPECT_EQ(Run<Longest>(length), expected);
}

struct Top {
  using Key = Descending<std::uint64_t>;
  using Value = std::string;
  void Map(std::string_view line, auto& emit) {
    const Line read = Read(line);
    emit(read.seconds, read.page);
  }
  void Reduce(const Key& seconds, auto& pages, auto& emit) {
    std::uint64_t count = 0;
    for (const std::string& page : pages) count += page.empty() ? 0 : 1;
    emit(seconds, count);
  }
};

TEST_F(StructTypesTest, TheHighestKeysComeFirst) {
  std::map<std::uint64_t, std::uint64_t, std::greater<>> counts;
  for (const Line& line : lines_) ++counts[line.seconds];
  std::string expected;
  for (const auto& [seconds, count] : counts) expected += std::to_string(seconds) + "\t" + std::to_string(count) + "\n";
  EXPECT_EQ(Run<Top>(20'000), expected);
}

struct Store {  // what it writes, the next two read
  using Output = RecordOutput;
  void Map(std::string_view line, auto& emit) {
    const Line read = Read(line);
    emit(read.user, Longest::Value{read.page, read.seconds});
  }
};
struct Show {
  using Input = TypedRecordFiles<std::string_view, Longest::Value>;
  void Map(const auto& record, auto& emit) {
    emit(record.key, record.value.page + " " + std::to_string(record.value.seconds));
  }
};
struct ShowOther {
  using Input = TypedRecordFiles<std::string_view, std::uint64_t>;
  void Map(const auto& record, auto& emit) { emit(record.key, record.value); }
};

TEST_F(StructTypesTest, RecordFilesAreReadAsTheTypesThatTheyHold) {
  solo::SoloRun run;
  run.output = In("records");
  run.inputs = {In("text")};
  ASSERT_TRUE(solo::RunSolo(internal::BindJob<Store>(), "job", run).ok());
  std::string expected;
  for (const Line& line : lines_) expected += line.user + "\t" + line.page + " " + std::to_string(line.seconds) + "\n";
  run.inputs = {In("records/part-m-00000")};
  run.output = In("shown");
  const auto shown = solo::RunSolo(internal::BindJob<Show>(), "job", run);
  ASSERT_TRUE(shown.ok()) << shown.status().message();
  EXPECT_EQ(ReadWholeFile(In("shown/part-m-00000")).value(), expected);
  run.output = In("other");
  const Status refused = solo::RunSolo(internal::BindJob<ShowOther>(), "job", run).status();
  EXPECT_NE(refused.message().find("has a value of"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("records/part-m-00000"), std::string::npos) << refused.message();
}

TEST_F(StructTypesTest, PairsAreCombined) {
  std::map<std::string, std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> sums;
  for (const Line& line : lines_) {
    auto& [count, sum, most] = sums[line.page];
    ++count, sum += line.seconds, most = std::max(most, line.seconds);
  }
  std::string expected;
  for (const auto& [page, all] : sums) {
    expected += page + "\t" + std::to_string(std::get<0>(all)) + "\t" + std::to_string(std::get<1>(all)) + "\t" +
                std::to_string(std::get<2>(all)) + "\n";
  }
  for (const std::uint64_t length : {1000, 20'000, 1'000'000}) EXPECT_EQ(Run<Mean>(length), expected);
}

}  // namespace
}  // namespace millrace
