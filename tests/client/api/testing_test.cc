// SPDX-License-Identifier: Apache-2.0
// Tests the functions for a job's tests: a map, a reduce or a whole job, run as the runtime runs it.
#include "client/api/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "client/api/job.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Counts words that are not in a side file; writes those that come often enough, in capitals if it is told so.
struct Words {
  using Key = std::string_view;
  using Value = std::uint64_t;
  static void Options(JobOptions& options) {
    options.Integer("words.least", 1, 1, 100, "how often");
    options.Text("words.stop", "", "a file of words that do not count");
  }
  explicit Words(TaskContext& context)
      : least_(static_cast<std::uint64_t>(context.options().integer("words.least"))),
        rare_(context.counter("words", "rare")),
        context_(context) {}
  Status Start(TaskContext& context) {
    const std::string path = context.options().text("words.stop");
    if (!path.empty()) {
      MILLRACE_ASSIGN(stop_, context.ReadFile(path));
    }
    return Status::Ok();
  }
  void Map(std::string_view line, auto& emit) {
    if (line == "throw") throw std::runtime_error("thrown on purpose");
    if (stop_.find(line) == std::string::npos) emit(line, context_.input_index() + 1);
  }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
  void Reduce(std::string_view word, auto& counts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    if (sum >= least_) {
      emit(word, sum);
    } else {
      ++rare_;
    }
  }

 private:
  std::uint64_t least_;
  Counter& rare_;
  TaskContext& context_;
  std::string stop_;
};

// Without Combine: what is emitted stays as it is.
struct Pairs {
  using Key = std::pair<std::string, std::uint64_t>;
  using Value = std::string_view;
  void Map(std::string_view line, auto& emit) {
    const std::size_t space = line.find(' ');
    emit(Key(line.substr(0, space), line.size()), line.substr(space + 1));
  }
  void Reduce(const Key& key, auto& values, auto& emit) {
    std::string all;
    for (const std::string_view value : values) all += value;
    emit(key.first, all);
  }
};

struct Upper {
  void Map(std::string_view line, auto& emit) { emit(std::string(line) + "!"); }
};

TEST(TestingTest, AWholeJobRunsWithOptionsSideFilesAndCounters) {
  const TestedJob job = RunJob<Words>(
      {"b\na\nb\nc\n"}, {.options = {"words.least=2", "words.stop=/stop"}, .side_files = {{"/stop", "c\n"}}});
  EXPECT_EQ(job.error, "");
  EXPECT_THAT(job.lines, ElementsAre("b\t2"));
  EXPECT_EQ(job.counters.at("words rare"), 1);
  EXPECT_EQ(job.counters.at("millrace map_input_records"), 4);
  EXPECT_THAT(job.files, ElementsAre(Pair("part-r-00000", "b\t2\n")));
}

TEST(TestingTest, EachInputIsOneAndMayBeOfSeveralMaps) {
  const TestedJob two = RunJob<Words>({"a\n", "a\nb\n"}, {.reducers = 2});
  EXPECT_EQ(two.files.size(), 2u);
  EXPECT_THAT(two.lines, ::testing::UnorderedElementsAre("a\t3", "b\t2"));
  EXPECT_THAT(RunJob<Words>({"a\nb\na\nb\na\n"}, {.split_bytes = 4}).lines, ElementsAre("a\t3", "b\t2"));
}

TEST(TestingTest, WhatMapEmitsIsInOrderOfKeys) {
  const TestedMap<Pairs> map = RunMap<Pairs>({"b x\na yy\na z\na w\n"});
  EXPECT_EQ(map.error, "");
  const Pairs::Key a(std::string("a"), 3), longer(std::string("a"), 4), b(std::string("b"), 3);
  EXPECT_THAT(map.records, ElementsAre(Pair(a, "z"), Pair(a, "w"), Pair(longer, "yy"), Pair(b, "x")));
  EXPECT_THAT(RunMap<Words>({"b\na\nb\n"}).records, ElementsAre(Pair("a", 1u), Pair("b", 2u))) << "combined";
}

