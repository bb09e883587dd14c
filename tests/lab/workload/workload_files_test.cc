// SPDX-License-Identifier: Apache-2.0
// Tests what a workload file says for live runs, its factors and traces, and the workloads that are shipped.
#include <gtest/gtest.h>

#include "base/file.h"
#include "lab/workload/simulation_file.h"
#include "tests/lab/testing.h"

namespace millrace::sim {
namespace {

SimulationFile MustParse(const std::string& text, const Overrides& overrides = {}) {
  Result<SimulationFile> file = ParseSimulation(text, "w.toml", overrides);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(file).value();
}

Overrides Sized(double factor) {
  Overrides overrides;
  overrides.size_factor = factor;
  return overrides;
}

std::string WhyNot(const std::string& text) { return ParseSimulation(text, "w.toml", {}).status().message(); }

constexpr const char* kClass =
    "[[jobs]]\nname = \"a\"\ncount = 3\nmaps = 10\nmap_time = 8\nreduces = 2\nreduce_time = 4\n";

TEST(WorkloadFile, LiveKeysAreReadAndDoNotChangeWhatIsDrawn) {
  const std::string plain =
      "seed = 5\nblock_size = \"2M\"\n[[jobs]]\nname = \"a\"\ncount = 2\ndata = \"d\"\n"
      "maps = { uniform = [1, 9] }\nmap_time = { exponential = 4 }\n";
  const SimulationFile a = MustParse(plain);
  const SimulationFile b = MustParse(plain +
                                     "program = \"grep\"\noptions = { \"grep.pattern\" = \"x\", \"job.pack\" = 0 }\n"
                                     "[data.d]\nkind = \"dna\"\nsize = \"18M\"\n");
  ASSERT_EQ(a.workload.jobs.size(), b.workload.jobs.size());
  for (std::size_t i = 0; i < a.workload.jobs.size(); ++i) {
    EXPECT_EQ(a.workload.jobs[i].maps.size(), b.workload.jobs[i].maps.size());
    EXPECT_EQ(a.workload.jobs[i].maps[0].cpu, b.workload.jobs[i].maps[0].cpu);
    EXPECT_EQ(b.workload.jobs[i].input, "d");
  }
  ASSERT_EQ(b.live.data.size(), 1U);
  EXPECT_EQ(b.live.data[0].kind, "dna");
  EXPECT_EQ(b.live.data[0].size, 18U << 20);
  EXPECT_EQ(b.live.class_of, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(b.live.classes[0].program, "grep");
  EXPECT_EQ(b.live.classes[0].place, "w.toml:3: jobs[0]");
  EXPECT_EQ(b.live.classes[0].options,
            (std::vector<std::pair<std::string, std::string>>{{"grep.pattern", "x"}, {"job.pack", "0"}}));
}

TEST(WorkloadFile, AnInputByNameIsAllOfTheData) {
  const std::string data =
      "block_size = \"2M\"\n[data.d]\nsize = \"9M\"\n[[jobs]]\nname = \"a\"\ninput = \"d\"\nmap_time = 1\n";
  const SimJob job = MustParse(data).workload.jobs[0];
  ASSERT_EQ(job.maps.size(), 5U);
  EXPECT_EQ(job.maps[0].bytes, 2U << 20);
  EXPECT_EQ(job.maps[4].bytes, 1U << 20);
  EXPECT_EQ(job.input, "d");
  const SimJob part = MustParse(data + "maps = 3\n").workload.jobs[0];
  EXPECT_EQ(part.maps.size(), 3U);
  EXPECT_EQ(MustParse(data, Sized(2)).workload.jobs[0].maps.size(), 9U);
  EXPECT_EQ(WhyNot("[[jobs]]\nname = \"a\"\ninput = \"d\"\n"), "w.toml:3: jobs[0].input: there is no [data.d]");
  EXPECT_EQ(WhyNot("[data.d]\n[[jobs]]\nname = \"a\"\ninput = \"d\"\n"),
            "w.toml:4: jobs[0].input: how much is read is not known; give `maps`, or a `size` in [data.d]");
  EXPECT_EQ(WhyNot("[data.d]\nsize = 5\n[[jobs]]\nname = \"a\"\ninput = \"d\"\ndata = \"d\"\n"),
            "w.toml:6: jobs[0].data: `input` names the data too; leave one of them out");
  EXPECT_EQ(WhyNot("[data.d]\nsise = 5\n"), "w.toml:2: data.d.sise: there is no such key; did you mean size?");
  EXPECT_EQ(WhyNot("[data]\nd = 5\n"), "w.toml:1: data: \"d\" is not a table; [data.d] makes one");
}

TEST(WorkloadFile, AProgramWithoutTimesCanBeRunAndNotSimulated) {
  const auto why = [](const std::string& keys) {
    return MustParse("[[jobs]]\nname = \"a\"\nprogram = \"grep\"\nmaps = 2\n" + keys).CheckSimulable().message();
  };
  EXPECT_EQ(
      why(""),
      "w.toml:1: jobs[0].map_time: is missing, so that \"grep\" can be run and not simulated; say how long its maps "
      "take, such as map_time = \"5s\"");
  EXPECT_EQ(
      why("map_time = 1\nreduces = 1\n"),
      "w.toml:1: jobs[0].reduce_time: is missing, so that \"grep\" can be run and not simulated; say how long its "
      "reduces take, such as reduce_time = \"5s\"");
  EXPECT_EQ(why("map_time = 1\n"), "");
  EXPECT_EQ(why("map_rate = \"1M\"\nreduces = 1\nreduce_rate = \"1M\"\n"), "");
  EXPECT_TRUE(MustParse("[[jobs]]\nname = \"a\"\nmaps = 2\n").CheckSimulable().ok());
  EXPECT_EQ(MustParse("[cluster]\nnodes = 2\n").CheckSimulable().message(),
            "the workload has no jobs; sections [[jobs]] describe them, and lines of a trace are jobs");
}

TEST(WorkloadFile, FactorsScaleSizesAndTimes) {
  const std::string text = std::string("stop_at = 100\n[arrival]\nkind = \"interval\"\nevery = 10\n") + kClass +
                           "deadline = 60\ntell_times = true\nlocality_waits = [2]\n";
  const SimJob plain = MustParse(text).workload.jobs[2];
  const SimulationFile file = MustParse("size_factor = 0.3\ntime_factor = 0.5\n" + text);
  const SimJob& scaled = file.workload.jobs[2];
  EXPECT_EQ(scaled.maps.size(), 3U);
  EXPECT_EQ(scaled.reduces.size(), 1U);
  EXPECT_EQ(scaled.maps[0].bytes, plain.maps[0].bytes);
  EXPECT_EQ(scaled.maps[0].cpu, 4 * kSecond);
  EXPECT_EQ(scaled.reduces[0].cpu, 2 * kSecond);
  EXPECT_EQ(scaled.map_time, 4 * kSecond);
  EXPECT_EQ(scaled.deadline, 30 * kSecond);
  EXPECT_EQ(scaled.locality_waits, (std::vector<Micros>{kSecond}));
  EXPECT_EQ(scaled.submit, plain.submit / 2);
  EXPECT_EQ(file.stop_at, 50 * kSecond);
  EXPECT_EQ(MustParse("size_factor = 0.3\n" + text, Sized(2)).workload.jobs[0].maps.size(), 20U);
  EXPECT_EQ(MustParse("size_factor = 0.001\n" + text).workload.jobs[0].maps.size(), 1U);
}

TEST(WorkloadFile, ATraceIsReadFromItsLines) {
  const std::string trace =
      "[trace]\nmap_cores = 0\nlines = '''\nj0\t5\t5\t4000\t4000\t10\nj1\t7\t2\t1000\t0\t0\n'''\n";
  const SimulationFile file = MustParse("block_size = 1000\nsize_factor = 0.5\ntime_factor = 0.1\n" + trace);
  ASSERT_EQ(file.workload.jobs.size(), 2U);
  EXPECT_EQ(file.workload.jobs[0].maps.size(), 2U);
  EXPECT_EQ(file.workload.jobs[0].submit, kSecond / 2);
  EXPECT_EQ(file.workload.jobs[1].map_cores, 0);
  EXPECT_EQ(file.live.classes.back().name, "trace");
  EXPECT_EQ(file.live.class_of, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(
      MustParse(std::string(kClass) + "[trace]\njobs = 1\nlines = '''\nj0\t5\t5\t4\t4\t10\nj1\t7\t2\t1\t0\t0\n'''\n")
          .live.class_of,
      (std::vector<std::uint32_t>{0, 0, 0, 1}));
  EXPECT_EQ(WhyNot("[trace]\nlines = '''\nj0\t5\n'''\n"),
            "w.toml:2: trace.lines: line:1: there are 2 fields, not 6, separated by tabs");
  EXPECT_EQ(WhyNot("[trace]\n"), "w.toml:1: trace: give either `file` or `lines`");
  EXPECT_EQ(WhyNot("[trace]\nfile = \"t.tsv\"\n"),
            "w.toml:2: trace.file: a workload given as text cannot name a file beside it");
}

TEST(WorkloadFile, ATraceIsReadFromTheFileBesideIt) {
  Result<TempDir> directory = TempDir::Make("workload-files-test-");
  ASSERT_TRUE(directory.ok());
  const std::string path = directory->path() + "/w.toml";
  ASSERT_TRUE(WriteFileDurably(path, "[trace]\nfile = \"t.tsv\"\n").ok());
  EXPECT_FALSE(LoadSimulation(path, {}).ok());
  ASSERT_TRUE(WriteFileDurably(directory->path() + "/t.tsv", "j0\t5\t5\t4\t4\t10\n").ok());
  const Result<SimulationFile> file = LoadSimulation(path, {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->workload.jobs.size(), 1U);
}

// Each of the workloads that are shipped can be simulated, and all its jobs end.
TEST(ShippedWorkloads, EndUnderFairAndFifo) {
  const Result<std::vector<std::string>> names = ListDirectory(MILLRACE_WORKLOADS);
  ASSERT_TRUE(names.ok());
  std::size_t workloads = 0;
  for (const std::string& name : *names) {
    if (!name.ends_with(".toml")) continue;
    ++workloads;
    const Result<SimulationFile> file = LoadSimulation(std::string(MILLRACE_WORKLOADS) + "/" + name, {});
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_TRUE(file->CheckSimulable().ok()) << file->CheckSimulable().message();
    EXPECT_LE(file->cluster.nodes.size(), 8U) << name;
    for (const char* scheduler : {"fifo", "fair"}) {
      const SimResult result = MustSimulate(file->cluster, file->workload, scheduler, {.seed = file->seed});
      EXPECT_EQ(result.summary.succeeded, file->workload.jobs.size()) << name;
      EXPECT_LT(result.summary.makespan, 180 * kSecond) << name << " under " << scheduler;
    }
  }
  EXPECT_GE(workloads, 10U);
}

}  // namespace
}  // namespace millrace::sim
