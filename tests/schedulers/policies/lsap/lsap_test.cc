// SPDX-License-Identifier: Apache-2.0
// dl, lsap, lsap-uniform and lsap-fair as tables: the examples of docs/schedulers/policies.md#lsap.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class LsapTest : public testing::Test {
 protected:
  Engine& Make(const std::string& scheduler, const Settings& settings = {}) {
    std::string why;
    auto policy = MakePolicy(scheduler, settings, &why);
    EXPECT_NE(policy, nullptr) << why;
    engine_ = std::make_unique<Engine>(EngineOptions{}, std::move(policy));
    return *engine_;
  }
  std::unique_ptr<Engine> engine_;
};

// Figure 1: T1 is on A (n1) and B (n2), T2 on A only.
TEST_F(LsapTest, DlMayLoseOneOfFigure1) {
  EXPECT_PLAYS(&Make("dl"), R"(
    0 NodeJoined node=n1 rack=r1 maps=1
    0 NodeJoined node=n2 rack=r2 maps=1
    1 JobSubmitted job=job1 maps=64:n1,n2;64:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 datacenter
  )");
}

TEST_F(LsapTest, LsapGetsBothOfFigure1Local) {
  for (const char* name : {"lsap", "lsap-uniform", "lsap-fair"}) {
    EXPECT_PLAYS(&Make(name), R"(
      0 NodeJoined node=n1 rack=r1 maps=1
      0 NodeJoined node=n2 rack=r2 maps=1
      1 JobSubmitted job=job1 maps=64:n1,n2;64:n1
      1 decide
      -> launch job1.m.1.0 n1 node
      -> launch job1.m.0.0 n2 node
    )");
  }
}

// Both maps failed on n1, and n2 has no room for them. As long as no map runs they may run on n1 again; once one does,
// the other waits for the room that this may make.
TEST_F(LsapTest, APlannedMapIsLeftOutWhereItsNodeHasComeToBeAvoided) {
  for (const char* name : {"lsap", "lsap-uniform", "lsap-fair"}) {
    EXPECT_PLAYS(&Make(name), R"(
      0 NodeJoined node=n1 maps=2
      0 NodeJoined node=n2 maps=2
      0 NodeSpace node=n2 free_bytes=1
      1 JobSubmitted job=job1 maps=9:n1;9:n1 reduces=1 profile_runs=1 profile_ratio=1
      1 decide
      -> launch job1.m.0.0 n1 node
      -> launch job1.m.1.0 n1 node
      2 AttemptFailed attempt=job1.m.0.0 reason=x
      2 AttemptFailed attempt=job1.m.1.0 reason=x
      2 decide
      -> launch job1.m.0.1 n1 node
      3 AttemptSucceeded attempt=job1.m.0.1
      -> ready job1.m.0.1 n1
      3 decide
      -> launch job1.m.1.1 n1 node
    )");
  }
}

// Over the maps of all jobs: a later job's node-local map comes before an earlier one's rack-local one, and so on down.
TEST_F(LsapTest, WithOneSlotLsapIsDl) {
  for (const char* name : {"dl", "lsap", "lsap-uniform"}) {
    EXPECT_PLAYS(&Make(name), R"(
      0 NodeJoined node=n1 rack=r1 datacenter=d1 maps=1
      0 NodeJoined node=n2 rack=r1 datacenter=d1
      0 NodeJoined node=n3 rack=r2 datacenter=d1
      0 NodeJoined node=n4 rack=r3 datacenter=d2
      1 JobSubmitted job=job1 maps=9:n4
      1 JobSubmitted job=job2 maps=9:n3
      1 JobSubmitted job=job3 maps=9:n2
      1 JobSubmitted job=job4 maps=9:n4;9:n1
      1 decide
      -> launch job4.m.1.0 n1 node
      2 AttemptSucceeded attempt=job4.m.1.0
      2 decide
      -> launch job3.m.0.0 n1 rack
      3 AttemptSucceeded attempt=job3.m.0.0
      -> ended job3 succeeded
      3 decide
      -> launch job2.m.0.0 n1 datacenter
      4 AttemptSucceeded attempt=job2.m.0.0
      -> ended job2 succeeded
      4 decide
      -> launch job1.m.0.0 n1 off
    )");
  }
}

