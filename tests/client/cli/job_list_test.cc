// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_list.h"

#include <gmock/gmock.h>

namespace millrace::cli {
namespace {

using testing::ElementsAre;

JobStatus Job(std::uint32_t number, const std::string& owner, const std::string& name, JobState state, Micros submitted,
              Micros ended) {
  JobStatus status;
  status.job = JobId{number};
  status.owner = owner;
  status.name = name;
  status.state = state;
  status.submitted = submitted;
  status.first_launch = submitted + 5;
  status.ended = ended;
  status.pool = number % 2 == 0 ? "even" : "odd";
  return status;
}

std::vector<std::uint32_t> Picked(const JobFilter& filter) {
  const std::vector<JobStatus> jobs = {Job(1, "ann", "wordcount", JobState::kSucceeded, 100, 200),
                                       Job(2, "bob", "grep words", JobState::kFailed, 110, 300),
                                       Job(3, "ann", "sort", JobState::kRunning, 120, 0),
                                       Job(4, "ann", "wordcount again", JobState::kSucceeded, 400, 500)};
  std::vector<std::uint32_t> numbers;
  for (const JobStatus& job : filter.Pick(jobs)) numbers.push_back(job.job.value);
  return numbers;
}

TEST(JobFilterTest, EachConditionAloneAndTogether) {
  EXPECT_THAT(Picked({}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Picked({.user = "ann"}), ElementsAre(1, 3, 4));
  EXPECT_THAT(Picked({.pool = "even"}), ElementsAre(2, 4));
  EXPECT_THAT(Picked({.state = "succeeded"}), ElementsAre(1, 4));
  EXPECT_THAT(Picked({.name = "word"}), ElementsAre(1, 2, 4));
  EXPECT_THAT(Picked({.last = 2}), ElementsAre(3, 4));
  EXPECT_THAT(Picked({.user = "ann", .name = "word", .last = 1}), ElementsAre(4));
  EXPECT_THAT(Picked({.user = "nobody"}), ElementsAre());
}

TEST(JobFilterTest, SinceTakesWhatWasSubmittedEndedOrStillRuns) {
  EXPECT_THAT(Picked({.since = 250}), ElementsAre(2, 3, 4));
  EXPECT_THAT(Picked({.since = 450}), ElementsAre(3, 4));
}

TEST(JobFilterTest, AStateThatIsNoneNamesThoseThatThereAre) {
  EXPECT_TRUE(JobFilter{}.Check().ok());
  EXPECT_TRUE(JobFilter{.state = "killed"}.Check().ok());
  EXPECT_TRUE(JobFilter{.state = "held"}.Check().ok());
  EXPECT_THAT(JobFilter{.state = "dead"}.Check().message(),
              testing::HasSubstr("waiting, held, running, succeeded, failed, killed"));
}

TEST(JobFilterTest, HeldAreThoseOfTheWaitingJobsThatAreHeld) {
  std::vector<JobStatus> jobs = {Job(1, "ann", "a", JobState::kWaiting, 100, 0),
                                 Job(2, "ann", "b", JobState::kWaiting, 100, 0),
                                 Job(3, "ann", "c", JobState::kRunning, 100, 0)};
  jobs[1].held = true;
  const auto picked = [&jobs](const std::string& state) {
    std::vector<std::uint32_t> numbers;
    for (const JobStatus& job : JobFilter{.state = state}.Pick(jobs)) numbers.push_back(job.job.value);
    return numbers;
  };
  EXPECT_THAT(picked("held"), ElementsAre(2));
  EXPECT_THAT(picked("waiting"), ElementsAre(1, 2)) << "as in JSON";
  EXPECT_EQ(StateWord(jobs[0]), "waiting");
  EXPECT_EQ(StateWord(jobs[1]), "held");
}

TEST(TimeRunTest, FromTheFirstLaunchToTheEndOrNow) {
  EXPECT_EQ(TimeRun(Job(1, "", "", JobState::kSucceeded, 100, 200), 999), 95);
  EXPECT_EQ(TimeRun(Job(1, "", "", JobState::kRunning, 100, 0), 999), 894);
  JobStatus waits = Job(1, "", "", JobState::kWaiting, 100, 0);
  waits.first_launch = 0;
  EXPECT_EQ(TimeRun(waits, 999), 0);
}

}  // namespace
}  // namespace millrace::cli
