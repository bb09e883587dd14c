// SPDX-License-Identifier: Apache-2.0
#include "schedulers/history/job_history.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::sched {
namespace {

// A job of `program` that has ended: so many maps and reduces of so much time each.
JobState Ended(const std::string& program, std::uint32_t maps, Micros map_time, std::uint32_t reduces,
               Micros reduce_time, std::uint64_t in, std::uint64_t out) {
  JobState job;
  job.spec.program = program;
  job.spec.input_type = "web";
  job.progress.outcome = JobOutcome::kSucceeded;
  job.times[TaskKind::kMap].finished = maps;
  job.times[TaskKind::kMap].finished_total = maps * map_time;
  job.times[TaskKind::kReduce].finished = reduces;
  job.times[TaskKind::kReduce].finished_total = reduces * reduce_time;
  job.map_input_bytes = in;
  job.map_output_bytes = out;
  return job;
}

TEST(JobHistoryTest, MeansOverTheJobsThatHadEach) {
  JobHistory history;
  EXPECT_EQ(history.Lookup("abc", "web"), JobProfile{});
  ASSERT_TRUE(history.Record(Ended("abc", 4, 100, 2, 50, 1000, 1166)));
  EXPECT_EQ(history.Lookup("abc", "web"), (JobProfile{1, 100, 50, 1.166}));
  ASSERT_TRUE(history.Record(Ended("abc", 1, 200, 0, 0, 1000, 1000)));
  EXPECT_EQ(history.Lookup("abc", "web"), (JobProfile{2, 150, 50, 1.083}));
  ASSERT_TRUE(history.Record(Ended("abc", 0, 0, 1, 150, 0, 0)));
  EXPECT_EQ(history.Lookup("abc", "web"), (JobProfile{3, 150, 100, 1.083}));
}

TEST(JobHistoryTest, ProgramsAndTypesAreApart) {
  JobHistory history;
  JobState job = Ended("abc", 1, 100, 0, 0, 10, 30);
  ASSERT_TRUE(history.Record(job));
  job.spec.input_type = "text";
  job.map_output_bytes = 5;
  ASSERT_TRUE(history.Record(job));
  EXPECT_DOUBLE_EQ(history.Lookup("abc", "web").output_ratio, 3);
  EXPECT_DOUBLE_EQ(history.Lookup("abc", "text").output_ratio, 0.5);
  EXPECT_EQ(history.Lookup("abc", "").runs, 0U);
  EXPECT_EQ(history.Lookup("ab", "web").runs, 0U);
}

TEST(JobHistoryTest, ClearForgetsAllAndNamesTheRecords) {
  JobHistory history;
  const auto first = history.Record(Ended("abc", 1, 100, 0, 0, 10, 30));
  const auto second = history.Record(Ended("xyz", 1, 100, 0, 0, 10, 30));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(history.Clear(), (std::vector<std::string>{first->key, second->key}));
  EXPECT_EQ(history.size(), 0U);
  EXPECT_EQ(history.Lookup("abc", "web"), JobProfile{});
}

TEST(JobHistoryTest, OnlyJobsThatSucceededAndNameTheirProgram) {
  JobHistory history;
  JobState job = Ended("abc", 1, 100, 0, 0, 10, 30);
  for (const JobOutcome outcome : {JobOutcome::kFailed, JobOutcome::kKilled}) {
    job.progress.outcome = outcome;
    EXPECT_FALSE(history.Record(job));
  }
  job.progress.outcome.reset();
  EXPECT_FALSE(history.Record(job));
  EXPECT_FALSE(history.Record(Ended("", 1, 100, 0, 0, 10, 30)));
  EXPECT_EQ(history.size(), 0U);
}

TEST(JobHistoryTest, WhatIsStoredComesBack) {
  JobHistory history, restored;
  std::vector<HistoryRecord> stored;
  stored.push_back(*history.Record(Ended("abc", 3, 100, 2, 50, 3, 1)));
  stored.push_back(*history.Record(Ended("abc", 1, 7, 0, 0, 7, 3)));
  stored.push_back(*history.Record(Ended("def", 1, 9, 0, 0, 0, 0)));
  for (const HistoryRecord& record : stored) ASSERT_TRUE(restored.Restore(record.key, record.value)) << record.value;
  EXPECT_EQ(restored.Lookup("abc", "web"), history.Lookup("abc", "web"));
  EXPECT_EQ(restored.Lookup("def", "web"), history.Lookup("def", "web"));
  // And goes on as if it had never been away.
  const auto one = history.Record(Ended("abc", 2, 31, 0, 0, 11, 3));
  const auto other = restored.Record(Ended("abc", 2, 31, 0, 0, 11, 3));
  EXPECT_EQ(one->value, other->value);
}

TEST(JobHistoryTest, WhatIsNoRecordIsRefused) {
  JobHistory history;
  const HistoryRecord good = *history.Record(Ended("abc", 3, 100, 2, 50, 3, 1));
  JobHistory other;
  EXPECT_FALSE(other.Restore("", good.value));
  EXPECT_FALSE(other.Restore("abc", good.value));
  EXPECT_FALSE(other.Restore(" web", good.value));
  for (const char* text : {"", "1", "1 1 100 1 50 1", "1 1 100 1 50 1 0.5 ", "1 1 100 1 50 1 0.5 1", "0 0 0 0 0 0 0",
                           "1 2 100 1 50 1 0.5", "1 1 -100 1 50 1 0.5", "1 1 100 1 50 1 nan", "1 1 100 1 50 1 inf",
                           "1 1 100 1 50 1 -0.5", "1 1 9000000000000000000 1 50 1 0.5", "x 1 100 1 50 1 0.5",
                           "1  1 100 1 50 1 0.5", "99999999999 1 100 1 50 1 0.5"}) {
    EXPECT_FALSE(other.Restore(good.key, text)) << text;
  }
  EXPECT_EQ(other.size(), 0U);
  EXPECT_TRUE(other.Restore(good.key, "1 1 100 1 50 1 0.5"));
  EXPECT_EQ(other.Lookup("abc", "web"), (JobProfile{1, 100, 50, 0.5}));
}

}  // namespace
}  // namespace millrace::sched
