// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/cp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/policies/cp/cp_snapshot.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

using testing::ElementsAre;

// The planner runs inline, as in the simulator. Times are in microseconds: 10 s is 10000000.
class CpTest : public testing::Test {
 protected:
  Engine engine_{{}, std::make_unique<Cp>("cp", CpSettings(), Admission())};
};

TEST_F(CpTest, AJobThatIsLateAnywayDoesNotMakeTheOthersLate) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1: deadline=10000000 map_time=20000000
    0 JobSubmitted job=job2 maps=1: deadline=15000000 map_time=10000000
    0 JobSubmitted job=job3 maps=1: deadline=25000000 map_time=10000000
    0 decide
    -> launch job2.m.0.0 n1 off
    10000000 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    10000000 decide
    -> launch job3.m.0.0 n1 off
    20000000 AttemptSucceeded attempt=job3.m.0.0
    -> ended job3 succeeded
    20000000 decide
    -> launch job1.m.0.0 n1 off
  )");
}

TEST_F(CpTest, ReducesWaitForAllMapsAndTheirSlotsGoToOthersMeanwhile) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 JobSubmitted job=job1 maps=1:;1: reduces=1 slow_start=0 deadline=90000000 map_time=9000000 reduce_time=9000000
    0 JobSubmitted job=job2 reduces=1 slow_start=0 map_time=9000000 reduce_time=9000000
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.r.0.0 n1
    5000000 AttemptSucceeded attempt=job2.r.0.0
    -> ended job2 succeeded
    9000000 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    9000000 decide
    -> launch job1.m.1.0 n1 off
    18000000 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    18000000 decide
    -> launch job1.r.0.0 n1
  )");
}

TEST_F(CpTest, MapsGoToTheirDataAtDispatch) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 JobSubmitted job=job1 maps=1:n2;1:n1 deadline=90000000
    0 JobSubmitted job=job2 maps=1:n1 deadline=95000000
    0 decide
    -> launch job1.m.0.0 n2 node
    -> launch job1.m.1.0 n1 node
  )");
}

// The problems that a planner got, and the plans that it is to give.
struct Desk {
  std::vector<PlanProblem> problems;
  std::unique_ptr<const Plan> plan;

  void Answer(std::vector<PlanChunk> maps, std::vector<JobId> reduces) {
    Plan made;
    made.maps = std::move(maps);
    made.reduces = std::move(reduces);
    plan = std::make_unique<Plan>(std::move(made));
  }
};

class DeskPlanner : public Planner {
 public:
  explicit DeskPlanner(std::shared_ptr<Desk> desk) : desk_(std::move(desk)) {}
  void Submit(PlanProblem problem) override { desk_->problems.push_back(std::move(problem)); }
  std::unique_ptr<const Plan> TakePlan() override { return std::move(desk_->plan); }

 private:
  std::shared_ptr<Desk> desk_;
};

// The planner takes its time, like the live one.
class CpPlanningTest : public testing::Test {
 protected:
  static CpSettings Background() {
    CpSettings settings;
    settings.background = true;
    return settings;
  }
  std::shared_ptr<Desk> desk_ = std::make_shared<Desk>();
  Engine engine_{{}, std::make_unique<Cp>("cp", Background(), Admission(), std::make_unique<DeskPlanner>(desk_))};
};

TEST_F(CpPlanningTest, WithoutAPlanItIsEdfAndANewJobStandsByItsDeadlineInTheOldOrder) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1: deadline=300
    0 JobSubmitted job=job2 maps=1:;1: deadline=200
    0 decide
    -> launch job2.m.0.0 n1 off
  )");
  desk_->Answer({{JobId{1}, 2}, {JobId{2}, 1}}, {JobId{1}, JobId{2}});
  EXPECT_PLAYS(&engine_, R"(
    1 JobSubmitted job=job3 maps=1: deadline=250
    1 JobSubmitted job=job4 maps=1:
    1 AttemptSucceeded attempt=job2.m.0.0
    1 decide
    -> launch job3.m.0.0 n1 off
    2 AttemptSucceeded attempt=job3.m.0.0
    -> ended job3 succeeded
    2 decide
    -> launch job1.m.0.0 n1 off
    3 AttemptSucceeded attempt=job1.m.0.0
    3 decide
    -> launch job1.m.1.0 n1 off
    4 AttemptSucceeded attempt=job1.m.1.0
    -> ended job1 succeeded
    4 decide
    -> launch job2.m.1.0 n1 off
    5 AttemptSucceeded attempt=job2.m.1.0
    -> ended job2 succeeded
    5 decide
    -> launch job4.m.0.0 n1 off
  )");
}