// At 6 s job1 may go to the rack, for its clock has run for T1. Its launch on n1, at its data, sets it back to the
// level of nodes, so its other map waits on: from the next refusal, again for T1.
TEST_F(LsapTest, ALaunchAtTheDataTakesBackALevelFromTheRestOfThePlan) {
  for (const char* name : {"lsap+delay", "lsap-uniform+delay", "lsap-fair+delay"}) {
    SCOPED_TRACE(name);
    Settings settings;
    settings.Of<LsapSettings>().batch_window = 0;
    EXPECT_PLAYS(&Make(name, settings), R"(
      0 NodeJoined node=n1 maps=1
      0 NodeJoined node=n2 maps=1
      0 JobSubmitted job=job0 maps=64:n1;64:n2
      0 decide
      -> launch job0.m.0.0 n1 node
      -> launch job0.m.1.0 n2 node
      1000000 NodeJoined node=n3 maps=1
      1000000 JobSubmitted job=job1 maps=64:n1;64:n2
      1000000 decide
      6000000 AttemptSucceeded attempt=job0.m.0.0
      6000000 decide
      -> launch job1.m.0.0 n1 node
      10999999 decide
      11000000 decide
      -> launch job1.m.1.0 n3 rack
    )");
  }
}

TEST_F(LsapTest, ReducesGoAsInFifo) {
  for (const char* name : {"dl", "lsap", "lsap-fair"}) {
    EXPECT_PLAYS(&Make(name), R"(
      0 NodeJoined node=n1 reduces=1
      0 NodeJoined node=n2 reduces=1
      1 JobSubmitted job=job1 reduces=1 priority=LOW
      1 JobSubmitted job=job2 reduces=2
      1 decide
      -> launch job2.r.0.0 n1
      -> launch job2.r.1.0 n2
    )");
  }
}

// The two maps away from their data: one on n3 by the measured link, none by the slow one.
TEST_F(LsapTest, MeasuredBandwidthsDecideWhoGoesWhere) {
  EXPECT_PLAYS(&Make("lsap"), R"(
    0 NodeJoined node=n1 rack=r1
    0 NodeJoined node=n2 rack=r1
    0 NodeJoined node=n3 rack=r1 maps=1
    0 NodeJoined node=n4 rack=r1 maps=1
    1 BandwidthMeasured from=n1 to=n3 bytes_per_second=1000000
    1 BandwidthMeasured from=n2 to=n4 bytes_per_second=1000000
    1 BandwidthMeasured from=n1 to=n4 bytes_per_second=90000000
    1 BandwidthMeasured from=n2 to=n3 bytes_per_second=90000000
    2 JobSubmitted job=job1 maps=64000000:n1;64000000:n2
    2 decide
    -> launch job1.m.1.0 n3 rack
    -> launch job1.m.0.0 n4 rack
  )");
}

