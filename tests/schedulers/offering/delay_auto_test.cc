// SPDX-License-Identifier: Apache-2.0
// delay.mode = auto: a job waits if its maps away from their data take longer, by D, than a slot at their data takes to
// come free, t.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/offering/delay_settings.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Make() {
  Settings settings;
  settings.Of<DelaySettings>().mode = DelaySettings::Mode::kAuto;
  std::string why;
  return MakePolicy("fifo+delay", settings, &why);
}

// The cluster's maps take 8 s (job0's, which ended), n1 has 2 slots: t = 4 s. The rack link makes 100 MB/s.
constexpr const char* kCluster = R"(
    0 NodeJoined node=n1 rack=a maps=2
    0 JobSubmitted job=job0 maps=1:n1
    0 decide
    -> launch job0.m.0.0 n1 node
    8000000 AttemptSucceeded attempt=job0.m.0.0
    -> ended job0 succeeded
    8000000 JobSubmitted job=job1 maps=1:n1;1:n1
    8000000 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    8000000 NodeJoined node=n2 rack=a maps=1
)";

TEST(DelayAuto, WaitsWhenTheInputTakesLongerToMoveThanASlotToComeFree) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, std::string(kCluster) + R"(
    8000000 JobSubmitted job=job2 maps=401000000:n1
    8000000 decide
    12999999 decide
    13000000 decide
    -> launch job2.m.0.0 n2 rack
  )");
}

TEST(DelayAuto, LaunchesAtOnceWhenItDoesNot) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, std::string(kCluster) + R"(
    8000000 JobSubmitted job=job2 maps=399000000:n1
    8000000 decide
    -> launch job2.m.0.0 n2 rack
  )");
}

TEST(DelayAuto, MeasuredBandwidthCounts) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, std::string(kCluster) + R"(
    8000000 BandwidthMeasured from=n1 to=n2 bytes_per_second=200000000
    8000000 JobSubmitted job=job2 maps=799000000:n1
    8000000 decide
    -> launch job2.m.0.0 n2 rack
  )");
}

TEST(DelayAuto, TheJobsOwnFinishedMapsSayHowMuchLongerTheyTake) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=a maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1
    0 AttemptLaunched attempt=job1.m.0.0 node=n1
    0 AttemptLaunched attempt=job1.m.1.0 node=n2
    1000000 AttemptSucceeded attempt=job1.m.0.0
    # 10 s against 1 s: D is 9 s, t is the mean of both, 5.5 s, over one slot. One byte to move says nothing any more.
    1000000 JobSubmitted job=job2 maps=1: priority=HIGH
    1000000 AttemptLaunched attempt=job2.m.0.0 node=n1
    10000000 AttemptSucceeded attempt=job1.m.1.0
    10000000 decide
    14999999 decide
    15000000 decide
    -> launch job1.m.2.0 n2 rack
  )");
}

}  // namespace
}  // namespace millrace::sched
