// SPDX-License-Identifier: Apache-2.0
#include "client/cli/report.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

JobStatus Running(double maps, double copy, double reduces) {
  JobStatus status;
  status.job = JobId{3};
  status.state = JobState::kRunning;
  status.maps = {10, 2, 4, maps};
  status.reduces = {2, 1, 0, reduces};
  status.copy_fraction = copy;
  return status;
}

TEST(ReportTest, APipeHearsOfTenPointsOnly) {
  PlainProgress progress;
  EXPECT_EQ(progress.Update(Running(0, 0, 0)), "");
  EXPECT_EQ(progress.Update(Running(0.09, 0, 0)), "");
  EXPECT_EQ(progress.Update(Running(0.10, 0, 0)), "job3: map 10%, copy 0%, reduce 0%");
  EXPECT_EQ(progress.Update(Running(0.19, 0.05, 0)), "");
  EXPECT_EQ(progress.Update(Running(0.19, 0.10, 0)), "job3: map 19%, copy 10%, reduce 0%");
  // Progress goes back when a worker is lost, because its maps have to run again.
  EXPECT_EQ(progress.Update(Running(0.05, 0.10, 0)), "job3: map 5%, copy 10%, reduce 0%");
}

TEST(ReportTest, CountersOfTheEngineAreNotTheJobsOwn) {
  EXPECT_EQ(OwnCounterLines({}), "");
  EXPECT_EQ(
      OwnCounterLines({{{"millrace", "map_input_records"}, 7}, {{"words", "left out"}, 3}, {{"words", "a\nb"}, -1}}),
      "  words a\\nb -1\n  words left out 3\n");
}

TEST(ReportTest, OneHundredMeansDone) {
  PlainProgress progress;
  EXPECT_EQ(progress.Update(Running(0.999, 1, 0.4)), "job3: map 99%, copy 100%, reduce 40%");
}

TEST(ReportTest, TheBarIsOfTheWholeJobAndNamesThePhases) {
  JobStatus status = Running(1, 0.5, 0);  // half of the whole
  EXPECT_EQ(BarLine(status, {20 << 20, 10 * kSecond, 10 * kSecond}, 80),
            "job3 [===========>          ] map 100%  copy 50%  reduce 0%  2 MiB/s  10 s left");
  status.reduces.total = 0;
  status.maps.fraction = 0.25;
  EXPECT_EQ(BarLine(status, {}, 38), "job3 [=====>                ] map 25%");
}

TEST(ReportTest, TheBarTakesTheRoomThatThereIs) {
  const Pace pace{20 << 20, 100 * kSecond, 7 * kSecond};
  for (const std::size_t width : {80u, 90u, 120u, 200u, 400u})
    EXPECT_EQ(BarLine(Running(0.5, 0.2, 0), pace, width).size(), width - 1);
  EXPECT_NE(BarLine(Running(0.5, 0.5, 0.5), pace, 20).find("[====>   ]"), std::string::npos);
}

TEST(ReportTest, TheRateOfFewBytesIsNotTold) {
  EXPECT_EQ(BarLine(Running(0.5, 0, 0), {(1 << 20) - 1, kSecond}).find("B/s"), std::string::npos);
  EXPECT_NE(BarLine(Running(0.5, 0, 0), {1 << 20, kSecond}).find("  1 MiB/s"), std::string::npos);
}

TEST(TimeLeftTest, OfASteadyPaceIsThePace) {
  TimeLeft left;
  // A percent a second, and watched from the middle on.
  for (int second = 0; second < 50; ++second) {
    const auto told = left.Update(0.5 + second * 0.01, second * kSecond);
    EXPECT_EQ(told.has_value(), second >= 10) << second << ": a tenth was seen";
    if (told) {
      EXPECT_NEAR(static_cast<double>(*told), (50.0 - second) * kSecond, 1000) << second;
    }
  }
  EXPECT_EQ(left.Update(1, 50 * kSecond), std::nullopt) << "nothing is left";
}

TEST(TimeLeftTest, IsNotToldInTheFirstSeconds) {
  TimeLeft left;
  EXPECT_EQ(left.Update(0, 0), std::nullopt);
  EXPECT_EQ(left.Update(0.5, kSecond), std::nullopt);
  EXPECT_EQ(left.Update(0.9, 2 * kSecond), std::nullopt);
}

// The first tasks took 60 s for a twentieth, which would be 19 minutes for the rest; the others take half a minute.
TEST(TimeLeftTest, IsNotToldWhileThePaceChanges) {
  TimeLeft left;
  for (int second = 0; second < 60; ++second)
    EXPECT_EQ(left.Update(second * 0.05 / 60, second * kSecond), std::nullopt);
  bool told_once = false;
  for (int second = 0; second < 30; ++second) {
    const auto told = left.Update(0.05 + second * 0.95 / 30, (60 + second) * kSecond);
    told_once = told_once || told;
    if (told) {
      EXPECT_NEAR(static_cast<double>(*told), (30.0 - second) * kSecond, 1000) << second;
    }
  }
  EXPECT_TRUE(told_once);
}

