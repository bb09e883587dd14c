// SPDX-License-Identifier: Apache-2.0
// Tests the options with which a workload's jobs are submitted, and the workloads that cannot be run live.
#include "lab/live/live_jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lab/live/machine_use.h"

namespace millrace::compare {
namespace {

sim::SimulationFile MustParse(const std::string& text) {
  Result<sim::SimulationFile> file = sim::ParseSimulation(text, "w.toml", {});
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(file).value();
}

LiveJobsOptions Options() {
  LiveJobsOptions options;
  options.directory = "/home/me/", options.data = "/data", options.outputs = "/out";
  return options;
}

std::map<std::string, std::string> ParametersOf(const cli::RunOptions& run) {
  std::map<std::string, std::string> parameters;
  for (const std::string& one : run.parameters) {
    parameters[one.substr(0, one.find('='))] = one.substr(one.find('=') + 1);
  }
  return parameters;
}

constexpr const char* kText = R"(
block_size = "1M"
[data.corpus]
size = "4M"
[[jobs]]
name = "count"
count = 2
program = "wordcount"
input = "corpus"
reduces = 2
map_time = "2s"
reduce_time = 1
tell_times = true
deadline = "90s"
user = ["ann", "bob"]
pool = "p"
priority = "HIGH"
locality_waits = ["1s", "2s"]
options = { "task.memory" = "64M" }
[[jobs]]
name = "mine"
program = "./own"
data = "corpus"
maps = 2
map_time = 1
)";

TEST(LiveJobs, AProgramIsRunOverItsDataAsTheClassSays) {
  const Result<LiveJobs> live = MakeLiveJobs(MustParse(kText), Options());
  ASSERT_TRUE(live.ok()) << live.status().message();
  ASSERT_EQ(live->jobs.size(), 3U);
  const cli::RunOptions& run = live->jobs[1];
  EXPECT_EQ(run.job, "wordcount");
  EXPECT_EQ(run.name, "count-1");
  EXPECT_EQ(run.user, "bob");
  EXPECT_EQ(run.pool, "p");
  EXPECT_EQ(run.priority, "HIGH");
  EXPECT_EQ(run.reducers, 2);
  EXPECT_EQ(run.deadline, "90.000000s");
  EXPECT_EQ(run.map_time, "2.000000s");
  EXPECT_EQ(run.reduce_time, "1.000000s");
  EXPECT_EQ(run.locality_wait, "1.000000s,2.000000s");
  EXPECT_EQ(run.output, "/out/1");
  EXPECT_EQ(run.inputs, (std::vector<std::string>{"/data/corpus/16-00000", "/data/corpus/16-00001",
                                                  "/data/corpus/16-00002", "/data/corpus/16-00003"}));
  const auto parameters = ParametersOf(run);
  EXPECT_EQ(parameters.at("task.memory"), "64M");
  EXPECT_EQ(parameters.at("job.pack"), "0");
  EXPECT_EQ(parameters.at("job.speculation"), "false");
  EXPECT_EQ(live->jobs[2].job, "/home/me/./own");
  EXPECT_EQ(live->jobs[2].inputs.size(), 2U);
  ASSERT_EQ(live->files.size(), 4U);
  EXPECT_EQ(live->files[0].kind, "text");
  EXPECT_EQ(live->files[0].bytes, 1U << 20);
}

TEST(LiveJobs, AClassWithoutProgramIsSizesAndTimes) {
  const std::string text = R"(
block_size = "1M"
[[jobs]]
name = "work"
maps = 2
map_time = 2
map_output = 0.5
reduces = 2
reduce_time = 3
reduce_output = 0.1
[[jobs]]
name = "rest"
maps = 2
split = "100K"
map_time = 2
map_cores = 0
reduces = 1
reduce_time = 3
reduce_cores = 0
[[jobs]]
name = "idle"
maps = 7
located = false
map_time = 4
reduces = 1
reduce_time = 5
)";
  const Result<LiveJobs> live = MakeLiveJobs(MustParse(text), Options());
  ASSERT_TRUE(live.ok()) << live.status().message();
  auto parameters = ParametersOf(live->jobs[0]);
  EXPECT_EQ(live->jobs[0].job, "loadgen");
  EXPECT_DOUBLE_EQ(std::stod(parameters.at("loadgen.keep_map")), 50);
  EXPECT_NEAR(std::stod(parameters.at("loadgen.keep_reduce")), 10, 1e-3);
  // 32,768 lines of 32 bytes in 2 s: 61,035 ns each, of which 100 are the record's own, at 4 ns a round.
  EXPECT_EQ(parameters.at("loadgen.map_work"), "15234");
  EXPECT_EQ(parameters.at("loadgen.reduce_work"), std::to_string(std::lround((3e9 / 16384 - 100) / 4)));
  EXPECT_FALSE(parameters.contains("loadgen.map_time"));
  parameters = ParametersOf(live->jobs[1]);
  EXPECT_EQ(parameters.at("loadgen.map_time"), "2.000000s");
  EXPECT_EQ(parameters.at("loadgen.reduce_time"), "3.000000s");
  EXPECT_FALSE(parameters.contains("loadgen.map_work"));
  // 100 KiB are two sixteenths of a block, rounded up.
  EXPECT_TRUE(live->jobs[1].inputs[0].starts_with("/data/pool-tuples/02-0000")) << live->jobs[1].inputs[0];
  EXPECT_NE(live->jobs[1].inputs[0], live->jobs[1].inputs[1]);
  EXPECT_EQ(live->jobs[2].job, "sleep");
  EXPECT_TRUE(live->jobs[2].inputs.empty());
  parameters = ParametersOf(live->jobs[2]);
  EXPECT_EQ(parameters.at("input.maps"), "7");
  EXPECT_EQ(parameters.at("sleep.map_time"), "4.000000s");
  EXPECT_EQ(parameters.at("sleep.reduce_time"), "5.000000s");
}