TEST_F(CpPlanningTest, FollowsChunksAndTakesOffWhatWasLaunchedSinceThePicture) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1:;1: deadline=200
    0 JobSubmitted job=job2 maps=1:;1: deadline=300
    0 decide
    -> launch job1.m.0.0 n1 off
  )");
  // Of the picture before the launch: 1, then 2, then the other two of 1, then 2.
  desk_->Answer({{JobId{1}, 1}, {JobId{2}, 1}, {JobId{1}, 2}, {JobId{2}, 1}}, {JobId{1}, JobId{2}});
  EXPECT_PLAYS(&engine_, R"(
    1 AttemptSucceeded attempt=job1.m.0.0
    1 decide
    -> launch job2.m.0.0 n1 off
    2 AttemptSucceeded attempt=job2.m.0.0
    2 decide
    -> launch job1.m.1.0 n1 off
    3 AttemptLost attempt=job1.m.1.0
    3 decide
    -> launch job1.m.1.1 n1 off
    4 AttemptSucceeded attempt=job1.m.1.1
    4 decide
    -> launch job1.m.2.0 n1 off
    5 AttemptSucceeded attempt=job1.m.2.0
    -> ended job1 succeeded
    5 decide
    -> launch job2.m.1.0 n1 off
  )");
}

TEST_F(CpPlanningTest, ReducesGoInTheOrderOfThePlan) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 reduces=1 deadline=200
    0 JobSubmitted job=job2 reduces=1 deadline=300
    0 decide
  )");
  desk_->Answer({}, {JobId{2}, JobId{1}});
  EXPECT_PLAYS(&engine_, R"(
    1 NodeJoined node=n1 maps=2 reduces=1
    1 decide
    -> launch job2.r.0.0 n1
  )");
}

TEST_F(CpPlanningTest, PlansAnewWhenSomethingChangedAndNotElse) {
  const auto asked = [this] { return std::exchange(desk_->problems, {}).size(); };
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 maps=1:;1:;1:;1:;1:;1: map_time=1000 deadline=90000
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
  )");
  EXPECT_EQ(asked(), 0U);  // one job needs no order
  EXPECT_PLAYS(&engine_, R"(
    0 JobSubmitted job=job2 maps=1:;1: map_time=1000 deadline=99000
    0 JobSubmitted job=job3 maps=1: map_time=1000 deadline=99999
    0 decide
  )");
  EXPECT_EQ(asked(), 1U);  // a burst is one
  EXPECT_PLAYS(&engine_, R"(
    1000 AttemptSucceeded attempt=job1.m.0.0
    1000 decide
    -> launch job1.m.2.0 n1 off
  )");
  EXPECT_EQ(asked(), 0U);  // as expected
  EXPECT_PLAYS(&engine_, R"(
    1200 AttemptFailed attempt=job1.m.1.0
    1200 decide
    -> launch job1.m.1.1 n1 off
  )");
  EXPECT_EQ(asked(), 1U);
  EXPECT_PLAYS(&engine_, R"(
    1300 NodeJoined node=n2
    1300 decide
  )");
  EXPECT_EQ(asked(), 1U);
  EXPECT_PLAYS(&engine_, R"(
    4000 AttemptSucceeded attempt=job1.m.2.0
    4000 decide
    -> launch job1.m.3.0 n1 off
  )");
  EXPECT_EQ(asked(), 1U);  // took three times what was said
}