TEST(TestingTest, AReduceIsGivenSortedRecords) {
  EXPECT_THAT(RunReduce<Words>("b", {1, 2, 3}).lines, ElementsAre("b\t6"));
  EXPECT_THAT(RunReduce<Words>({{"b", 1}, {"a", 2}, {"b", 4}}).lines, ElementsAre("a\t2", "b\t5"));
  EXPECT_EQ(RunReduce<Words>("b", {1}, {.options = {"words.least=2"}}).counters.at("words rare"), 1);
  const Pairs::Key key(std::string("k"), 1);
  EXPECT_THAT(RunReduce<Pairs>(key, {"x", "y"}).lines, ElementsAre("k\txy"));
}

TEST(TestingTest, AJobWithoutReducesHasLinesToo) {
  EXPECT_THAT(RunJob<Upper>({"a\nb\n"}).lines, ElementsAre("a!", "b!"));
  EXPECT_THAT(RunJob<Upper>({"a\nb\n"}, {.reducers = 0}).lines, ElementsAre("a!", "b!"));
  EXPECT_THAT(RunJob<Upper>({"a\n"}, {.reducers = 2}).error, HasSubstr("its number of reduces is 0, and not 2"));
}

// Files as they are, or as what they decompress to. An empty gzip file is of 20 bytes.
template <class Files>
struct Lengths {
  using Input = Files;
  void Map(const WholeFile& file, auto& emit) { emit(file.name, std::uint64_t{file.bytes.size()}); }
};

TEST(TestingTest, WholeFilesAreOpenedAndStoredFilesAreNot) {
  const TestInput empty("z.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 20));
  EXPECT_THAT(RunJob<Lengths<WholeFiles>>({empty}).lines, ElementsAre(HasSubstr("\t0")));
  EXPECT_THAT(RunJob<Lengths<StoredFiles>>({empty}).lines, ElementsAre(HasSubstr("\t20")));
}

// Keeps a view of the value before.
struct Keeps {
  using Key = std::string_view;
  using Value = std::string_view;
  void Map(std::string_view line, auto& emit) { emit("k", line); }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    std::vector<std::string_view> all;
    for (const std::string_view value : values) all.push_back(value);
    for (const std::string_view value : all) emit(key, value);
  }
};

// A sanitizer has put its own handler of signals there, and reports the fault in its own words.
TEST(TestingDeathTest, AViewThatWasKeptIsTold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const char* const told = "Sanitizer: SEGV|Sanitizer:DEADLYSIGNAL";
#else
  const char* const told = "a view of a value was kept after the next one was taken";
#endif
  EXPECT_DEATH((void)RunJob<Keeps>({"a\nb\n"}), told);
}

TEST(TestingTest, AnExpectationThatIsNotMetSaysWhyTheJobFailed) {
  const TestedJob failed = RunJob<Words>({"throw\n"});
  ::testing::internal::CaptureStderr();
  MILLRACE_EXPECT(failed.error.empty());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("expected: failed.error.empty()\n  the last run failed: "));
  (void)RunJob<Words>({"a\n"});
  ::testing::internal::CaptureStderr();
  MILLRACE_EXPECT(1 == 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::EndsWith("expected: 1 == 2\n"));
}

TEST(TestingTest, AFailureIsAnErrorAndNoOutput) {
  const TestedJob thrown = RunJob<Words>({"a\nthrow\n"});
  EXPECT_THAT(thrown.error, HasSubstr("thrown on purpose"));
  EXPECT_THAT(thrown.lines, IsEmpty());
  EXPECT_THAT(RunMap<Words>({"throw\n"}).error, HasSubstr("thrown on purpose"));
  EXPECT_THAT(RunJob<Words>({"a\n"}, {.options = {"words.least=0"}}).error, HasSubstr("words.least"));
  EXPECT_THAT(RunJob<Words>({"a\n"}, {.options = {"words.stop=/none"}}).error, HasSubstr("/none"));
  EXPECT_THAT(RunJob<Words>({TestInput("a/b", "")}).error, HasSubstr("a/b"));
}

}  // namespace
}  // namespace millrace
