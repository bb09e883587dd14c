// SPDX-License-Identifier: Apache-2.0
#include "client/ui/journal_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace millrace::ui {
namespace {

using ::testing::ElementsAre;

JobStatus Running(std::uint32_t id) {
  JobStatus job;
  job.job = JobId{id};
  job.state = JobState::kRunning;
  job.first_launch = 1;
  return job;
}

std::vector<std::uint32_t> Ids(const std::vector<const JobStatus*>& jobs) {
  std::vector<std::uint32_t> ids;
  for (const JobStatus* job : jobs) ids.push_back(static_cast<std::uint32_t>(job->job.value));
  return ids;
}

class JournalReadsTest : public ::testing::Test {
 protected:
  std::vector<std::uint32_t> ReadThoseDue(const std::vector<JobStatus>& jobs, Micros now) {
    const std::vector<const JobStatus*> due = reads_.Due(jobs, now);
    for (const JobStatus* job : due) reads_.Read(*job, now);
    return Ids(due);
  }

  JournalReads reads_;
};

TEST_F(JournalReadsTest, AJobIsReadWhenItIsNewHasChangedOrHasStoodStillForAWhile) {
  std::vector<JobStatus> jobs = {Running(1), Running(2)};
  EXPECT_THAT(ReadThoseDue(jobs, 0), ElementsAre(1, 2));
  EXPECT_THAT(ReadThoseDue(jobs, kSecond), ElementsAre());
  jobs[1].maps.done = 1;
  EXPECT_THAT(ReadThoseDue(jobs, 2 * kSecond), ElementsAre(2));
  EXPECT_THAT(ReadThoseDue(jobs, JournalReads::kStandingStillEvery), ElementsAre(1));
}

TEST_F(JournalReadsTest, AnEndedJobIsReadOnceMoreAndThenNever) {
  std::vector<JobStatus> jobs = {Running(1)};
  EXPECT_THAT(ReadThoseDue(jobs, 0), ElementsAre(1));
  jobs[0].state = JobState::kSucceeded;
  EXPECT_THAT(ReadThoseDue(jobs, kSecond), ElementsAre(1));
  EXPECT_THAT(ReadThoseDue(jobs, 1'000 * kSecond), ElementsAre());
  reads_.Forget(JobId{1});
  EXPECT_THAT(ReadThoseDue(jobs, 1'001 * kSecond), ElementsAre(1));
}

// However many jobs change, a look reads few of them again, and none is left behind for long.
TEST_F(JournalReadsTest, OfManyThatChangeThoseComeFirstThatWereReadLongestAgo) {
  constexpr std::uint32_t kJobs = 200;
  constexpr Micros kRound = kJobs / JournalReads::kMostAgain * kSecond;
  std::vector<JobStatus> jobs;
  for (std::uint32_t id = 1; id <= kJobs; ++id) jobs.push_back(Running(id));
  EXPECT_EQ(ReadThoseDue(jobs, 0).size(), kJobs);
  std::map<std::uint32_t, Micros> last;
  for (Micros now = kSecond; now <= 5 * kRound; now += kSecond) {
    for (JobStatus& job : jobs) ++job.maps.done;
    const std::vector<std::uint32_t> due = ReadThoseDue(jobs, now);
    ASSERT_EQ(due.size(), JournalReads::kMostAgain);
    for (const std::uint32_t id : due) {
      EXPECT_EQ(now - last[id], last[id] == 0 ? now : kRound);
      last[id] = now;
    }
  }
  EXPECT_EQ(last.size(), kJobs);
}

TEST_F(JournalReadsTest, ANewJobComesAtOnceHoweverManyChange) {
  std::vector<JobStatus> jobs;
  for (std::uint32_t id = 1; id <= 50; ++id) jobs.push_back(Running(id));
  EXPECT_EQ(ReadThoseDue(jobs, 0).size(), 50U);
  for (JobStatus& job : jobs) ++job.maps.done;
  jobs.push_back(Running(51));
  const std::vector<std::uint32_t> due = ReadThoseDue(jobs, kSecond);
  EXPECT_EQ(due.size(), JournalReads::kMostAgain + 1);
  EXPECT_EQ(due.front(), 51U);
}

TEST_F(JournalReadsTest, WhatIsNoLongerAmongTheJobsIsForgotten) {
  std::vector<JobStatus> jobs = {Running(1), Running(2), Running(3)};
  EXPECT_THAT(ReadThoseDue(jobs, 0), ElementsAre(1, 2, 3));
  jobs.erase(jobs.begin());
  reads_.Keep(jobs);
  EXPECT_EQ(reads_.size(), 2U);
  EXPECT_FALSE(reads_.Behind(jobs[0], kSecond));
}

}  // namespace
}  // namespace millrace::ui
