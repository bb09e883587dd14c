// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/usage/integral.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/offering/reference.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/settings_file.h"
#include "schedulers/policies/usage/reference.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/policies/usage/endless_work.h"
#include "tests/schedulers/policies/usage/play_to_both.h"
#include "tests/schedulers/same_decisions.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

PoolSettings Burst(std::uint32_t strong, std::uint32_t flow, std::uint32_t burst) {
  PoolSettings pool;
  pool.min_maps = strong, pool.flow_maps = flow, pool.burst_maps = burst;
  pool.integral = IntegralKind::kBurst;
  return pool;
}

PoolSettings Relaxed(std::uint32_t flow) {
  PoolSettings pool;
  pool.flow_maps = flow;
  pool.integral = IntegralKind::kRelaxed;
  return pool;
}

std::unique_ptr<Policy> MakeIntegral(const std::string& name, const Settings& settings) {
  std::string why;
  auto policy = MakePolicy(name, settings, &why);
  EXPECT_NE(policy, nullptr) << why;
  return policy;
}

// Returns a fact of the view, such as "volume of ads (map slots)", in us.
Micros VolumeOf(const Engine& engine, const std::string& pool, Micros now) {
  const PolicyView view = engine.policy().View(engine.state(), now);
  for (const Fact& fact : view.facts) {
    if (fact.name == "volume of " + pool + " (map slots)") return std::llround(*fact.number * 1e6);
  }
  ADD_FAILURE() << "nothing of " << pool;
  return 0;
}

