// SPDX-License-Identifier: Apache-2.0
// The text of a workload file with measured times, read again.
#include "lab/beside/calibrated_file.h"

#include <gtest/gtest.h>

namespace millrace::compare {
namespace {

constexpr const char* kText = R"(# kept
time_factor = 0.5
block_size = "1M"
[[jobs]]  # the first
name = "count"
program = "wordcount"
maps = 2
map_rate = { uniform = ["1M", "2M"] }  # a guess
map_output = 0.9
reduces = 1
reduce_time = [
]
[jobs.arrival]
kind = "batch"
[[jobs]]
name = "load"
maps = 1
map_time = 7
)";

Costs Measured() {
  Costs costs;
  costs.classes.resize(2);
  costs.classes[0].of[TaskKind::kMap] = {3, 0, 1, 250'000};
  costs.classes[0].of[TaskKind::kReduce] = {1, 0, 1, 1'500'000};
  costs.classes[0].output_ratio = 0.125;
  return costs;
}

TEST(CalibratedFileTest, TheClassHasItsTimesAndAllElseStays) {
  std::string text = kText;
  text.replace(text.find("reduce_time = [\n]"), 17, "reduce_time = 2");
  const Result<std::string> edited = WithMeasuredTimes(text, "w.toml", Measured(), "Measured.");
  ASSERT_TRUE(edited.ok()) << edited.status().message();
  EXPECT_EQ(*edited, R"(# kept
time_factor = 0.5
block_size = "1M"
[[jobs]]  # the first
# Measured.
map_time = "0.5000s"
map_output = 0.125
reduce_time = "3.0000s"
name = "count"
program = "wordcount"
maps = 2
reduces = 1
[jobs.arrival]
kind = "batch"
[[jobs]]
name = "load"
maps = 1
map_time = 7
)");
  const sim::SimulationFile file = sim::ParseSimulation(*edited, "w.toml", {}).value();
  EXPECT_TRUE(file.CheckSimulable().ok());
  EXPECT_EQ(file.workload.jobs[0].maps[0].cpu, 250'000) << "that times the time_factor is what was measured";
  EXPECT_EQ(file.workload.jobs[0].reduces[0].cpu, 1'500'000);
  EXPECT_EQ(file.workload.jobs[0].maps[0].output, (1u << 20) / 8);
}

TEST(CalibratedFileTest, AValueOfSeveralLinesGoesAsAWhole) {
  const std::string edited = WithMeasuredTimes(kText, "w.toml", Measured(), "Measured.").value();
  EXPECT_EQ(edited.find("= [\n"), std::string::npos) << edited;
  EXPECT_NE(edited.find("reduces = 1\n[jobs.arrival]"), std::string::npos) << edited;
}

TEST(CalibratedFileTest, TextThatCannotBeEditedIsRefused) {
  EXPECT_NE(
      WithMeasuredTimes("jobs = [{ name = \"a\" }]", "w.toml", Measured(), "").status().message().find("[[jobs]]"),
      std::string::npos);
  EXPECT_NE(WithMeasuredTimes("a = ", "w.toml", Measured(), "").status().message().find("w.toml:1: "),
            std::string::npos);
  EXPECT_FALSE(WithMeasuredTimes("a = 1", "w.toml", Measured(), "").ok());
}

TEST(CalibratedFileTest, AFileWithoutALastLineBreakGetsOne) {
  EXPECT_EQ(WithMeasuredTimes("[[jobs]]", "w.toml", Measured(), "M.").value(),
            "[[jobs]]\n# M.\nmap_time = \"0.2500s\"\nmap_output = 0.125\nreduce_time = \"1.5000s\"\n");
}

}  // namespace
}  // namespace millrace::compare
