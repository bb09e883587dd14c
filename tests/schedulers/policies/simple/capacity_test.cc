// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/capacity.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Make(const std::map<std::string, QueueSettings>& queues) {
  return std::make_unique<Greedy>("capacity", std::make_unique<CapacityOrder>(queues), Admission());
}

TEST(Capacity, TheQueueThatRunsTheLeastOfItsCapacityComesFirst) {
  Engine engine({}, Make({{"big", {75, 100, 100, false}}, {"small", {25, 100, 100, false}}}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=8
    0 JobSubmitted job=job1 pool=small maps=1:;1:;1:;1:;1:;1:;1:;1:
    0 JobSubmitted job=job2 pool=big maps=1:;1:;1:;1:;1:;1:;1:;1:
    0 decide
    # 0/75 and 0/25 by name; 1/75 is more than 0/25; 1/75, 2/75 are less than 1/25, 3/75 the same and first by name.
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job2.m.3.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.4.0 n1 off
    -> launch job2.m.5.0 n1 off
  )");
}

TEST(Capacity, IdleCapacityIsLentUpToTheCeilingAndComesBackAsTasksEnd) {
  Engine engine({}, Make({{"a", {50, 75, 100, false}}, {"b", {50, 100, 100, false}}}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    # At its ceiling of 3 slots; when one ends it may have one again.
    1 AttemptSucceeded attempt=job1.m.0.0
    1 decide
    -> launch job1.m.3.0 n1 off
    2 JobSubmitted job=job2 pool=b maps=1:;1:;1:
    2 decide
    -> launch job2.m.0.0 n1 off
    3 AttemptSucceeded attempt=job1.m.1.0
    3 decide
    -> launch job2.m.1.0 n1 off
    4 AttemptSucceeded attempt=job1.m.2.0
    4 decide
    -> launch job1.m.4.0 n1 off
  )");
}

TEST(Capacity, ACeilingIsRoundedDownButNeverToNothing) {
  Engine engine({}, Make({{"a", {10, 30, 100, false}}, {"b", {0, 70, 100, false}}}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=3
    0 JobSubmitted job=job1 pool=a maps=1:;1:;1:
    0 JobSubmitted job=job2 pool=b maps=1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
}

TEST(Capacity, PrioritiesCountOnlyWhereTheQueueSupportsThem) {
  Engine engine({}, Make({{"plain", {50, 100, 100, false}}, {"ranked", {50, 100, 100, true}}}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 pool=plain maps=1:
    0 JobSubmitted job=job2 pool=plain maps=1: priority=HIGH
    0 JobSubmitted job=job3 pool=ranked maps=1:
    0 JobSubmitted job=job4 pool=ranked maps=1:
    0 JobPrioritySet job=job4 priority=HIGH
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job4.m.0.0 n1 off
  )");
}

TEST(Capacity, UsersShareTheQueueDownToTheirMinimum) {
  // 25%: two users get half each, three a third, five a quarter, as far as it goes.
  Engine engine({}, Make({{"q", {100, 100, 25, false}}}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 pool=q user=ann maps=1:;1:;1:;1:
    0 JobSubmitted job=job2 pool=q user=bob maps=1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
}

TEST(Capacity, ALimitDoesNotIdleASlot) {
  Engine engine({}, Make({{"q", {100, 100, 50, false}}}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 pool=q user=ann maps=1:;1:;1:;1:
    0 JobSubmitted job=job2 pool=q user=bob maps=1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.2.0 n1 off
  )");
}

TEST(Capacity, AJobBelongsToItsQueueItsUsersOrDefault) {
  Engine engine({}, Make({{"ann", {60, 100, 100, false}}, {"q", {30, 100, 100, false}}}));
  EXPECT_PLAYS(&engine, R"(
    0 JobSubmitted job=job1 user=ann maps=1:
    0 JobSubmitted job=job2 user=ann pool=q maps=1:
    0 JobSubmitted job=job3 user=bob maps=1:
    0 JobSubmitted job=job4 user=bob pool=nowhere maps=1:
    0 JobSubmitted job=job5 user=ann pool=nowhere maps=1:
  )");
  const PolicyView view = engine.policy().View(engine.state(), 0);
  ASSERT_EQ(view.groups.size(), 3U);
  EXPECT_EQ(view.groups[0].name, "ann");
  EXPECT_EQ(view.groups[0].jobs.size(), 2U);  // job5, which came before the queues had settings
  EXPECT_EQ(view.groups[1].name, "default");
  EXPECT_EQ(view.groups[1].jobs.size(), 2U);
  EXPECT_EQ(view.groups[1].weight, 10);
  EXPECT_EQ(view.groups[2].name, "q");
  EXPECT_EQ(view.groups[2].jobs.size(), 1U);
}

// Hadoop refuses it, too: a typing error must not pass for a job of another queue.
TEST(Capacity, AJobThatNamesAQueueThatIsNotIsRefusedWithTheNamesOfAll) {
  const auto spec = [](const std::string& user, const std::string& pool) {
    JobSpec job;
    job.user = user, job.pool = pool;
    return job;
  };
  const auto queues = Make({{"ann", {60, 100, 100, false}}, {"q", {30, 100, 100, false}}});
  EXPECT_EQ(
      queues->Refusal(spec("ann", "qq")),
      "capacity has no queue called \"qq\"; there is: \"ann\", \"default\", \"q\"; name one of these as the job's "
      "pool, or none, or add [queues.NAME] to the scheduler's settings");
  for (const char* pool : {"", "ann", "q", "default"}) EXPECT_EQ(queues->Refusal(spec("bob", pool)), "") << pool;
  // Without settings all jobs are in one queue, whatever pool they name for other schedulers.
  EXPECT_EQ(Make({})->Refusal(spec("ann", "qq")), "");
}

TEST(Capacity, ThePartsAndDuplicatesPassTheRefusalOn) {
  Settings settings;
  settings.Named<QueueSettings>()["q"].capacity = 100;
  settings.Of<SpeculationSettings>().enabled = true;
  JobSpec job;
  job.pool = "qq";
  for (const char* name : {"capacity", "capacity+delay", "capacity+ccs", "capacity+delay+ccs"}) {
    std::string why;
    EXPECT_NE(MakePolicy(name, settings, &why)->Refusal(job), "") << name;
  }
  // The pools of the others are made when a job names them, as in Hadoop's fair scheduler.
  for (const PolicyInfo& info : ListPolicies()) {
    std::string why;
    if (info.name == "capacity") continue;
    EXPECT_EQ(MakePolicy(info.name, settings, &why)->Refusal(job), "") << info.name;
  }
}

}  // namespace
}  // namespace millrace::sched
