// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/virtual/uwfq.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> MakeUwfq(const std::string& scheduler, Micros grace = 0) {
  Settings settings;
  settings.Of<UwfqSettings>().grace = grace;
  std::string why;
  return MakePolicy(scheduler, settings, &why);
}

constexpr std::string_view kTwoOfAnnAndOneOfBob = R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 user=ann maps=1: map_time=100
    0 JobSubmitted job=job2 user=ann maps=1: map_time=100
    0 JobSubmitted job=job3 user=bob maps=1: map_time=150
    0 decide
    -> launch job1.m.0.0 n1 off
    100 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
    100 decide
)";

// Deadlines: ann's jobs one after the other, 100 and 200; bob's 150. Under psbs the keys are 25, 25 and 37.
TEST(UwfqTest, TheJobsOfAUserCountTogether) {
  Engine engine({}, MakeUwfq("uwfq"));
  EXPECT_PLAYS(&engine, std::string(kTwoOfAnnAndOneOfBob) + "-> launch job3.m.0.0 n1 off\n");
  Engine other({}, MakeUwfq("psbs"));
  EXPECT_PLAYS(&other, std::string(kTwoOfAnnAndOneOfBob) + "-> launch job2.m.0.0 n1 off\n");
}

// Inside a user the jobs share, so that the short one of ann's ends first: deadlines 20 and 120. bob's is 110.
TEST(UwfqTest, AUsersShortJobGoesBeforeTheUsersLongOne) {
  Engine engine({}, MakeUwfq("uwfq"));
  EXPECT_PLAYS(&engine, R"(
    0 JobSubmitted job=job1 user=ann maps=1: map_time=100
    0 JobSubmitted job=job2 user=ann maps=1: map_time=20
    0 JobSubmitted job=job3 user=bob maps=1: map_time=110
    0 NodeJoined node=n1 maps=3
    0 decide
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
  )");
}

constexpr std::string_view kAnnComesBack = R"(
    0 NodeJoined node=n1 maps=1
    # g = 100 at 100, when ann's work is done here and there.
    0 JobSubmitted job=job1 user=ann maps=1: map_time=100
    0 decide
    -> launch job1.m.0.0 n1 off
    100 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
    100 decide
    # Nobody was there between 100 and 120: g = 100, and the deadline is 200.
    120 JobSubmitted job=job2 user=bob maps=1: map_time=100
    120 decide
    -> launch job2.m.0.0 n1 off
    # g = 120. ann comes back after 40: within the grace of 50 her deadline is 100 + 60 = 160, else 120 + 60 = 180.
    # carol's is 120 + 50 = 170.
    140 JobSubmitted job=job3 user=ann maps=1: map_time=60
    140 JobSubmitted job=job4 user=carol maps=1: map_time=50
    140 decide
    220 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    220 decide
)";

TEST(UwfqTest, AUserWhoComesBackWithinTheGraceGoesOn) {
  Engine engine({}, MakeUwfq("uwfq", 50));
  EXPECT_PLAYS(&engine, std::string(kAnnComesBack) + "-> launch job3.m.0.0 n1 off\n");
  Engine strict({}, MakeUwfq("uwfq", 30));
  EXPECT_PLAYS(&strict, std::string(kAnnComesBack) + "-> launch job4.m.0.0 n1 off\n");
}

// ann said 10 us a map; her maps take 40, so that the deadline of her job is 2 * 40 and not 20. bob's is 60.
TEST(UwfqTest, SizesAreLearnt) {
  Engine engine({}, MakeUwfq("uwfq"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 user=ann maps=1:;1: map_time=10
    0 JobSubmitted job=job2 user=bob maps=1: map_time=60
    0 decide
    -> launch job1.m.0.0 n1 off
    40 AttemptSucceeded attempt=job1.m.0.0
    40 decide
    -> launch job2.m.0.0 n1 off
  )");
}

}  // namespace
}  // namespace millrace::sched
