#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/offering/ccs_settings.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Make(const std::string& scheduler, double max_reducers = 3) {
  Settings settings;
  settings.Of<CcsSettings>().max_reducers = max_reducers;
  std::string why;
  return MakePolicy(scheduler, settings, &why);
}

// Figure 6: a long job has as many reduces as the cluster has slots, and a small job comes later. A dual-core machine
// with 2 reduce slots.
constexpr const char* kLongJob = R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    0 JobSubmitted job=job1 maps=1:;1: reduces=6 slow_start=0
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    1 JobSubmitted job=job2 reduces=3 priority=LOW
)";

TEST(Ccs, WithoutItALongJobHoardsTheReduceSlots) {
  Engine engine({}, Make("fifo"));
  EXPECT_PLAYS(&engine, std::string(kLongJob) + R"(
    1 decide
  )");
}

TEST(Ccs, WithItASmallJobRunsBesideALongOne) {
  Engine engine({}, Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, std::string(kLongJob) + R"(
    1 decide
    -> launch job2.r.0.0 n1
    -> launch job2.r.1.0 n1
    # Its third has to wait until one of it computes, although the node may hold 6.
    2 ReduceComputing attempt=job2.r.1.0
    2 decide
    -> launch job2.r.2.0 n1
  )");
}

TEST(Ccs, AJobWhoseReducesComputeCopiesMore) {
  Engine engine({}, Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 reduces=2
    0 JobSubmitted job=job1 reduces=9
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    1 ReduceComputing attempt=job1.r.0.0
    1 ReduceComputing attempt=job1.r.1.0
    1 decide
    -> launch job1.r.2.0 n1
    -> launch job1.r.3.0 n1
    2 AttemptSucceeded attempt=job1.r.0.0
    2 decide
    3 ReduceComputing attempt=job1.r.2.0
    3 decide
    -> launch job1.r.4.0 n1
    4 AttemptLost attempt=job1.r.4.0
    4 decide
    -> launch job1.r.4.1 n1
  )");
}

TEST(Ccs, ANodeHoldsMaxReducersAndItsMapSlotsStayAsTheyAre) {
  Engine engine({}, Make("fifo+ccs", 1.5));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    0 JobSubmitted job=job1 reduces=2
    0 JobSubmitted job=job2 reduces=2
    0 JobSubmitted job=job3 maps=1:;1:
    0 decide
    -> launch job3.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job2.r.0.0 n1
  )");
}

TEST(Ccs, EachNodeHasItsOwnRoomForCopies) {
  Engine engine({}, Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 reduces=1
    0 NodeJoined node=n2 reduces=2
    0 NodeJoined node=n3
    0 JobSubmitted job=job1 reduces=9
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n2
    -> launch job1.r.2.0 n2
  )");
}

}  // namespace
}  // namespace millrace::sched