TEST_F(CpPlanningTest, PlansAnewWhenTasksOfWhichNothingWasSaidShowWhatTheyTake) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1:
    0 JobSubmitted job=job2 maps=1:
    0 decide
    -> launch job1.m.0.0 n1 off
  )");
  desk_->problems.clear();
  EXPECT_PLAYS(&engine_, R"(
    2000000 AttemptSucceeded attempt=job1.m.0.0
    2000000 decide
    -> launch job1.m.1.0 n1 off
  )");
  ASSERT_EQ(desk_->problems.size(), 1U);
  EXPECT_EQ(desk_->problems[0].jobs[0].map_time, 2'000'000);
}

TEST_F(CpPlanningTest, LooksAgainWhenARunningTaskOutlivesItsExpectation) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1: map_time=1000000 deadline=9000000
    0 JobSubmitted job=job2 maps=1:;1: map_time=1000000 deadline=9900000
    0 decide
    -> launch job1.m.0.0 n1 off
    100 NodeJoined node=n2
    100 decide
  )");
  desk_->problems.clear();
  ASSERT_EQ(engine_.NextWake(), 1'500'000);
  EXPECT_PLAYS(&engine_, "1500000 decide");
  ASSERT_EQ(desk_->problems.size(), 1U);
  // (1 s said of the prior and 1 s of the task; 1 s + 1.5 s seen.)
  EXPECT_EQ(desk_->problems[0].jobs[0].map_time, 1'250'000);
  EXPECT_EQ(desk_->problems[0].jobs[1].map_time, 1'000'000);
  EXPECT_GT(*engine_.NextWake(), 1'500'000);
}

TEST_F(CpPlanningTest, SaysWhatItPlannedAndWhyReducesWait) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 JobSubmitted job=job1 maps=1:;1: reduces=1 slow_start=0 deadline=200
    0 JobSubmitted job=job2 maps=1: deadline=300
  )");
  desk_->Answer({{JobId{1}, 2}, {JobId{2}, 1}}, {JobId{1}, JobId{2}});
  EXPECT_PLAYS(&engine_, R"(
    0 decide
    -> launch job1.m.0.0 n1 off
  )");
  const PolicyView view = engine_.View(0);
  EXPECT_THAT(view.facts, testing::Contains(Fact::Number("jobs in the last plan", 2)));
  EXPECT_THAT(view.waits, testing::Contains(testing::AllOf(
                              testing::Field(&WaitView::job, JobId{1}), testing::Field(&WaitView::slot, kReduceSlot),
                              testing::Field(&WaitView::cause, WaitCause::kMapsFirst),
                              testing::Field(&WaitView::used, 0U), testing::Field(&WaitView::of, 2U))));
  // Each task takes 10 s by default; the deadlines are in microseconds, so both jobs will be late.
  ASSERT_EQ(view.deadlines.size(), 2U);
  EXPECT_EQ(view.deadlines[0].job, JobId{1});
  EXPECT_EQ(view.deadlines[0].slack, 200 - 20'000'000 - 10'000'000);  // two maps on one slot, then the reduce
}

