// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/speculation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/simple/edf.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class SpeculationTest : public testing::Test {
 protected:
  static std::unique_ptr<Policy> Make(bool enabled = true) {
    Settings settings;
    settings.Of<SpeculationSettings>().enabled = enabled;
    std::string why;
    return MakePolicy("fifo", settings, &why);
  }

  Engine engine_{{}, Make()};
};

// Four maps of which the one on n1 is slow, and a free node. At 20 s the rates are .01, .04, .04 and .045 a second.
constexpr const char* kOneSlow = R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 NodeJoined node=n3 maps=1
    0 NodeJoined node=n4 maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n2;1:n3;1:n4
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    -> launch job1.m.2.0 n3 node
    -> launch job1.m.3.0 n4 node
    20000000 AttemptProgressed attempt=job1.m.0.0 per_mille=200
    20000000 AttemptProgressed attempt=job1.m.1.0 per_mille=800
    20000000 AttemptProgressed attempt=job1.m.2.0 per_mille=800
    20000000 AttemptProgressed attempt=job1.m.3.0 per_mille=900
    20000000 NodeJoined node=n5 maps=1
)";

TEST_F(SpeculationTest, TheSlowAttemptIsDuplicatedAndTheFirstToEndWins) {
  EXPECT_PLAYS(&engine_, std::string(kOneSlow) + R"(
    20000000 decide
    -> launch job1.m.0.1 n5 rack
    25000000 AttemptSucceeded attempt=job1.m.0.1
    -> kill job1.m.0.0 n1: attempt 1 has succeeded
    25000000 decide
  )");
}

TEST_F(SpeculationTest, AJobMaySayNo) {
  std::string script = kOneSlow;
  script.insert(script.find('\n', script.find("JobSubmitted job=job1")), " no_speculation=1");
  EXPECT_PLAYS(&engine_, script + R"(
    20000000 decide
    30000000 decide
  )");
}

TEST_F(SpeculationTest, NothingIsDuplicatedWithoutIt) {
  Engine engine({}, Make(false));
  EXPECT_PLAYS(&engine, std::string(kOneSlow) + R"(
    20000000 decide
  )");
  EXPECT_EQ(engine.NextWake(), std::nullopt);
}

TEST_F(SpeculationTest, NotWhileATaskIsPending) {
  EXPECT_PLAYS(&engine_, std::string(kOneSlow) + R"(
    20000000 JobSubmitted job=job2 maps=1:
    20000000 decide
    -> launch job2.m.0.0 n5 off
  )");
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
}

// A job that its own policy holds back cannot use the slot, so no straggler waits for it.
TEST_F(SpeculationTest, NoJobThatIsHeldBackStopsIt) {
  struct Case {
    const char* scheduler;
    std::function<void(Settings*)> set;
  };
  const std::vector<Case> cases = {
      {"fair", [](Settings* of) { of->Of<PoolDefaults>().pool.max_running_jobs = 1; }},
      {"fair", [](Settings* of) { of->Named<PoolSettings>()["late"].max_maps = 0; }},
      {"edf", [](Settings* of) { of->Of<EdfSettings>().exclusive = true; }},
      {"fresh-static", [](Settings* of) { of->Of<FreshSettings>().k = 1; }},
      {"fresh-dynamic", [](Settings* of) { of->Of<FreshSettings>().k = 1; }},
  };
  for (const auto& [scheduler, set] : cases) {
    SCOPED_TRACE(scheduler);
    Settings settings;
    settings.Of<SpeculationSettings>().enabled = true;
    set(&settings);
    const bool by_pool = settings.Named<PoolSettings>().contains("late");
    std::string why;
    Engine engine({}, MakePolicy(scheduler, settings, &why));
    EXPECT_PLAYS(&engine,
                 std::string(kOneSlow) + "20000000 JobSubmitted job=job2 maps=1:" + (by_pool ? " pool=late" : "") + R"(
      20000000 decide
      -> launch job1.m.0.1 n5 rack
    )");
  }
}