// 40 slots, one of which frees while work arrives: below 5%, so it may wait 200 ms for another.
TEST_F(LsapTest, SlotsGatherWhenFewAreFree) {
  Engine& engine = Make("lsap");
  std::string maps;
  for (int n = 0; n < 39; ++n) maps += "1:n1;";
  EXPECT_PLAYS(&engine, std::string(R"(
    0 NodeJoined node=n1 rack=r1 maps=39
    0 NodeJoined node=n2 rack=r2 maps=1
    0 NodeJoined node=n3 rack=r3 maps=1
    1 JobSubmitted job=job1 maps=)") +
                            maps + "1:n2");
  Effects effects;
  engine.Decide(1, &effects);
  EXPECT_EQ(effects.size(), 40u);  // of 41 slots: one, 2.4%, is left, on n3
  EXPECT_EQ(engine.NextWake(), std::nullopt);
  EXPECT_PLAYS(&engine, R"(
    1000 JobSubmitted job=job2 maps=1:n3,n2;1:n3
    1000 decide
  )");
  EXPECT_EQ(engine.NextWake(), 201'000);
  EXPECT_PLAYS(&engine, R"(
    150000 AttemptSucceeded attempt=job1.m.39.0
    150000 decide
    201000 decide
    -> launch job2.m.0.0 n2 node
    -> launch job2.m.1.0 n3 node
  )");
  EXPECT_EQ(engine.NextWake(), std::nullopt);
}

TEST_F(LsapTest, AWindowOfZeroNeverWaitsAndASetOneIsKept) {
  Settings settings;
  settings.Of<LsapSettings>().batch_window = 0;
  const char* script = R"(
    0 NodeJoined node=n1 maps=1
    5 JobSubmitted job=job1 maps=1:n1
    5 decide
    -> launch job1.m.0.0 n1 node
  )";
  EXPECT_PLAYS(&Make("lsap", settings), script);
  settings.Of<LsapSettings>().batch_window = 100;
  Engine& engine = Make("lsap", settings);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    5 JobSubmitted job=job1 maps=1:n1
    7 decide
  )");
  EXPECT_EQ(engine.NextWake(), 105);  // the map waits since 5
  EXPECT_PLAYS(&engine, R"(
    105 decide
    -> launch job1.m.0.0 n1 node
  )");
}

// a runs 3 of 3 maps, b none; equal weights; 5 slots, so b has 2 to occupy and a none.
TEST_F(LsapTest, FairnessOrLocalityByAlpha) {
  const std::string before = R"(
    0 NodeJoined node=n1 rack=r1 maps=3
    0 JobSubmitted job=job1 pool=a maps=64000000:n1;64000000:n1;64000000:n1;64000000:n2;64000000:n3
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    -> launch job1.m.2.0 n1 node
    1 JobSubmitted job=job2 pool=b maps=64000000:n1;64000000:n1
    1 NodeJoined node=n2 rack=r2 maps=1
    1 NodeJoined node=n3 rack=r2 maps=1
    1 decide
  )";
  Settings settings;
  settings.Of<LsapSettings>().alpha = 1;
  EXPECT_PLAYS(&Make("lsap-fair", settings), before + R"(
    -> launch job2.m.0.0 n2 datacenter
    -> launch job2.m.1.0 n3 datacenter
  )");
  settings.Of<LsapSettings>().alpha = 1000;
  EXPECT_PLAYS(&Make("lsap-fair", settings), before + R"(
    -> launch job1.m.3.0 n2 node
    -> launch job1.m.4.0 n3 node
  )");
}

// Of 5 slots 3.75 are due to a, which runs 1, and 1.25 to b. So FC is 133 for two maps of a and 250 for the others, 0
// for one map of b and 750 for the others.
TEST_F(LsapTest, AGroupGetsItsShareAndNotAllThatIsFree) {
  Settings settings;
  settings.Named<PoolSettings>()["a"].weight = 3;
  settings.Of<LsapSettings>().beta = 1000;
  EXPECT_PLAYS(&Make("lsap-fair", settings), R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 pool=a maps=1:n1;1:n1;1:n1;1:n1;1:n1
    0 decide
    -> launch job1.m.0.0 n1 node
    1 JobSubmitted job=job2 pool=b maps=1:n1;1:n1;1:n1;1:n1;1:n1
    1 NodeJoined node=n2 maps=4
    1 decide
    -> launch job1.m.1.0 n2 rack
    -> launch job1.m.2.0 n2 rack
    -> launch job1.m.3.0 n2 rack
    -> launch job2.m.0.0 n2 rack
  )");
}

// All slots are due to it, so no map of it is beyond its share and cheaper for that.
TEST_F(LsapTest, AGroupThatIsAloneTakesLocalMapsFirst) {
  EXPECT_PLAYS(&Make("lsap-fair", {}), R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 JobSubmitted job=job1 pool=a maps=1:n1;1:n2;1:n2;1:n1
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    1 AttemptSucceeded attempt=job1.m.0.0
    1 decide
    -> launch job1.m.3.0 n1 node
  )");
}

