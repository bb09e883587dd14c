// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/failed_output.h"

#include <gmock/gmock.h>

#include "tests/master/tracker_fixture.h"

namespace millrace::master {
namespace {

class FailedOutputTest : public TrackerFixture {
 protected:
  // Submits a job of two maps, of which one has ended, and kills it once `beside` was made.
  void KillBeside(const std::string& beside) {
    const NodeId node = AddWorker("a", 2, 1);
    AddFile("/in/text", 2, {node});
    const JobId job = Submit(Request("/out", 0));
    const LaunchOrder first = launches.at(0);
    Done(first, WriteOutput(first.attempt, "part-m-00000"));
    ASSERT_TRUE(Exists("/out/part-m-00000"));
    Step step = At();
    if (!beside.empty()) {
      ASSERT_TRUE(files->Touch(beside, "ann", step.now, &step.batch).ok());
    }
    ASSERT_TRUE(jobs->Kill(job, "by test", &step).ok());
    Finish(std::move(step));
  }
};

TEST_F(FailedOutputTest, ItIsRemovedWithItsDirectory) {
  KillBeside("");
  EXPECT_FALSE(Exists("/out"));
}

TEST_F(FailedOutputTest, WhatOthersHavePutThereStays) {
  KillBeside("/out/mine.txt");
  EXPECT_TRUE(Exists("/out/mine.txt"));
  EXPECT_FALSE(Exists("/out/part-m-00000"));
}

TEST(IsNameOfOutputTest, KnowsWhatJobsMakeAndNothingElse) {
  for (const char* name : {"part-r-00000", "part-m-123456", "late-r-00003", "a-b-m-00001", "_SUCCESS", "_temporary"})
    EXPECT_TRUE(IsNameOfOutput(name)) << name;
  for (const char* name : {"", "mine.txt", "part-r-0", "part-x-00000", "-r-00000", "part-r-00000.bak", "00000", "in"})
    EXPECT_FALSE(IsNameOfOutput(name)) << name;
}

}  // namespace
}  // namespace millrace::master