// Jobs with data of their own read different files, as far as the pool has them, and every file is made.
TEST(LiveJobs, JobsWithDataOfTheirOwnReadFromAPool) {
  const LiveJobs live =
      MakeLiveJobs(MustParse("block_size = \"1M\"\n[[jobs]]\nname = \"a\"\ncount = 50\nmaps = 3\nmap_time = 1\n"),
                   Options())
          .value();
  std::set<std::string> made, read;
  for (const DataFile& file : live.files) made.insert("/data/" + file.name);
  EXPECT_EQ(made.size(), 150U);  // below 256 MiB each job could have its own
  for (const cli::RunOptions& run : live.jobs) {
    EXPECT_EQ(std::set<std::string>(run.inputs.begin(), run.inputs.end()).size(), 3U);
    read.insert(run.inputs.begin(), run.inputs.end());
  }
  EXPECT_TRUE(std::ranges::includes(made, read));
  EXPECT_GT(read.size(), 75U);
}

TEST(LiveJobs, WhatCannotBeRunIsToldWithItsLine) {
  const auto why = [](const std::string& text) { return MakeLiveJobs(MustParse(text), Options()).status().message(); };
  EXPECT_EQ(why("block_size = \"1M\"\n[data.d]\nsize = \"2M\"\n[[jobs]]\nname = \"a\"\ndata = \"d\"\nmaps = 3\n"),
            "w.toml:4: jobs[0]: \"a-0\" has 3 maps, but \"d\" has 2 blocks; make its size larger");
  EXPECT_EQ(why("[[jobs]]\nname = \"a\"\nmaps = 1\nplaces = [[0]]\n"),
            "w.toml:1: jobs[0].places: a live cluster places blocks itself; leave it out");
  EXPECT_EQ(why("block_size = \"1M\"\n[[jobs]]\nname = \"a\"\nmaps = 1\nsplit = \"2M\"\n"),
            "w.toml:2: jobs[0].split: a map reads one block at most; make block_size at least 2097152");
}

TEST(Machine, TellsWhatOthersUsed) {
  MachineUse begin, end;
  ParseProcStat("cpu  100 0 50 800 10 5 5 20 0 0\ncpu0 1 1", 10, &begin);
  EXPECT_DOUBLE_EQ(begin.busy, 16);
  EXPECT_DOUBLE_EQ(begin.stolen, 2);
  begin.processors = end.processors = 2;
  end.at = begin.at + 10, end.own = begin.own + 8;
  end.busy = begin.busy + 9, end.stolen = begin.stolen;
  EXPECT_EQ(Disturbance(begin, end, 0.05, true), "");  // exactly 5%
  end.busy = begin.busy + 10;
  EXPECT_EQ(Disturbance(begin, end, 0.05, true), "10% of the processors were used by others");
  EXPECT_EQ(Disturbance(begin, end, 0.05, false), "");
  end.stolen = begin.stolen + 4;
  EXPECT_EQ(Disturbance(begin, end, 0.05, false), "20% of the processors were taken by the host");
}

TEST(KeepOneOfEachProgramTest, EachHasTheClusterToItself) {
  sim::SimulationFile file = MustParse(
      "[[jobs]]\nname = \"load\"\nmaps = 1\n[[jobs]]\nname = \"count\"\ncount = 3\nprogram = \"wordcount\"\nmaps = 1\n"
      "arrival = { kind = \"interval\", every = 5, at = 7 }\n[[jobs]]\nname = \"find\"\nprogram = \"grep\"\nmaps = "
      "2\n");
  ASSERT_TRUE(KeepOneOfEachProgram(&file));
  ASSERT_EQ(file.workload.jobs.size(), 2u);
  EXPECT_EQ(file.workload.jobs[0].name, "count-0");
  EXPECT_EQ(file.workload.jobs[0].submit, 0);
  EXPECT_FALSE(file.workload.jobs[0].after.has_value());
  EXPECT_EQ(file.workload.jobs[1].name, "find-0");
  EXPECT_EQ(file.workload.jobs[1].after, 0u) << "it comes when the other has ended";
  EXPECT_EQ(file.live.class_of, (std::vector<std::uint32_t>{1, 2}));
  sim::SimulationFile none = MustParse("[[jobs]]\nname = \"load\"\nmaps = 1\n");
  EXPECT_FALSE(KeepOneOfEachProgram(&none));
}

}  // namespace
}  // namespace millrace::compare
