// SPDX-License-Identifier: Apache-2.0
// The forecaster judges one statement of each kind and job, and learns the times of tasks.
#include "schedulers/forecast/forecaster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
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

// The start and the end of a job that is judged, with errors of their own: as the play says, and as they come.
struct Drawn {
  Micros start = 0, end = 0, started = 0, ended = 0;
};

Drawn DrawJob(std::mt19937_64& random, unsigned shape) {
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  const auto time = [&](double mean) { return static_cast<Micros>(mean * exponential(random) * kSecond); };
  Drawn job;
  job.start = random() % 4 == 0 ? 0 : time(60);
  job.end = job.start + time(shape % 2 == 0 ? 5 : 60);
  // Starts err much or little, by a bias or as they like, and the time between start and end errs on its own.
  const double late = shape % 3 == 0   ? normal(random)
                      : shape % 3 == 1 ? 1 + 0.3 * normal(random)
                                       : 0.1 * normal(random);
  job.started = static_cast<Micros>(static_cast<double>(job.start + kSecond) * std::exp(late));
  job.ended = job.started + static_cast<Micros>(static_cast<double>(job.end - job.start) *
                                                std::exp((shape % 5 == 0 ? 1 : 0.2) * normal(random)));
  return job;
}

// Whatever was learnt, a statement does not contradict itself, and its intervals hold as often as they say.
TEST(Forecaster, NoIntervalOfAnEndContradictsThatOfTheStart) {
  const unsigned base = std::random_device()();
  constexpr int kJobs = 2000, kWarm = 100;
  for (unsigned round = 0; round < 10; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    std::mt19937_64 random(base + round);
    Forecaster forecaster;
    std::array<std::array<int, kLevels.size()>, 2> held = {};
    for (int i = 0; i < kJobs; ++i) {
      const Micros made = Micros{i} * kHour;
      const JobId job{static_cast<std::uint32_t>(i)};
      const Drawn drawn = DrawJob(random, base + round);
      Played play;
      play.jobs.push_back({job, false, made + drawn.start, made + drawn.end});
      const std::map<JobId, JobFacts> facts = {{job, {random() % 3}}};
      const std::vector<Statement> said = forecaster.State(play, made, "fifo", facts);
      const Spread &start = said[0].start->spread, &end = said[0].end.spread;
      EXPECT_LE(start.likely, end.likely);
      for (std::size_t level = 0; level < std::min(start.intervals.size(), end.intervals.size()); ++level) {
        const Interval &of_start = start.intervals[level], &of_end = end.intervals[level];
        ASSERT_LE(of_start.lo, of_end.lo);
        ASSERT_LE(of_start.hi, of_end.hi);
        if (i < kWarm) continue;
        held[0][level] += of_start.lo <= drawn.started && drawn.started <= of_start.hi ? 1 : 0;
        held[1][level] += of_end.lo <= drawn.ended && drawn.ended <= of_end.hi ? 1 : 0;
      }
      for (const Spread& spread : {start, end}) {
        for (std::size_t level = 0; level < spread.intervals.size(); ++level) {
          const Interval& interval = spread.intervals[level];
          ASSERT_LE(interval.lo, spread.likely);
          ASSERT_LE(spread.likely, interval.hi);
          if (level == 0) continue;
          ASSERT_LE(interval.lo, spread.intervals[level - 1].lo) << "a surer interval holds the others";
          ASSERT_GE(interval.hi, spread.intervals[level - 1].hi) << "a surer interval holds the others";
        }
      }
      forecaster.Note(said, "fifo", facts);
      forecaster.Started(job, made + drawn.started);
      forecaster.Ended(EndedAt(job.value, made + drawn.ended));
    }
    for (const auto& of_kind : held) {
      for (std::size_t level = 0; level < kLevels.size(); ++level)
        EXPECT_NEAR(100.0 * of_kind[level] / (kJobs - kWarm), kLevels[level], 4) << kLevels[level];
    }
  }
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
