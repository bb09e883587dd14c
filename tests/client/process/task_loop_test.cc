// SPDX-License-Identifier: Apache-2.0
#include "client/process/task_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <thread>

#include "examples/grep/grep.h"
#include "examples/words/wordcount.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

TEST(TaskLoopTest, MapsAndReducesWords) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(2), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "to be or\tnot\n\n  to be  \n")}, driver.Path("m0"));
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_input_records"], 3);
  EXPECT_EQ(end.counters["millrace.map_output_records"], 6);
  EXPECT_EQ(end.counters["millrace.combine_output_records"], 4);
  EXPECT_EQ(end.counters["millrace.bytes_read_local"], 24);
  EXPECT_FALSE(end.output);
  driver.LaunchMap(1, {AddLocal(files, 2, "b", "be\n"), AddLocal(files, 3, "c", "or be")}, driver.Path("m1"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.connections, 0) << "a map with local blocks and reduces asked the master";

  std::string all;
  for (std::uint32_t reduce = 0; reduce < 2; ++reduce) {
    driver.LaunchReduce(reduce, {driver.Path("m0"), driver.Path("m1")});
    end = driver.WaitForEnd();
    ASSERT_EQ(end.error, "");
    EXPECT_TRUE(end.output);
    EXPECT_EQ(end.output_name, "part-r-0000" + std::to_string(reduce));
    const std::string path = "/out/_temporary/job3.r." + std::to_string(reduce) + ".0/" + end.output_name;
    EXPECT_EQ(files.tree->attempts[path], "job3.r." + std::to_string(reduce) + ".0");
    EXPECT_EQ(files.tree->written[path].size(), end.output_bytes);
    all += files.tree->written[path];
  }
  EXPECT_EQ(files.connections, 1);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
    lines.push_back(all.substr(at, all.find('\n', at) - at));
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (std::vector<std::string>{"be\t4", "not\t1", "or\t2", "to\t2"}));
  EXPECT_EQ(driver.Close(), 0);
}

// Keeps a core busy, on a thread of its own, for as many milliseconds of processor time as the line says.
struct Busy {
  using Key = std::string;
  using Value = std::string;
  void Map(std::string_view line, auto&) {
    std::thread([until = std::stoi(std::string(line)) * 1'000'000L] {
      timespec used{};
      while (used.tv_sec * 1'000'000'000L + used.tv_nsec < until) ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    }).join();
  }
  void Reduce(const std::string&, Values<std::string>&, auto&) {}
};

TEST(TaskLoopTest, AnAttemptTellsWhatItHadOfTheCores) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Busy>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "60\n")}, driver.Path("m0"));
  const TaskDriver::End first = driver.WaitForEnd();
  ASSERT_EQ(first.error, "");
  EXPECT_GE(first.cpu, 60'000U);
  EXPECT_GT(first.start, 0U) << "the process had to start for it";
  driver.LaunchMap(1, {AddLocal(files, 2, "b", "20\n")}, driver.Path("m1"));
  const TaskDriver::End second = driver.WaitForEnd();
  ASSERT_EQ(second.error, "");
  EXPECT_GE(second.cpu, 20'000U);
  EXPECT_LT(second.cpu, first.start + first.cpu + 20'000U) << "what came before it is not its own";
  EXPECT_EQ(second.start, 0U) << "the process was there";
}

struct Lines {
  using Key = std::string;
  using Value = std::string;
  void Map(std::string_view line, auto& emit) { emit(std::string(line), "is a line of the input"); }
  void Reduce(const std::string& key, Values<std::string>& values, auto& emit) {
    for (const std::string& value : values) emit(key, value);
  }
};

// The reduce gives the same output, whatever the worker's link was when the map ran.
TEST(TaskLoopTest, SomeMapsOfAJobAreCompressedAndSomeAreNot) {
  std::string text;
  for (int i = 0; i < 30000; ++i) text += "line " + std::to_string(100000 + i * 7919 % 30000) + "\n";
  constexpr double kSlow = 1e6, kFast = 3e9, kUnknown = 0;
  std::vector<std::string> outputs;
  for (const std::string mode : {"none", "zstd", "auto"}) {
    TaskFiles files;
    TaskDriver driver(internal::BindJob<Lines>(), files);
    ASSERT_EQ(driver.SetUpJob(1, {{"map.compress", mode}}), "");
    std::vector<std::string> runs;
    std::vector<bool> compressed;
    for (const double rate : {kUnknown, kSlow, kFast, kSlow}) {
      const auto map = static_cast<std::uint32_t>(runs.size());
      runs.push_back(driver.Path("m" + std::to_string(map)));
      driver.LaunchMap(map, {AddLocal(files, map + 1, "f" + std::to_string(map), text)}, runs.back(), "", rate);
      TaskDriver::End end = driver.WaitForEnd();
      ASSERT_EQ(end.error, "");
      compressed.push_back(end.counters["millrace.map_stored_bytes"] < end.counters["millrace.map_output_bytes"] / 2);
    }
    const bool all = mode == "zstd", some = mode != "none";
    EXPECT_EQ(compressed, (std::vector<bool>{all, some, all, some})) << mode;
    driver.LaunchReduce(0, runs);
    ASSERT_EQ(driver.WaitForEnd().error, "");
    outputs.push_back(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"]);
  }
  EXPECT_EQ(std::ranges::count(outputs[0], '\n'), 4 * 30000);
  EXPECT_TRUE(outputs[1] == outputs[0]);
  EXPECT_TRUE(outputs[2] == outputs[0]);
}

TEST(TaskLoopTest, WithoutRecordsThereIsAnOutputFile) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "")}, driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  EXPECT_TRUE(driver.WaitForEnd().output);
  EXPECT_EQ(files.tree->written.count("/out/_temporary/job3.r.0.0/part-r-00000"), 1u);
}