// A duplicate takes a slot like any attempt, so it counts towards the maximum of its job's pool.
TEST_F(SpeculationTest, NotAboveTheMaximumOfThePool) {
  for (const std::uint32_t maximum : {4U, 5U}) {
    Settings settings;
    settings.Of<SpeculationSettings>().enabled = true;
    settings.Of<PoolDefaults>().pool.max_maps = maximum;
    std::string why;
    Engine engine({}, MakePolicy("fair", settings, &why));
    EXPECT_PLAYS(&engine,
                 std::string(kOneSlow) + "20000000 decide" + (maximum == 5 ? "\n-> launch job1.m.0.1 n5 rack" : ""));
  }
}

TEST_F(SpeculationTest, YoungAttemptsAreNotJudged) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 NodeJoined node=n3 maps=1
    0 NodeJoined node=n4 maps=1
    0 NodeJoined node=n5 maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n2;1:n3;1:n4
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    -> launch job1.m.2.0 n3 node
    -> launch job1.m.3.0 n4 node
    5000000 AttemptProgressed attempt=job1.m.1.0 per_mille=300
    5000000 AttemptProgressed attempt=job1.m.2.0 per_mille=300
    5000000 AttemptProgressed attempt=job1.m.3.0 per_mille=300
    9999999 decide
    # Looked at once a second: the next time is 1 s after the last.
    10000000 decide
  )");
  EXPECT_EQ(engine_.NextWake(), 10'999'999);
  EXPECT_PLAYS(&engine_, R"(
    10999999 decide
    -> launch job1.m.0.1 n5 rack
  )");
}

// As long as the tasks that have finished took is long enough, if that is less than min_runtime: a slow node is noticed
// after one task's time.
TEST_F(SpeculationTest, OnceATaskHasFinishedItsTimeIsLongEnough) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=3
    0 JobSubmitted job=job1 maps=1:n1;1:n2;1:n2;1:n2
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    -> launch job1.m.2.0 n2 node
    -> launch job1.m.3.0 n2 node
    1900000 AttemptProgressed attempt=job1.m.0.0 per_mille=100
    2000000 AttemptSucceeded attempt=job1.m.1.0
    2000000 AttemptSucceeded attempt=job1.m.2.0
    2900000 AttemptSucceeded attempt=job1.m.3.0
    # They took 2.3 s on average; by its rate the slow one needs 26 s more.
    2900000 decide
    -> launch job1.m.0.1 n2 rack
  )");
}

// A whole node may be slow: its two maps are duplicated at once, though two of six slots are more than a tenth.
TEST_F(SpeculationTest, AsManyAsOneNodeHasSlots) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    0 NodeJoined node=n2 maps=4
    0 NodeJoined node=n3 maps=4
    0 JobSubmitted job=job1 maps=1:n1;1:n1;1:n2;1:n2;1:n2;1:n2;1:n3;1:n3;1:n3;1:n3
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    -> launch job1.m.2.0 n2 node
    -> launch job1.m.3.0 n2 node
    -> launch job1.m.4.0 n2 node
    -> launch job1.m.5.0 n2 node
    -> launch job1.m.6.0 n3 node
    -> launch job1.m.7.0 n3 node
    -> launch job1.m.8.0 n3 node
    -> launch job1.m.9.0 n3 node
    4000000 AttemptProgressed attempt=job1.m.0.0 per_mille=100
    4000000 AttemptProgressed attempt=job1.m.1.0 per_mille=110
    4000000 AttemptSucceeded attempt=job1.m.2.0
    4000000 AttemptSucceeded attempt=job1.m.3.0
    4000000 AttemptSucceeded attempt=job1.m.4.0
    4000000 AttemptSucceeded attempt=job1.m.5.0
    4000000 AttemptSucceeded attempt=job1.m.6.0
    4000000 AttemptSucceeded attempt=job1.m.7.0
    4000000 AttemptSucceeded attempt=job1.m.8.0
    4000000 AttemptSucceeded attempt=job1.m.9.0
    4000000 decide
    -> launch job1.m.0.1 n2 rack
    -> launch job1.m.1.1 n2 rack
  )");
}