TEST(TimeLeftTest, BeginsAnewWhenWorkIsLost) {
  TimeLeft left;
  for (int second = 0; second <= 40; ++second) (void)left.Update(second * 0.01, second * kSecond);
  EXPECT_EQ(left.Update(0.1, 41 * kSecond), std::nullopt) << "a node went with its map outputs";
  for (int second = 1; second < 10; ++second)
    EXPECT_EQ(left.Update(0.1 + second * 0.01, (41 + second) * kSecond), std::nullopt);
  EXPECT_EQ(left.Update(0.2, 51 * kSecond), 80 * kSecond);
}

TEST(TimeLeftTest, IsNotToldOfAJobThatStandsStill) {
  TimeLeft left;
  for (int second = 0; second <= 10; ++second) (void)left.Update(second * 0.05, second * kSecond);
  EXPECT_EQ(left.Update(0.5, 11 * kSecond), 15 * kSecond) << "a task may end in steps";
  for (int second = 60; second <= 500; second += 60) EXPECT_EQ(left.Update(0.5, second * kSecond), std::nullopt);
}

TEST(ReportTest, TheSummaryTellsTheRateOfInput) {
  JobStatus status = Running(1, 1, 1);
  status.state = JobState::kSucceeded;
  status.output = "/out";
  status.submitted = 1000 * kSecond;
  status.ended = 1010 * kSecond;
  status.input_bytes = 1'234'000'000;
  status.maps_at = {8, 1, 0, 1};
  const std::string text = Summary(status);
  EXPECT_NE(text.find("job3 succeeded in 10 s: \"/out\""), std::string::npos) << text;
  EXPECT_NE(text.find("123.4 MB/s"), std::string::npos) << text;
  EXPECT_NE(text.find("8 at their data"), std::string::npos) << text;
}

TEST(ReportTest, AJobThatWasKilledTellsWhatWasDone) {
  JobStatus status = Running(0.4, 0, 0);
  status.state = JobState::kKilled;
  status.input_bytes = 1 << 30;
  status.ended = 10 * kSecond;
  const std::string text = Figures(status);
  EXPECT_NE(text.find("  maps 4 of 10 done (launched"), std::string::npos) << text;
  EXPECT_NE(text.find(", reduces 0 of 2 done\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("MB/s"), std::string::npos) << "not all of its input was read: " << text;
}

TEST(ReportTest, AMissedDeadlineIsTold) {
  JobStatus status = Running(1, 1, 1);
  status.state = JobState::kSucceeded;
  status.ended = 1010 * kSecond;
  EXPECT_EQ(Summary(status).find("deadline"), std::string::npos) << "it had none";
  status.deadline = 1010 * kSecond;
  EXPECT_EQ(Summary(status).find("deadline"), std::string::npos);
  status.deadline = 1007 * kSecond;
  EXPECT_NE(Summary(status).find("  ended 3 s after its deadline\n"), std::string::npos) << Summary(status);
}

TEST(ReportTest, NothingIsSaidOfTheInputOfAJobThatReadsNone) {
  JobStatus status = Running(0.5, 0, 0);
  EXPECT_EQ(BarLine(status, {}).find("B/s"), std::string::npos) << BarLine(status, {});
  status.state = JobState::kSucceeded;
  status.maps_at = {0, 0, 0, 10};
  EXPECT_NE(Summary(status).find("  maps 10, reduces 2\n"), std::string::npos) << Summary(status);
  EXPECT_EQ(Summary(status).find("MB/s"), std::string::npos) << Summary(status);
}

TEST(ReportTest, MapsThatWereLeftOutAreNamed) {
  JobStatus status = Running(1, 1, 1);
  EXPECT_EQ(LeftOutLines(status), "");
  status.maps_left_out = 3;
  status.left_out = {{4, "/a"}, {7, "/b\n, bytes 1 to 2"}};
  EXPECT_EQ(LeftOutLines(status),
            "  left out 3 of 10 maps, which failed:\n    map 4: /a\n    map 7: /b\\n, bytes 1 to 2\n    and 1 more\n");
  EXPECT_NE(Summary(status).find(LeftOutLines(status)), std::string::npos);
  const nlohmann::ordered_json json = ToJson(status);
  EXPECT_EQ(json["maps_left_out"], 3);
  EXPECT_EQ(json["left_out"][0]["map"], 4);
  EXPECT_EQ(json["left_out"][0]["input"], "/a");
}

TEST(ReportTest, RecordsThatWereLeftOutAreNamed) {
  JobStatus status = Running(1, 1, 1);
  status.records_left_out = 3;
  status.left_out_records = {{4, "/a\n", 70}, {7, "", 12}};
  EXPECT_EQ(
      LeftOutLines(status),
      "  left out 3 records, at which maps failed:\n    map 4: /a\\n, byte 70\n    map 7: number 12\n    and 1 more\n");
  EXPECT_NE(Summary(status).find(LeftOutLines(status)), std::string::npos);
  const nlohmann::ordered_json json = ToJson(status);
  EXPECT_EQ(json["records_left_out"], 3);
  EXPECT_EQ(json["left_out_records"][1]["map"], 7);
  EXPECT_EQ(json["left_out_records"][0]["offset"], 70);
}

TEST(ReportTest, JsonHoldsAnyBytes) {
  JobStatus status = Running(0, 0, 0);
  status.output = "/\xff";
  const nlohmann::ordered_json json = ToJson(status);
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["output"], "/%FF");
  EXPECT_TRUE(json["ended"].is_null());
  EXPECT_EQ(json["maps"]["total"], 10);
}

}  // namespace
}  // namespace millrace::cli
