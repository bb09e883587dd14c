// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace millrace::job {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

JobStatus Job(std::uint32_t number, JobState state = JobState::kRunning) {
  JobStatus job;
  job.job = JobId{number};
  job.state = state;
  return job;
}

Changes::JobWaits Waits(std::uint32_t number, std::size_t count) {
  SchedulerView::Wait wait;
  wait.job = JobId{number};
  return {JobId{number}, std::vector<SchedulerView::Wait>(count, wait)};
}

Changes At(Micros now) {
  Changes changes;
  changes.now = now;
  return changes;
}

TEST(MirrorTest, AJobThatHasEndedWaitsForNothingAndStaysUnlessOnlyLiveOnesAreWanted) {
  Mirror all(false), live(true);
  for (Mirror* mirror : {&all, &live}) {
    Changes first = At(1);
    first.anew = true;
    first.jobs = {Job(1), Job(2)};
    first.waits = {Waits(1, 2), Waits(2, 1), Waits(3, 1)};
    mirror->Apply(first);
    EXPECT_THAT(mirror->Scheduler().waits, SizeIs(3)) << "nothing is known of job 3";
    Changes second = At(2);
    second.jobs = {Job(1, JobState::kSucceeded)};
    second.waits = {Waits(1, 1)};  // as the master last looked
    mirror->Apply(second);
    EXPECT_THAT(mirror->Scheduler().waits, SizeIs(1));
    EXPECT_THAT(mirror->LiveJobs(), SizeIs(1));
    Changes third = At(3);
    third.waits = {Waits(2, 0)};
    mirror->Apply(third);
    EXPECT_THAT(mirror->Scheduler().waits, IsEmpty());
  }
  EXPECT_THAT(all.jobs(), SizeIs(2));
  EXPECT_THAT(live.jobs(), SizeIs(1));
}

TEST(MirrorTest, ABeginningAnewForgetsWhatWasKnown) {
  Mirror mirror(false);
  Changes first = At(1);
  first.jobs = {Job(1), Job(2)};
  first.nodes.resize(1);
  first.nodes[0].node = NodeId{7};
  mirror.Apply(first);
  Changes second = At(2);
  second.anew = true;
  second.jobs = {Job(3)};
  mirror.Apply(second);
  EXPECT_THAT(mirror.jobs(), SizeIs(1));
  EXPECT_TRUE(mirror.jobs().contains(JobId{3}));
  EXPECT_THAT(mirror.Nodes(), IsEmpty());
}

TEST(MirrorTest, TimesOfNodesGoOn) {
  Mirror mirror(false);
  Changes changes = At(100 * kSecond);
  changes.nodes.resize(2);
  Node& node = changes.nodes[0];
  node.node = NodeId{1};
  node.maintenance_for = 60 * kSecond;
  node.avoided_for = 3 * kSecond;
  node.leaving_in = 20 * kSecond;
  node.ailing = "its disk is slow";
  node.ailing_for = 5 * kSecond;
  changes.nodes[1].node = NodeId{2};
  mirror.Apply(changes);
  mirror.Apply(At(110 * kSecond));
  const std::vector<Node> nodes = mirror.Nodes();
  EXPECT_EQ(nodes[0].maintenance_for, 50 * kSecond);
  EXPECT_EQ(nodes[0].avoided_for, kMillisecond) << "the master has not said yet that it is over";
  EXPECT_EQ(nodes[0].leaving_in, 10 * kSecond);
  EXPECT_EQ(nodes[0].ailing_for, 15 * kSecond);
  EXPECT_EQ(nodes[1].maintenance_for, 0);
  EXPECT_EQ(nodes[1].ailing_for, 0);
}

TEST(MirrorTest, AStampIsAnotherOneWhenSomethingOfTheJobIs) {
  Mirror mirror(false);
  EXPECT_EQ(mirror.StampOf(JobId{1}), 0u);
  Changes changes = At(1);
  changes.anew = true;
  changes.jobs = {Job(1), Job(2)};
  mirror.Apply(changes);
  const std::uint64_t one = mirror.StampOf(JobId{1}), two = mirror.StampOf(JobId{2});
  EXPECT_NE(one, 0u);
  mirror.Apply(At(2));
  EXPECT_EQ(mirror.StampOf(JobId{1}), one);
  Changes job = At(3);
  job.jobs = {Job(1)};
  mirror.Apply(job);
  EXPECT_NE(mirror.StampOf(JobId{1}), one);
  EXPECT_EQ(mirror.StampOf(JobId{2}), two);
  Changes waits = At(4);
  waits.waits = {Waits(2, 1)};
  mirror.Apply(waits);
  EXPECT_NE(mirror.StampOf(JobId{2}), two);
  const std::uint64_t before = mirror.StampOf(JobId{1});
  mirror.Apply(changes);
  EXPECT_NE(mirror.StampOf(JobId{1}), before) << "it begins anew";
  Changes gone = At(5);
  gone.jobs_gone = {JobId{1}};
  mirror.Apply(gone);
  EXPECT_EQ(mirror.StampOf(JobId{1}), 0u);
}

}  // namespace
}  // namespace millrace::job