TEST(CpSnapshotTest, PoolsSlotsAndFixesRunningTasks) {
  Engine engine({}, std::make_unique<Cp>("cp", CpSettings(), Admission()));
  Play(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    0 NodeJoined node=n2 maps=2 reduces=2
    0 NodeJoined node=n3 maps=1
    1000000 JobSubmitted job=job7 maps=1:;1:;1:;1: reduces=2 map_time=4000000 reduce_time=6000000 deadline=80000000
    1000000 JobSubmitted job=job5 reduces=1 profile_runs=1 profile_map_time=1 profile_reduce_time=4000000
    2000000 AttemptLaunched attempt=job7.m.0.0 node=n1
    2000000 AttemptLaunched attempt=job7.m.1.0 node=n3
    2000000 AttemptLaunched attempt=job5.r.0.0 node=n2
    3000000 NodeDrained node=n3
  )");
  const CpSnapshot snapshot = MakeSnapshot(engine.state(), CpSettings(), 4'000'000);
  const PlanProblem& problem = snapshot.problem;
  EXPECT_EQ(problem.now, 4'000'000);
  // n3 takes no new tasks; the other map ends at 6 s.
  EXPECT_THAT(problem.map_slots, ElementsAre(SlotGroup{4'000'000, 3}, SlotGroup{6'000'000, 1}));
  EXPECT_THAT(problem.reduce_slots, ElementsAre(SlotGroup{4'000'000, 2}, SlotGroup{6'000'000, 1}));
  ASSERT_EQ(problem.jobs.size(), 1U);  // job5 is fixed: it ends at 6 s, 5 s after it came
  EXPECT_EQ(problem.fixed_worst, 5'000'000);
  EXPECT_EQ(problem.fixed_late, 0U);
  EXPECT_EQ(problem.jobs[0].id, JobId{7});
  EXPECT_EQ(problem.jobs[0].maps, 2U);
  EXPECT_EQ(problem.jobs[0].reduces, 2U);
  EXPECT_EQ(problem.jobs[0].submitted, 1'000'000);
  EXPECT_EQ(problem.jobs[0].deadline, 80'000'000);
  EXPECT_EQ(problem.jobs[0].map_time, 4'000'000);
  EXPECT_EQ(problem.jobs[0].reduce_time, 6'000'000);
  EXPECT_EQ(problem.jobs[0].maps_until, 6'000'000);
  EXPECT_EQ(problem.objective.tau, 4'000'000);  // of a map of job7, and a reduce of job5, which has no maps
}

TEST(CpSnapshotTest, TheBiasOfAJobIsThatOfItsFinishedTasksWithAPriorOfOne) {
  Engine engine({}, std::make_unique<Cp>("cp", CpSettings(), Admission()));
  Play(&engine, R"(
    0 NodeJoined node=n1 maps=9
    0 JobSubmitted job=job1 maps=1:;1:;1:;1:;1: map_time=1000000 reduce_time=2000000 reduces=1
    0 AttemptLaunched attempt=job1.m.0.0 node=n1
    0 AttemptLaunched attempt=job1.m.1.0 node=n1
    0 AttemptLaunched attempt=job1.m.2.0 node=n1
    3000000 AttemptSucceeded attempt=job1.m.0.0
    3000000 AttemptSucceeded attempt=job1.m.1.0
  )");
  // 1 s + 3 s + 3 s for 3 s said; with the one that runs since 5 s 12 s for 4 s.
  EXPECT_DOUBLE_EQ(FinishedTimes(engine.state(), *engine.state().FindJob(JobId{1})).map, 7e6 / 3);
  const CpSnapshot snapshot = MakeSnapshot(engine.state(), CpSettings(), 5'000'000);
  EXPECT_DOUBLE_EQ(snapshot.times.at(JobId{1}).reduce, 6e6);
  EXPECT_EQ(snapshot.problem.jobs.at(0).map_time, 3'000'000);
  EXPECT_EQ(snapshot.problem.jobs.at(0).reduce_time, 6'000'000);
  EXPECT_EQ(snapshot.problem.jobs.at(0).maps_until, 5'300'000);  // overdue: a tenth more
}

TEST_F(CpPlanningTest, PlansAnewWhenTheOutputOfAMapIsLost) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 reduces=1
    0 JobSubmitted job=job1 maps=1: reduces=2 map_time=1000 reduce_time=1000
    0 JobSubmitted job=job2 maps=1:;1: map_time=1000
    0 decide
    -> launch job1.m.0.0 n1 off
    1000 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    1000 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.r.0.0 n2
  )");
  desk_->problems.clear();
  EXPECT_PLAYS(&engine_, R"(
    1500 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    1500 decide
    2000 AttemptSucceeded attempt=job2.m.0.0
    2000 decide
    -> launch job1.m.0.1 n1 off
  )");
  EXPECT_EQ(desk_->problems.size(), 1U);
}

}  // namespace
}  // namespace millrace::sched