TEST(TaskLoopTest, WithoutReducesMapsWriteTheOutput) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(4, {AddLocal(files, 1, "a", "x y\nx\n")}, "");
  const TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.output_name, "part-m-00004");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.m.4.0/part-m-00004"], "x\t1\ny\t1\nx\t1\n");
}

TEST(TaskLoopTest, SetUpThatIsRefused) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::Grep>(), files);
  EXPECT_NE(driver.SetUpJob(1).find("grep.pattern"), std::string::npos);
  EXPECT_NE(driver.SetUpJob(1, {{"grep.pattern", "("}}).find("grep.pattern"), std::string::npos);
  EXPECT_NE(driver.SetUpJob(1, {{"grep.patern", "x"}}).find("grep.pattern"), std::string::npos);
  driver.LaunchMap(0, {}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error.find("not set up"), std::string::npos);
  EXPECT_EQ(driver.SetUpJob(1, {{"grep.pattern", "x"}, {"task.memory", "16MiB"}}), "");
}

struct MemoryTeller {
  using Key = std::string_view;
  using Value = std::uint64_t;
  explicit MemoryTeller(TaskContext& context) : context_(context) {}
  void Map(std::string_view, auto& emit) { emit("memory", context_.facts().memory); }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    for (const std::uint64_t value : values) emit(key, value);
    emit("reduce", context_.facts().memory);
  }

 private:
  TaskContext& context_;
};

// The worker of these tests allows 8 MiB.
TEST(TaskLoopTest, AJobIsToldHowMuchMemoryItsTasksMayUse) {
  for (const auto& [asked, given] : {std::pair("1GiB", "8388608"), std::pair("4MiB", "4194304")}) {
    TaskFiles files;
    TaskDriver driver(internal::BindJob<MemoryTeller>(), files);
    ASSERT_EQ(driver.SetUpJob(1, {{"task.memory", asked}}), "");
    driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\n")}, driver.Path("m0"));
    EXPECT_EQ(driver.WaitForEnd().error, "");
    driver.LaunchReduce(0, {driver.Path("m0")});
    EXPECT_EQ(driver.WaitForEnd().error, "");
    EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"],
              std::string("memory\t") + given + "\nreduce\t" + given + "\n");
  }
}

struct Printer {
  void Map(std::string_view line, auto&) { std::printf("%.*s|", static_cast<int>(line.size()), line.data()); }
};

TEST(TaskLoopTest, StandardOutputGoesToTheAttemptsFile) {
  TaskFiles files;
  const int saved = ::dup(STDOUT_FILENO);
  std::string log;
  {
    TaskDriver driver(internal::BindJob<Printer>(), files);
    ASSERT_EQ(driver.SetUpJob(0), "");
    driver.LaunchMap(0, {AddLocal(files, 1, "a", "said\nthat\n")}, "", driver.Path("stdout"));
    EXPECT_EQ(driver.WaitForEnd().error, "");
    driver.Close();
    log = *ReadWholeFile(driver.Path("stdout"));
  }
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  EXPECT_EQ(log, "said|that|");
}

}  // namespace
}  // namespace millrace
