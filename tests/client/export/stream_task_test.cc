// SPDX-License-Identifier: Apache-2.0
// Jobs of many types of keys and values as mappers and reducers on lines: what Hadoop would carry between them gives,
// in each part, the bytes that the job gives by itself.
#include "client/export/stream_task.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/file.h"
#include "client/api/job.h"
#include "client/format/descending.h"
#include "client/solo/solo.h"

namespace millrace::exported {
namespace {

using testing::HasSubstr;
using Environment = std::vector<std::pair<std::string, std::string>>;

struct Ran {
  int status = 0;
  std::string out, error;
};

// Runs a task in a process of its own, whose standard streams are files.
Ran RunTask(const JobBinding& binding, const std::vector<std::string>& words, std::string_view input,
            const Environment& environment) {
  const Result<TempDir> place = TempDir::Make("millrace-stream-test-");
  if (!place.ok()) return {1, "", place.status().message()};
  const std::string in = place->path() + "/in", out = place->path() + "/out", error = place->path() + "/error";
  if (!WriteFileDurably(in, input).ok()) return {1, "", "no room"};
  const pid_t child = ::fork();
  if (child == 0) {
    const int fds[] = {::open(in.c_str(), O_RDONLY), ::open(out.c_str(), O_WRONLY | O_CREAT, 0600),
                       ::open(error.c_str(), O_WRONLY | O_CREAT, 0600)};
    for (int fd = 0; fd < 3; ++fd) ::dup2(fds[fd], fd);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    const Status done = RunStreamTask(binding, "job", words);
    std::fflush(stdout);
    if (!done.ok()) std::fprintf(stderr, "%s\n", done.message().c_str());
    std::fflush(stderr);
    ::_exit(done.ok() ? 0 : 1);
  }
  const Result<int> status = WaitForChild(child);
  return {status.ok() ? ExitStatusOf(*status) : -1, ReadWholeFile(out).value(), ReadWholeFile(error).value()};
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string KeyOf(const std::string& line) { return line.substr(0, line.find('\t')); }

// Carries the lines of the maps as Hadoop Streaming does with KeyFieldBasedPartitioner and -k1.1,1.2, and returns the
// parts of the output.
std::vector<std::string> CarryOut(const JobBinding& binding, const std::vector<std::string>& files,
                                  std::uint32_t reduces, bool combine) {
  std::vector<std::vector<std::string>> of_reduce(reduces);
  const std::string number = std::to_string(reduces);
  for (std::size_t map = files.size(); map-- > 0;) {
    const Ran mapped = RunTask(binding, {"map"}, files[map],
                               {{"mapreduce_job_reduces", number},
                                {"mapreduce_map_input_file", "hdfs://host/in/" + std::to_string(map)},
                                {"mapreduce_input_fileinputformat_inputdir", "hdfs://host/in"}});
    EXPECT_EQ(mapped.status, 0) << mapped.error;
    for (const std::string& line : LinesOf(mapped.out)) {
      const std::uint32_t hash =
          reduces == 1 ? 0 : 31u * static_cast<unsigned char>(line[0]) + static_cast<unsigned char>(line[1]);
      of_reduce[hash % reduces].push_back(line);
    }
  }
  std::vector<std::string> parts;
  for (std::uint32_t reduce = 0; reduce < reduces; ++reduce) {
    std::ranges::stable_sort(of_reduce[reduce], {}, KeyOf);
    std::string text;
    for (const std::string& line : of_reduce[reduce]) text += line + "\n";
    const Environment environment{{"mapreduce_job_reduces", number},
                                  {"mapreduce_task_partition", std::to_string(reduce)}};
    if (combine) {
      const Ran combined = RunTask(binding, {"combine"}, text, {{"mapreduce_job_reduces", number}});
      EXPECT_EQ(combined.status, 0) << combined.error;
      EXPECT_LE(combined.out.size(), text.size());
      text = combined.out;
    }
    const Ran reduced = RunTask(binding, {"reduce"}, text, environment);
    EXPECT_EQ(reduced.status, 0) << reduced.error;
    parts.push_back(reduced.out);
  }
  return parts;
}

// Returns the parts that the job writes by itself.
std::vector<std::string> OwnOutput(const JobBinding& binding, const std::vector<std::string>& files,
                                   std::uint32_t reduces) {
  const Result<TempDir> place = TempDir::Make("millrace-stream-test-");
  solo::SoloRun run;
  run.output = place->path() + "/out";
  run.reduces = reduces;
  run.inputs = {place->path() + "/in"};
  EXPECT_TRUE(MakeDirectories(run.inputs[0]).ok());
  for (std::size_t i = 0; i < files.size(); ++i)
    EXPECT_TRUE(WriteFileDurably(run.inputs[0] + "/" + std::to_string(i), files[i]).ok());
  const auto done = solo::RunSolo(binding, "job", run);
  EXPECT_TRUE(done.ok()) << done.status().message();
  std::vector<std::string> parts;
  for (std::uint32_t reduce = 0; reduce < reduces; ++reduce)
    parts.push_back(ReadWholeFile(run.output + "/part-r-0000" + std::to_string(reduce)).value());
  return parts;
}

const std::vector<std::string> kFiles{"b 3\na -1\n\nb 20\n\xc3\xa9 7\n", "a 5\nc 10\n\tx\x08\x0c y 1\nb 3\n",
                                      "10 4\n9 2\n", ""};

template <class J>
void ExpectTheSame(std::uint32_t reduces) {
  const JobBinding binding = internal::BindJob<J>();
  const std::vector<std::string> own = OwnOutput(binding, kFiles, reduces);
  EXPECT_EQ(CarryOut(binding, kFiles, reduces, false), own);
  if (binding.combines) {
    EXPECT_EQ(CarryOut(binding, kFiles, reduces, true), own);
  }
  EXPECT_THAT(own, testing::Contains(testing::Not(testing::IsEmpty())));
}

template <class V>
V NumberOf(std::string_view line) {
  return static_cast<V>(std::atoll(std::string(line.substr(std::min(line.find(' '), line.size()))).c_str()));
}

// Text, and numbers that are added.
struct Sums {
  using Key = std::string_view;
  using Value = std::int64_t;
  void Map(std::string_view line, auto& emit) { emit(line.substr(0, line.rfind(' ')), NumberOf<Value>(line)); }
  static Value Combine(Value a, Value b) { return a + b; }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    Value sum = 0;
    for (const Value value : values) sum += value;
    emit(key, sum);
  }
};

// Numbers below and above zero, in their order, and values of two parts.
struct ByNumber {
  using Key = std::int32_t;
  using Value = std::pair<std::string, double>;
  void Map(std::string_view line, auto& emit) { emit(NumberOf<Key>(line), Value(line, 0.1)); }
  void Reduce(std::int32_t key, auto& values, auto& emit) {
    std::vector<std::string> all;
    for (const Value& value : values) all.push_back(value.first);
    std::ranges::sort(all);
    for (const std::string& each : all) emit(key, each);
  }
};

// A secondary sort: the first letter makes the group, and the largest number comes first.
struct Grouped {
  using Key = std::pair<std::string, Descending<std::int64_t>>;
  using Value = Nothing;
  static const std::string& Group(const Key& key) { return key.first; }
  void Map(std::string_view line, auto& emit) { emit(Key(line.substr(0, 1), NumberOf<std::int64_t>(line))); }
  void Reduce(const Key& first, auto& values, auto& emit) {
    std::string all;
    for (const Nothing& value : values) {
      (void)value;
      all += std::to_string(values.key().second.value) + " ";
    }
    emit(first.first, all);
  }
};

// A Partition of its own, files by name, and FinishReduce.
struct Placed {
  using Key = std::uint64_t;
  using Value = std::string_view;
  explicit Placed(TaskContext& context) : context_(context) {}
  static std::uint32_t Partition(const std::uint64_t& key, std::uint32_t n) { return n - 1 - key % n; }
  void Map(std::string_view line, auto& emit) { emit(line.size(), context_.input_name()); }
  void Reduce(std::uint64_t key, auto& values, auto& emit) {
    std::vector<std::string> names;
    for (const std::string_view name : values) names.emplace_back(name);
    std::ranges::sort(names);
    std::string all;
    for (const std::string& name : names) all += name;
    emit(key, all);
  }
  void FinishReduce(auto& emit) { emit("end of", context_.facts().attempt.task.index); }
  TaskContext& context_;
};

struct Copy {
  void Map(std::string_view line, auto& emit) { emit(line); }
};

struct Binary {
  using Input = FixedRecords<4>;
  void Map(std::string_view record, auto& emit) { emit(record); }
};

struct Throws {
  using Key = std::string_view;
  using Value = Nothing;
  void Map(std::string_view line, auto& emit) {
    std::printf("printed\n");
    if (line == "bad") throw std::runtime_error("no such line");
    emit(line);
  }
  void Reduce(std::string_view key, auto&, auto& emit) { emit(key); }
};

TEST(StreamTaskTest, TextIsSummed) {
  ExpectTheSame<Sums>(1);
  ExpectTheSame<Sums>(3);
}
TEST(StreamTaskTest, NumbersAreInTheirOrder) {
  ExpectTheSame<ByNumber>(1);
  ExpectTheSame<ByNumber>(2);
}
TEST(StreamTaskTest, GroupsStayTogetherAndSorted) {
  ExpectTheSame<Grouped>(1);
  ExpectTheSame<Grouped>(4);
}
TEST(StreamTaskTest, ThePartitionAndTheNamesOfFilesAreTheJobs) {
  ExpectTheSame<Placed>(1);
  ExpectTheSame<Placed>(7);
}

TEST(StreamTaskTest, LinesAreReadableWhereTheyCanBe) {
  const Ran one = RunTask(internal::BindJob<Sums>(), {"map"}, "b 3\na -1\nb 4\n", {});
  EXPECT_EQ(one.out, "a\t-1\nb\t7\n");
  const Ran two = RunTask(internal::BindJob<Sums>(), {"map"}, "a 1\n", {{"mapreduce_job_reduces", "2"}});
  EXPECT_EQ(two.out.size(), std::string("!!a\t1\n").size());
  EXPECT_TRUE(two.out.ends_with("a\t1\n"));
}

TEST(StreamTaskTest, AJobOfMapsWritesItsOutput) {
  const Ran ran = RunTask(internal::BindJob<Copy>(), {"map"}, "x\ny\tz\n", {{"mapreduce_job_reduces", "0"}});
  EXPECT_EQ(ran.out, "x\ny\tz\n");
  EXPECT_EQ(ran.status, 0) << ran.error;
}

TEST(StreamTaskTest, WhatAJobPrintsIsNoRecord) {
  const Ran ran = RunTask(internal::BindJob<Throws>(), {"map"}, "good\n", {});
  EXPECT_EQ(ran.out, "good\t\n");
  EXPECT_THAT(ran.error, HasSubstr("printed"));
}

TEST(StreamTaskTest, FailuresSayWhatToDo) {
  const JobBinding sums = internal::BindJob<Sums>();
  const auto says = [](const Ran& ran, const std::string& text) {
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.error, HasSubstr(text));
  };
  says(RunTask(sums, {}, "", {}), "followed by map, combine or reduce");
  says(RunTask(sums, {"reduce"}, "b\t1\na\t1\n", {}), "LC_ALL=C sort");
  says(RunTask(sums, {"reduce"}, "a\tx\n", {}), "none that this job writes");
  says(RunTask(sums, {"reduce"}, "a\x08\x09\t1\n", {}), "none that this job writes");
  says(RunTask(sums, {"reduce"}, "a\t1\n", {{"mapreduce_job_reduces", "2"}}), "KeyFieldBasedPartitioner");
  says(RunTask(sums, {"map"}, "", {{"mapreduce_job_reduces", "many"}}), "mapreduce_job_reduces");
  says(RunTask(sums, {"map"}, "",
               {{"mapreduce_map_input_file", "/a"}, {"mapreduce_input_fileinputformat_inputdir", "/b"}}),
       "which INPUT");
  says(RunTask(sums, {"map", "no.option=1"}, "", {}), "no.option");
  says(RunTask(internal::BindJob<Grouped>(), {"combine"}, "", {}), "no Combine");
  says(RunTask(internal::BindJob<Binary>(), {"map"}, "", {}), "its input is not lines of text");
  says(RunTask(internal::BindJob<Throws>(), {"map"}, "bad\n", {}), "the job's Map threw an exception: no such line");
}

}  // namespace
}  // namespace millrace::exported