// Nothing runs. Of 2 slots 1.8 are due to b, so one map of b costs 0 and the others 10; those of a cost 90, but after
// 12 half-lives 0.02.
TEST_F(LsapTest, AgeingKeepsATaskFromStarving) {
  for (const bool ages : {true, false}) {
    Settings settings;
    settings.Of<LsapSettings>().ageing_half_life = ages ? 10 * kSecond : 100'000 * kSecond;
    settings.Named<PoolSettings>()["b"].weight = 9;
    EXPECT_PLAYS(&Make("lsap-fair", settings), std::string(R"(
      0 NodeJoined node=n1 maps=1
      0 JobSubmitted job=job1 pool=a maps=1:n1;1:n1
      0 JobSubmitted job=job2 pool=b maps=1:n1
      0 decide
      -> launch job2.m.0.0 n1 node
      120000000 JobSubmitted job=job3 pool=b maps=1:n1;1:n1
      120000000 AttemptSucceeded attempt=job2.m.0.0
      -> ended job2 succeeded
      120000000 NodeJoined node=n2 maps=1
      120000000 decide
      -> launch job3.m.0.0 n1 node
    )") + (ages ? "-> launch job1.m.0.0 n2 rack" : "-> launch job3.m.1.0 n2 rack"));
  }
}

// Nodes with 4 slots each, half of them idle on average, 3 replicas, as many maps as idle slots (paper: 83% and 97%).
double LocalShare(const std::string& scheduler, std::uint32_t nodes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string why;
  Engine engine({}, MakePolicy(scheduler, {}, &why));
  std::vector<std::uint32_t> idle(nodes);
  for (std::uint32_t n = 0; n < 2 * nodes;) {
    std::uint32_t& slots = idle[random() % nodes];
    if (slots == 4) continue;
    ++slots;
    ++n;
  }
  Effects effects;
  for (std::uint32_t id = 0; id < nodes; ++id) {
    (void)engine.Apply(0, NodeJoined{NodeId{id}, "r" + std::to_string(id / 20), "", {idle[id], 0}}, &effects);
  }
  JobSpec spec;
  for (std::uint32_t n = 0; n < 2 * nodes; ++n) {
    MapInput input{64 << 20, {}};
    while (input.replicas.size() < 3) {
      const NodeId node{static_cast<std::uint32_t>(random() % nodes)};
      if (std::find(input.replicas.begin(), input.replicas.end(), node) == input.replicas.end())
        input.replicas.push_back(node);
    }
    spec.maps.push_back(input);
  }
  (void)engine.Apply(0, JobSubmitted{JobId{1}, spec}, &effects);
  effects.clear();
  engine.Decide(0, &effects);
  EXPECT_EQ(effects.size(), 2 * nodes);
  return engine.Progress(JobId{1})->launched_at[0] / (2.0 * nodes);
}

TEST_F(LsapTest, LocalityOfThePaper) {
  for (const std::uint32_t nodes : {100u, 300u, 500u}) {
    double dl = 0, lsap = 0, uniform = 0;
    constexpr int kRuns = 5;
    for (int seed = 1; seed <= kRuns; ++seed) {
      dl += LocalShare("dl", nodes, seed) / kRuns;
      lsap += LocalShare("lsap", nodes, seed) / kRuns;
      uniform += LocalShare("lsap-uniform", nodes, seed) / kRuns;
    }
    SCOPED_TRACE(testing::Message() << nodes << " nodes, seeds 1 to " << kRuns);
    EXPECT_NEAR(dl, 0.83, 0.04);
    EXPECT_NEAR(lsap, 0.97, 0.03);
    EXPECT_NEAR(uniform, 0.97, 0.03);
    EXPECT_GE(uniform, lsap);  // it counts nothing but local maps
  }
}

}  // namespace
}  // namespace millrace::sched