TEST_F(SpeculationTest, ATenthOfTheSlotsButAtLeastOne) {
  std::string script;
  std::string maps;
  std::string launches;
  // 12 slots, 10 in use; 5 maps do nothing.
  for (int i = 0; i < 10; ++i) {
    script += "0 NodeJoined node=n" + std::to_string(i) + " maps=1\n";
    maps += (i == 0 ? "1:n" : ";1:n") + std::to_string(i);
    launches += "-> launch job1.m." + std::to_string(i) + ".0 n" + std::to_string(i) + " node\n";
  }
  script += "0 JobSubmitted job=job1 maps=" + maps + "\n0 decide\n" + launches;
  for (int i = 3; i < 10; ++i) {
    script += "30000000 AttemptProgressed attempt=job1.m." + std::to_string(i) +
              ".0 per_mille=" + std::to_string(400 + i) + "\n";
  }
  script += R"(
    30000000 NodeJoined node=n20 maps=2
    30000000 decide
    # 1.2 slots are one, but one node has two. The quarter is two tasks.
    -> launch job1.m.0.1 n20 rack
    -> launch job1.m.1.1 n20 rack
  )";
  // The three that did nothing are equal: none is below the quarter, which is among them. So they get ahead a little.
  script.insert(script.find("30000000 NodeJoined"),
                "30000000 AttemptProgressed attempt=job1.m.1.0 per_mille=10\n"
                "30000000 AttemptProgressed attempt=job1.m.2.0 per_mille=20\n");
  EXPECT_PLAYS(&engine_, script);
}

// Of 12 slots, on nodes of one each, a tenth is one: 1.2 are not two.
TEST_F(SpeculationTest, AtMostATenthOfTheSlots) {
  std::string script, maps, launches;
  for (int i = 0; i < 10; ++i) {
    script += "0 NodeJoined node=n" + std::to_string(i) + " maps=1\n";
    maps += (i == 0 ? "1:n" : ";1:n") + std::to_string(i);
    launches += "-> launch job1.m." + std::to_string(i) + ".0 n" + std::to_string(i) + " node\n";
  }
  script += "0 JobSubmitted job=job1 maps=" + maps + "\n0 decide\n" + launches;
  for (int i = 0; i < 10; ++i) {
    script += "30000000 AttemptProgressed attempt=job1.m." + std::to_string(i) +
              ".0 per_mille=" + std::to_string(i < 3 ? 10 * i : 400 + i) + "\n";
  }
  script += R"(
    30000000 NodeJoined node=n20 maps=1
    30000000 NodeJoined node=n21 maps=1
    30000000 decide
    -> launch job1.m.0.1 n20 rack
  )";
  EXPECT_PLAYS(&engine_, script);
}

TEST_F(SpeculationTest, NotOnASlowNodeNorWhereItRuns) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    0 NodeJoined node=n2 maps=1
    0 NodeJoined node=n3 maps=1
    0 NodeJoined node=n4 maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n2;1:n3;1:n4
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    -> launch job1.m.2.0 n3 node
    -> launch job1.m.3.0 n4 node
    # n1 has a free slot, but is where the slow one runs.
    20000000 AttemptProgressed attempt=job1.m.0.0 per_mille=200
    20000000 AttemptProgressed attempt=job1.m.1.0 per_mille=500
    20000000 AttemptProgressed attempt=job1.m.2.0 per_mille=800
    20000000 AttemptProgressed attempt=job1.m.3.0 per_mille=900
    20000000 decide
    21000000 NodeJoined node=n9 maps=1
    21000000 decide
    -> launch job1.m.0.1 n9 rack
  )");
}

TEST_F(SpeculationTest, ReducesThatWaitForMapsAreNotSlow) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=3
    0 JobSubmitted job=job1 maps=1: reduces=3 slow_start=0
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job1.r.2.0 n1
    20000000 AttemptProgressed attempt=job1.r.0.0 per_mille=10
    20000000 AttemptProgressed attempt=job1.r.1.0 per_mille=300
    20000000 AttemptProgressed attempt=job1.r.2.0 per_mille=300
    20000000 NodeJoined node=n2 reduces=1
    20000000 decide
  )");
}

}  // namespace
}  // namespace millrace::sched