// Four slots, two pools. Both want all slots at 100; fair sharing gives two each. ads has gathered 1 slot x 100 us
// until then, so it is guaranteed three. It uses three from there on and grows by 1 - 3 = -2 slots, so that the volume
// of 100 lasts until 150. Then fair sharing is back.
TEST(IntegralTest, ABurstPoolHasItsSlotsUntilItsVolumeHasRunOut) {
  Settings settings;
  settings.Named<PoolSettings>()["ads"] = Burst(0, 1, 3);
  Engine engine({}, MakeIntegral("integral", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    100 JobSubmitted job=job1 user=ads maps=1:;1:;1:;1:;1:;1:;1:;1:
    100 JobSubmitted job=job2 user=logs maps=1:;1:;1:;1:;1:;1:;1:;1:
    # Below its guarantee: ads, three times.
    100 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job2.m.0.0 n1 off
  )");
  EXPECT_EQ(VolumeOf(engine, "ads", 100), 100);
  EXPECT_EQ(engine.NextWake(), 150);
  EXPECT_PLAYS(&engine, R"(
    149 AttemptSucceeded attempt=job1.m.0.0
    # ads runs two of its three.
    149 decide
    -> launch job1.m.3.0 n1 off
    150 decide
    150 AttemptSucceeded attempt=job1.m.1.0
    # ads runs two of its share of two, and logs one.
    150 decide
    -> launch job2.m.1.0 n1 off
  )");
}

// A volume begins at 0, and is at most the flow for the window and at least minus the flow for the time of debt.
TEST(IntegralTest, AVolumeHasAnEndOnBothSides) {
  Settings settings;
  settings.Named<PoolSettings>()["ads"] = Burst(1, 2, 3);
  settings.Of<IntegralSettings>() = {100, 10};
  Engine engine({}, MakeIntegral("integral", settings));
  EXPECT_PLAYS(&engine, R"(
    1000 NodeJoined node=n1 maps=9
  )");
  EXPECT_EQ(VolumeOf(engine, "ads", 1000), 0) << "nothing was gathered before";
  EXPECT_EQ(VolumeOf(engine, "ads", 1030), 60);
  EXPECT_EQ(VolumeOf(engine, "ads", 1500), 200);
  EXPECT_PLAYS(&engine, R"(
    1500 JobSubmitted job=job1 user=ads maps=1:;1:;1:;1:;1:;1:;1:
    1500 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job1.m.5.0 n1 off
    -> launch job1.m.6.0 n1 off
  )");
  // Seven run, six above the strong guarantee: 200 + (2 - 6) x 30, and so on until -2 x 10.
  EXPECT_EQ(VolumeOf(engine, "ads", 1530), 80);
  EXPECT_EQ(VolumeOf(engine, "ads", 1552), -8);
  EXPECT_EQ(VolumeOf(engine, "ads", 1600), -20);
  EXPECT_PLAYS(&engine, R"(
    1600 AttemptSucceeded attempt=job1.m.0.0
    1600 AttemptSucceeded attempt=job1.m.1.0
    1600 AttemptSucceeded attempt=job1.m.2.0
    1600 AttemptSucceeded attempt=job1.m.3.0
    1600 AttemptSucceeded attempt=job1.m.4.0
  )");
  // Two run, one of them above the strong guarantee: -20 + (2 - 1) x 15.
  EXPECT_EQ(VolumeOf(engine, "ads", 1615), -5);
}

// Ten slots. prod has one by its strong guarantee, and wants one. The burst pool has volume, and wants three of its
// four. So 10 - 1 - 3 = 6 are left for the relaxed pools, by their flows of 2 and 1: four and two. The pool without any
// guarantee gets nothing before these have theirs.
TEST(IntegralTest, RelaxedPoolsShareWhatStrongAndBurstGuaranteesLeave) {
  Settings settings;
  auto& pools = settings.Named<PoolSettings>();
  pools["prod"].min_maps = 5;
  pools["burst"] = Burst(0, 1, 4);
  pools["x"] = Relaxed(2);
  pools["y"] = Relaxed(1);
  Engine engine({}, MakeIntegral("integral", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=10
    100 JobSubmitted job=job1 user=prod maps=1:
    100 JobSubmitted job=job2 user=burst maps=1:;1:;1:
    100 JobSubmitted job=job3 user=x maps=1:;1:;1:;1:;1:;1:;1:;1:;1:;1:
    100 JobSubmitted job=job4 user=y maps=1:;1:;1:;1:;1:;1:;1:;1:;1:;1:
    100 JobSubmitted job=job5 user=other maps=1:;1:;1:;1:;1:;1:;1:;1:;1:;1:
    # By running / guarantee, ties by name: burst prod x y, then x 1/4, burst 1/3, x and y 2/4 = 1/2, burst 2/3, x 3/4.
    100 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job4.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job3.m.2.0 n1 off
    -> launch job4.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job3.m.3.0 n1 off
  )");
  const PolicyView view = engine.policy().View(engine.state(), 100);
  std::map<std::string, std::uint32_t> minima;
  for (const GroupView& group : view.groups) minima[group.name] = group.slots[TaskKind::kMap].minimum;
  EXPECT_EQ(minima,
            (std::map<std::string, std::uint32_t>{{"burst", 3}, {"other", 0}, {"prod", 5}, {"x", 4}, {"y", 2}}));
}

// Six slots, of which one is prod's. Bursts of 6 and 3 do not fit into the five that are left: floor(5 x 6/9) = 3 and
// floor(5 x 3/9) = 1.
TEST(IntegralTest, BurstsThatDoNotFitAreCutInProportion) {
  Settings settings;
  auto& pools = settings.Named<PoolSettings>();
  pools["prod"].min_maps = 1;
  pools["x"] = Burst(0, 1, 6);
  pools["y"] = Burst(0, 1, 3);
  Engine engine({}, MakeIntegral("integral", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=6
    100 JobSubmitted job=job1 user=prod maps=1:;1:;1:
    100 JobSubmitted job=job2 user=x maps=1:;1:;1:;1:;1:;1:
    100 JobSubmitted job=job3 user=y maps=1:;1:;1:;1:;1:;1:
    # Below their guarantees: prod, x, y, x 1/3, x 2/3. Then by shares of 1.5, 3 and 1.5: prod before y, by name.
    100 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job1.m.1.0 n1 off
  )");
}

// bob has all four slots when ads comes, which has gathered 4 x 60 s and is guaranteed three. With the clock of minima
// at 1 s, three are taken back.
TEST(IntegralTest, PreemptionTakesBackWhatIsGuaranteed) {
  Settings settings;
  settings.Named<PoolSettings>()["ads"] = Burst(0, 4, 3);
  settings.Of<FairSettings>().min_share_timeout = kSecond;
  Engine engine({}, MakeIntegral("integral+preempt", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=bob maps=1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    60000000 JobSubmitted job=job2 user=ads maps=1:;1:;1:;1:
    60000000 decide
    61000000 decide
    -> preempt job1.m.3.0 n1: pool ads is below its minimum share
    -> preempt job1.m.2.0 n1: pool ads is below its minimum share
    -> preempt job1.m.1.0 n1: pool ads is below its minimum share
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
  )");
}

// A scheduler that takes over knows nothing of the volumes, but counts what runs: here three above the guarantee of
// one.
TEST(IntegralTest, TakesOverARunningClusterWithoutVolumes) {
  Settings settings;
  settings.Named<PoolSettings>()["ads"] = Burst(1, 1, 3);
  Engine engine({}, MakeIntegral("fifo", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=ads maps=1:;1:;1:;1:;1:;1:
    0 JobSubmitted job=job2 user=bob maps=1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    1000 decide
  )");
  engine.SetPolicy(MakeIntegral("integral", settings));
  EXPECT_EQ(VolumeOf(engine, "ads", 1000), 0);
  EXPECT_EQ(VolumeOf(engine, "ads", 1010), -20);
  EXPECT_PLAYS(&engine, R"(
    1010 AttemptSucceeded attempt=job1.m.0.0
    1010 AttemptSucceeded attempt=job1.m.1.0
    1010 AttemptSucceeded attempt=job1.m.2.0
    # bob has none, ads one and its minimum: bob twice, then ads, whose share is two as bob's.
    1010 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
}

// A wake that changes nothing but the guarantee, at the first time at which the volume is above 0.
TEST(IntegralTest, AsksToBeCalledWhenAVolumeIsThere) {
  Settings settings;
  settings.Named<PoolSettings>()["ads"] = Burst(0, 2, 4);
  Engine engine({}, MakeIntegral("integral", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=3
    0 JobSubmitted job=job1 user=ads maps=1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    7 AttemptSucceeded attempt=job1.m.0.0
    7 AttemptSucceeded attempt=job1.m.1.0
    7 decide
    -> launch job1.m.3.0 n1 off
  )");
  EXPECT_EQ(VolumeOf(engine, "ads", 7), -7);
  EXPECT_EQ(engine.NextWake(), std::nullopt) << "2 - 2: it neither grows nor shrinks";
  EXPECT_PLAYS(&engine, R"(
    7 AttemptSucceeded attempt=job1.m.2.0
  )");
  EXPECT_EQ(engine.NextWake(), 15) << "-7 + 7 at 14";
}

// Ten slots, and tasks of 30 s. zed has a flow of 3 and bursts of 9, and hardly any weight: it has one slot when it has
// no volume, since a pool without any comes first, and grows by 3 - 1 slots, 60 s a round. With volume it has nine, and
// shrinks by 180 s. From 0, its volume at the ends of rounds is 60, -120, -60, 0, 60, ..: nine slots in one round of
// four, and one in the others, which is its flow, (9 + 3) / 4. Without debt it is 60, 0, 60, 0: (9 + 1) / 2.
TEST(IntegralTest, APoolHasItsFlowInTheLongRun) {
  for (const auto& [debt, tasks] : {std::pair(kHour, 240 * 3), std::pair(Micros{0}, 240 * 5)}) {
    Settings settings;
    settings.Named<PoolSettings>()["zed"] = Burst(0, 3, 9);
    settings.Named<PoolSettings>()["zed"].weight = 0.01;
    settings.Of<IntegralSettings>().debt = debt;
    EndlessWork work(MakeIntegral("integral", settings), 10, 30 * kSecond);
    work.Submit("bob");
    work.Submit("zed");
    work.Play(240);
    EXPECT_EQ(work.Tasks("zed"), tasks);
  }
}

TEST(IntegralTest, APoolThatGathersNothingOrGuaranteesNothingIsRefused) {
  const auto problem = [](const std::string& text) {
    const Result<Settings> settings = ParseSettings("[pools.ads]\n" + text, "f");
    return settings.ok() ? std::string() : settings.status().message();
  };
  EXPECT_EQ(problem("integral = \"relaxed\"\n"),
            "f:2: pools.ads.integral: gathers nothing without flow_maps or flow_reduces");
  EXPECT_EQ(problem("integral = \"burst\"\nflow_maps = 1\n"),
            "f:2: pools.ads.integral: is \"burst\" and guarantees nothing without burst_maps or burst_reduces");
  EXPECT_EQ(problem("integral = \"burst\"\nflow_maps = 1\nburst_maps = 3\n"), "");
  EXPECT_EQ(problem("integral = \"relaxed\"\nflow_reduces = 1\n"), "");
  EXPECT_EQ(problem("weight = 1\n[integral]\nwindow = \"0s\"\n"),
            "f:4: integral.window: is 0, with which no pool gathers anything");
}

// A volume that can never be above 0 is not waited for.
TEST(IntegralTest, AsksForNoCallInVain) {
  Settings settings;
  settings.Named<PoolSettings>()["ads"] = Burst(0, 2, 4);
  settings.Of<IntegralSettings>() = {0, 10};
  Engine engine({}, MakeIntegral("integral", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 user=ads maps=1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
  )");
  EXPECT_EQ(engine.NextWake(), std::nullopt);
}

Settings SettingsWithFlows(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  const auto pool = [&] {
    PoolSettings drawn;
    drawn.weight = 0.5 * (1 + below(4));
    drawn.integral = static_cast<IntegralKind>(below(3));
    drawn.min_maps = below(3) * below(2), drawn.min_reduces = below(3) * below(2);
    drawn.flow_maps = below(4), drawn.flow_reduces = below(3);
    drawn.burst_maps = below(6), drawn.burst_reduces = below(4);
    if (below(4) == 0) drawn.max_maps = std::max(drawn.min_maps, 1 + below(4));
    if (below(4) == 0) drawn.max_running_jobs = 1 + below(2);
    drawn.order = static_cast<PoolOrder>(below(4));
    return drawn;
  };
  Settings settings;
  if (below(2) == 0) settings.Of<PoolDefaults>().pool = pool();
  for (const char* name : {"pool0", "pool1", "pool2"}) {
    if (below(4) > 0) settings.Named<PoolSettings>()[name] = pool();
  }
  const Micros times[] = {0, 5, kSecond, kHour};
  settings.Of<IntegralSettings>() = {1 + times[below(4)], times[below(4)]};
  return settings;
}

TEST(IntegralTwins, DecideTheSame) {
  const char* const many = std::getenv("MILLRACE_HISTORIES");
  const unsigned rounds = many == nullptr ? 200 : static_cast<unsigned>(std::stoul(many));
  const unsigned first = std::random_device()();
  for (unsigned seed = first; seed - first < rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    const bool ccs = seed % 2 == 1;
    options.scheduler = ccs ? "integral+ccs" : "integral";
    options.settings = SettingsWithFlows(seed);
    options.conserving = false;
    options.gives_all_permits = false;
    History history(seed, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
    std::unique_ptr<CopyGate> gate;
    if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
    const auto& [window, debt] = options.settings.Of<IntegralSettings>();
    auto order =
        std::make_unique<IntegralReference>(options.settings, window, debt, ccs ? kComputePermit : kReduceSlot);
    auto reference = std::make_unique<GreedyReference>(std::move(order), Admission(nullptr, std::move(gate)));
    ExpectSameDecisions(history.records(), MakePolicyOf(options), std::move(reference));
    ASSERT_FALSE(HasFailure());
  }
}

// The volumes themselves, at each step, and of a clone that was made anywhere on the way, with what it guarantees.
TEST(IntegralTwins, HaveTheSameVolumes) {
  for (unsigned seed = std::random_device()(), round = 0; round < 100; ++round, ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Settings settings = SettingsWithFlows(seed);
    const auto& [window, debt] = settings.Of<IntegralSettings>();
    IntegralReference twin(settings, window, debt);
    PlayToBoth<IntegralOrder>(seed, settings, &twin, [&](const IntegralOrder& order, const ClusterState& state) {
      const auto clone = order.Clone(state);
      ExpectSameGroups(order.View(state, state.now()), clone->View(state, state.now()));
      for (const char* pool : {"pool0", "pool1", "pool2"}) {
        for (const TaskKind kind : kTaskKinds) {
          const auto volume = order.Volume(pool, kind, state.now());
          EXPECT_EQ(volume.value_or(0), twin.Volume(state, pool, kind)) << pool;
          EXPECT_EQ(static_cast<const IntegralOrder&>(*clone).Volume(pool, kind, state.now()), volume) << pool;
        }
      }
    });
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace millrace::sched
