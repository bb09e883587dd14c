// SPDX-License-Identifier: Apache-2.0
// The forecaster judges one statement of each kind and job, and learns the times of tasks.
#include "schedulers/forecast/forecaster.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace millrace::sched {
namespace {

JobState EndedAt(std::uint32_t job, Micros end, JobOutcome outcome = JobOutcome::kSucceeded) {
  JobState state;
  state.progress.job = JobId{job};
  state.progress.ended = end;
  state.progress.outcome = outcome;
  return state;
}

Statement EndOf(std::uint32_t job, Micros made, Micros end) {
  Statement statement;
  statement.job = JobId{job};
  statement.made = made;
  statement.end = {end, Unforeseen::kNone, Foretold::kEndOfRunning, {}};
  return statement;
}

TEST(Forecaster, JudgesAStatementByWhatThenHappens) {
  Forecaster forecaster;
  forecaster.Note({EndOf(1, 10 * kSecond, 70 * kSecond)}, "fifo", {{JobId{1}, {5}}});
  const std::vector<ForetoldRecord> judged = forecaster.Ended(EndedAt(1, 90 * kSecond));
  ASSERT_EQ(judged.size(), 1U);
  const ForetoldRecord& record = judged[0];
  EXPECT_EQ(record.what, Foretold::kEndOfRunning);
  EXPECT_TRUE(record.first);
  EXPECT_EQ(record.predicted, 60 * kSecond);
  EXPECT_EQ(record.actual, 80 * kSecond);
  EXPECT_EQ(record.program, 5U);
  EXPECT_EQ(record.scheduler, HashOf("fifo"));
  EXPECT_TRUE(forecaster.Ended(EndedAt(1, 95 * kSecond)).empty()) << "it is judged once";
}

TEST(Forecaster, JudgesTheFirstAndOneOfTheOthers) {
  constexpr std::uint32_t kJobs = 4000, kStatements = 5;
  Forecaster forecaster;
  std::map<Micros, int> judged;
  for (std::uint32_t job = 0; job < kJobs; ++job) {
    for (std::uint32_t i = 0; i < kStatements; ++i)
      forecaster.Note({EndOf(job, i * kSecond, 100 * kSecond)}, "fifo", {});
    const std::vector<ForetoldRecord> both = forecaster.Ended(EndedAt(job, 100 * kSecond));
    ASSERT_EQ(both.size(), 2U);
    EXPECT_TRUE(both[0].first);
    EXPECT_EQ(both[0].actual, 100 * kSecond);
    EXPECT_FALSE(both[1].first);
    ++judged[both[1].actual];
  }
  ASSERT_EQ(judged.size(), kStatements - 1);
  for (const auto& [actual, count] : judged)
    EXPECT_NEAR(count, kJobs / (kStatements - 1), 5 * 28) << actual;  // 5 sigma
}

TEST(Forecaster, WhatWasSaidBeforeAHoldIsNotJudged) {
  Forecaster forecaster;
  Statement said = EndOf(1, 0, 60 * kSecond);
  said.start = Said{10 * kSecond, Unforeseen::kNone, Foretold::kStart, {}};
  forecaster.Note({said}, "fifo", {});
  forecaster.Withdraw(JobId{1});
  EXPECT_TRUE(forecaster.Started(JobId{1}, 3600 * kSecond).empty());
  EXPECT_TRUE(forecaster.Ended(EndedAt(1, 3700 * kSecond)).empty());
}

TEST(Forecaster, NoJobLikelyEndsBeforeItLikelyStarts) {
  Forecaster forecaster;
  // Starts have come ten times later than was said, and ends of waiting jobs as was said.
  for (int i = 0; i < 30; ++i) {
    for (const Foretold what : {Foretold::kStart, Foretold::kEndOfWaiting}) {
      ForetoldRecord record;
      record.what = what;
      record.predicted = 9 * kSecond;
      record.actual = (what == Foretold::kStart ? 99 : 9) * kSecond;
      record.scheduler = HashOf("fifo");
      forecaster.intervals().Add(record);
    }
  }
  Played play;
  play.jobs.push_back({JobId{1}, false, 9 * kSecond, 10 * kSecond});
  const std::vector<Statement> said = forecaster.State(play, 0, "fifo", {});
  ASSERT_EQ(said.size(), 1U);
  ASSERT_TRUE(said[0].start);
  EXPECT_EQ(said[0].start->spread.likely, 99 * kSecond);
  EXPECT_EQ(said[0].end.spread.likely, 99 * kSecond);
  ASSERT_EQ(said[0].end.spread.intervals.size(), kLevels.size());
  for (const Interval& interval : said[0].end.spread.intervals) EXPECT_GE(interval.hi, 99 * kSecond);
}

TEST(Forecaster, AFailedJobProvesNothing) {
  Forecaster forecaster;
  forecaster.Note({EndOf(1, 0, kSecond)}, "fifo", {});
  EXPECT_TRUE(forecaster.Ended(EndedAt(1, kSecond, JobOutcome::kFailed)).empty());
  forecaster.Note({EndOf(2, 0, kSecond)}, "fifo", {});
  EXPECT_TRUE(forecaster.Ended(EndedAt(2, kSecond, JobOutcome::kKilled)).empty());
}

TEST(Forecaster, AnotherSchedulerOvertakesWhatWasSaid) {
  Forecaster forecaster;
  forecaster.Note({EndOf(1, 0, kSecond)}, "fifo", {});
  forecaster.SchedulerChanged();
  const std::vector<ForetoldRecord> judged = forecaster.Ended(EndedAt(1, kSecond));
  ASSERT_EQ(judged.size(), 1U);
  EXPECT_TRUE(judged[0].overtaken);
}

// Returns an ended job of `maps` maps with this much input that took this long each.
JobState Learnt(const std::string& program, std::uint64_t bytes_per_map, Micros time) {
  JobState job = EndedAt(1, 1000 * kSecond);
  job.spec.program = program;
  job.progress.maps = 10;
  job.map_input_bytes = 10 * bytes_per_map;
  job.times[TaskKind::kMap].finished = 10;
  job.times[TaskKind::kMap].finished_total = 10 * time;
  return job;
}

JobState Fresh(const std::string& program, std::uint64_t bytes_per_map) {
  JobState job;
  job.spec.program = program;
  job.spec.maps.resize(4);
  for (MapInput& map : job.spec.maps) map.bytes = bytes_per_map;
  job.progress.maps = 4;
  return job;
}

TEST(TaskTimes, GoFromTheJobItselfToJobsLikeIt) {
  TaskTimes times;
  JobState job = Fresh("wc", 64 << 20);
  EXPECT_EQ(times.Of(job).basis[TaskKind::kMap], TimeBasis::kNothing);
  times.Learn(Learnt("other", 64 << 20, 30 * kSecond));
  EXPECT_EQ(times.Of(job).basis[TaskKind::kMap], TimeBasis::kAlike);
  EXPECT_EQ(times.Of(job).map, 30 * kSecond);
  EXPECT_EQ(times.Of(Fresh("wc", 1 << 10)).basis[TaskKind::kMap], TimeBasis::kNothing) << "these are much smaller";
  times.Learn(Learnt("wc", 1 << 20, 2 * kSecond));
  EXPECT_EQ(times.Of(job).map, 2 * kSecond);
  EXPECT_EQ(times.Of(job).basis[TaskKind::kMap], TimeBasis::kProgram);
  times.Learn(Learnt("wc", 64 << 20, 20 * kSecond));
  EXPECT_EQ(times.Of(job).map, 20 * kSecond) << "maps of about the same size come first";
  job.spec.map_time = 11 * kSecond;
  EXPECT_EQ(times.Of(job).map, 11 * kSecond);
  EXPECT_EQ(times.Of(job).basis[TaskKind::kMap], TimeBasis::kUser);
  job.times[TaskKind::kMap].finished = 2;
  job.times[TaskKind::kMap].finished_total = 10 * kSecond;
  EXPECT_EQ(times.Of(job).map, 5 * kSecond);
  EXPECT_EQ(times.Of(job).basis[TaskKind::kMap], TimeBasis::kOwn);
}

TEST(TaskTimes, RememberOnlySoMany) {
  TaskTimes times;
  for (std::uint32_t i = 0; i < 3 * TaskTimes::kMostKinds; ++i)
    times.Learn(Learnt("p" + std::to_string(i), 1000, kSecond));
  EXPECT_EQ(times.kinds(), TaskTimes::kMostKinds);
}

}  // namespace
}  // namespace millrace::sched
