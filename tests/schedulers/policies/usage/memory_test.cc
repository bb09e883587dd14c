// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/usage/memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
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

// A sample is as long as the half-life, 10 s, so that keep is one half.
Settings Halving() {
  Settings settings;
  settings.Of<MemorySettings>() = {10 * kSecond, 1, 10 * kSecond};
  return settings;
}

std::unique_ptr<Policy> MakeWithMemory(const std::string& name, const Settings& settings) {
  std::string why;
  auto policy = MakePolicy(name, settings, &why);
  EXPECT_NE(policy, nullptr) << why;
  return policy;
}

double UsedBy(const Engine& engine, const std::string& pool) {
  for (const Fact& fact : engine.policy().View(engine.state(), 0).facts) {
    if (fact.name == "used by " + pool + " (of the map slots)") return *fact.number;
  }
  ADD_FAILURE() << "nothing of " << pool;
  return 0;
}

// b alone has all four slots for 10 s, so U' of b is 1. Then a comes. W' is 1/2 for both. b has 1/2 + (1/2 - 1) = 0,
// and a 1/2 + 1/2 less what its launches cost: 10 s of 40 s each.
//   nobody runs: a, by name; U' of a 1/4, its weight 3/4
//   b runs none: b;          its weight 2^-20
//   a 1 / (3/4), b 1 / 2^-20: a; U' of a 1/2, its weight 1/2
//   a 2 / (1/2), b 1 / 2^-20: a
// Fair sharing would give two to each.
//
// At 20 s used(a) = 30 s, used(b) = 40 s / 2 + 10 s = 30 s, potential = 40 s / 2 + 40 s = 60 s. Both have used half:
//   a, by name; U' of a 4/6, weight 1/2 - 1/6 = 1/3
//   b; the same; then a again, by name, to 1/2 - 2/6 = 1/6; then b, with 1 / (1/3) before 2 / (1/6)
TEST(MemoryTest, WhoHasUsedMoreGetsLessUntilTheOthersHaveCaughtUp) {
  Engine engine({}, MakeWithMemory("fair+memory", Halving()));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=b maps=1:;1:;1:;1:;1:;1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    10000000 AttemptSucceeded attempt=job1.m.0.0
    10000000 AttemptSucceeded attempt=job1.m.1.0
    10000000 AttemptSucceeded attempt=job1.m.2.0
    10000000 AttemptSucceeded attempt=job1.m.3.0
    10000000 JobSubmitted job=job2 user=a maps=1:;1:;1:;1:;1:;1:;1:
  )");
  EXPECT_EQ(UsedBy(engine, "b"), 1);
  EXPECT_EQ(UsedBy(engine, "a"), 0);
  EXPECT_PLAYS(&engine, R"(
    10000000 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
  )");
  EXPECT_EQ(UsedBy(engine, "b"), 1.25);
  EXPECT_EQ(UsedBy(engine, "a"), 0.75);
  EXPECT_EQ(engine.NextWake(), 20 * kSecond) << "the end of the sample";
  EXPECT_PLAYS(&engine, R"(
    20000000 AttemptSucceeded attempt=job2.m.0.0
    20000000 AttemptSucceeded attempt=job2.m.1.0
    20000000 AttemptSucceeded attempt=job2.m.2.0
    20000000 AttemptSucceeded attempt=job1.m.4.0
  )");
  EXPECT_EQ(UsedBy(engine, "a"), 0.5);
  EXPECT_EQ(UsedBy(engine, "b"), 0.5);
  EXPECT_PLAYS(&engine, R"(
    20000000 decide
    -> launch job2.m.3.0 n1 off
    -> launch job1.m.5.0 n1 off
    -> launch job2.m.4.0 n1 off
    -> launch job1.m.6.0 n1 off
  )");
}

// The cluster was idle until 10 s. At 11 s b launches four tasks that last a second. No sample has ended since, but b
// is charged for four times 10 s of 40 s, and is at 0 when a comes.
TEST(MemoryTest, ABurstBetweenTwoSamplesIsCharged) {
  Engine engine({}, MakeWithMemory("fair+memory", Halving()));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    11000000 JobSubmitted job=job1 user=b maps=1:;1:;1:;1:;1:;1:;1:;1:
    11000000 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    12000000 AttemptSucceeded attempt=job1.m.0.0
    12000000 AttemptSucceeded attempt=job1.m.1.0
    12000000 AttemptSucceeded attempt=job1.m.2.0
    12000000 AttemptSucceeded attempt=job1.m.3.0
    12000000 JobSubmitted job=job2 user=a maps=1:;1:;1:;1:
    12000000 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
  )");
  // At 20 s b has used 4 x 1 s + 1 x 8 s, and a 3 x 8 s, of 40 s / 2 + 40 s.
  EXPECT_PLAYS(&engine, R"(
    20000000 decide
  )");
  EXPECT_NEAR(UsedBy(engine, "b"), 12.0 / 60, 1e-6);
  EXPECT_NEAR(UsedBy(engine, "a"), 24.0 / 60, 1e-6);
}

// What is guaranteed to b comes first, whatever it has used.
TEST(MemoryTest, MinimaComeFirst) {
  Settings settings = Halving();
  settings.Named<PoolSettings>()["b"].min_maps = 2;
  Engine engine({}, MakeWithMemory("fair+memory", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=b maps=1:;1:;1:;1:;1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    10000000 AttemptSucceeded attempt=job1.m.0.0
    10000000 AttemptSucceeded attempt=job1.m.1.0
    10000000 AttemptSucceeded attempt=job1.m.2.0
    10000000 AttemptSucceeded attempt=job1.m.3.0
    10000000 JobSubmitted job=job2 user=a maps=1:;1:;1:;1:
    10000000 decide
    -> launch job1.m.4.0 n1 off
    -> launch job1.m.5.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
}

// b holds all slots. Fair sharing would take two back for a; here the share of a is just below four, so three.
TEST(MemoryTest, PreemptionFollowsTheWeights) {
  Settings settings = Halving();
  settings.Of<FairSettings>().min_share_timeout = kSecond;
  settings.Of<FairSettings>().fair_share_timeout = kSecond;
  Engine engine({}, MakeWithMemory("fair+memory+preempt", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=b maps=1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    10000000 JobSubmitted job=job2 user=a maps=1:;1:;1:;1:
    10000000 decide
    11000000 decide
    -> preempt job1.m.3.0 n1: pool a is below its fair share
    -> preempt job1.m.2.0 n1: pool a is below its fair share
    -> preempt job1.m.1.0 n1: pool a is below its fair share
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
  )");
}

// A scheduler that takes over knows nothing of the past: two and two, as under `fair`.
TEST(MemoryTest, TakesOverARunningClusterWithoutAPast) {
  Engine engine({}, MakeWithMemory("fifo", {}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=b maps=1:;1:;1:;1:;1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    15000000 JobSubmitted job=job2 user=a maps=1:;1:;1:;1:
  )");
  engine.SetPolicy(MakeWithMemory("fair+memory", Halving()));
  EXPECT_EQ(UsedBy(engine, "b"), 0);
  EXPECT_PLAYS(&engine, R"(
    16000000 AttemptSucceeded attempt=job1.m.0.0
    16000000 AttemptSucceeded attempt=job1.m.1.0
    16000000 AttemptSucceeded attempt=job1.m.2.0
    16000000 AttemptSucceeded attempt=job1.m.3.0
    16000000 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job1.m.5.0 n1 off
  )");
  // The first sample ends at 25 s: four for a second, then two for 9 s, of 40 s.
  EXPECT_PLAYS(&engine, R"(
    25000000 decide
  )");
  EXPECT_NEAR(UsedBy(engine, "b"), 22.0 / 40, 1e-6);
  EXPECT_NEAR(UsedBy(engine, "a"), 18.0 / 40, 1e-6);
}

// Four slots, and tasks of 10 s. b is alone for 40 rounds, and then a comes for 200. Returns how many tasks more b has
// run than a.
int MoreThatTheFirstHasRun(const std::string& scheduler) {
  Settings settings;
  settings.Of<MemorySettings>() = {kHour, 4, 10 * kSecond};
  EndlessWork work(MakeWithMemory(scheduler, settings), 4, 10 * kSecond);
  work.Submit("b");
  work.Play(40);
  work.Submit("a");
  work.Play(200);
  return work.Tasks("b") - work.Tasks("a");
}

// Under `fair` a never catches up with the 160 tasks that b ran alone. With a memory a has three slots of four as long
// as its weight is more than twice that of b: 1/2 + 4 (1/2 - U'(a)) > 2 (1/2 + 4 (1/2 - U'(b))), which is U'(b) - U'(a)
// > 1/12, as U' sum to 1. Whole slots allow no more, so b stays ahead by about a twelfth of what there was by then.
TEST(MemoryTest, PoolsOfOneWeightEvenOutInTheLongRun) {
  EXPECT_EQ(MoreThatTheFirstHasRun("fair"), 160);
  EXPECT_LT(MoreThatTheFirstHasRun("fair+memory"), 50);
}

TEST(MemoryTest, AMemoryThatForgetsAtOnceIsRefused) {
  const auto problem = [](const std::string& text) {
    const Result<Settings> settings = ParseSettings("[memory]\n" + text, "f");
    return settings.ok() ? std::string() : settings.status().message();
  };
  EXPECT_EQ(problem("half_life = \"0s\"\n"),
            "f:2: memory.half_life: is 0, with which nothing is remembered; leave +memory out for that");
  EXPECT_EQ(problem("half_life = \"30s\"\n"), "f:2: memory.half_life: is shorter than memory.sample");
  EXPECT_EQ(problem("sample = \"0s\"\n"), "f:2: memory.sample: is shorter than 1s");
  EXPECT_NE(problem("k = 0\n"), "");
  EXPECT_EQ(problem("half_life = \"1h\"\nk = 0.5\nsample = \"10s\"\n"), "");
  // Not from a file, either.
  Settings settings;
  settings.Of<MemorySettings>().half_life = 0;
  std::string why;
  EXPECT_EQ(MakePolicy("fair+memory", settings, &why), nullptr);
  EXPECT_EQ(why, "memory.half_life: is 0, with which nothing is remembered; leave +memory out for that");
  EXPECT_NE(MakePolicy("fair", settings, &why), nullptr) << "it reads no half-life";
}

Settings SettingsWithMemory(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  Settings settings;
  for (const char* name : {"pool0", "pool1", "pool2"}) {
    if (below(4) == 0) continue;
    PoolSettings& pool = settings.Named<PoolSettings>()[name];
    pool.weight = 0.5 * (1 + below(4));
    pool.min_maps = below(3) * below(2), pool.min_reduces = below(3) * below(2);
    if (below(4) == 0) pool.max_maps = 2 + below(4);
    if (below(4) == 0) pool.max_running_jobs = 1 + below(2);
    pool.order = static_cast<PoolOrder>(below(4));
  }
  auto& memory = settings.Of<MemorySettings>();
  memory.sample = (1 + below(3)) * kSecond;
  memory.half_life = memory.sample * (1 + below(3) * below(40));
  const double ks[] = {0.25, 1, 3, 100};
  memory.k = ks[below(4)];
  return settings;
}

MemoryReference::Terms MemoryTermsOf(const Settings& settings) {
  const MemorySettings& memory = settings.Of<MemorySettings>();
  return {memory.half_life, memory.sample, memory.k};
}

TEST(MemoryTwins, DecideTheSame) {
  const char* const many = std::getenv("MILLRACE_HISTORIES");
  const unsigned rounds = many == nullptr ? 200 : static_cast<unsigned>(std::stoul(many));
  const unsigned first = std::random_device()();
  for (unsigned seed = first; seed - first < rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    const bool ccs = seed % 2 == 1;
    options.scheduler = ccs ? "fair+memory+ccs" : "fair+memory";
    options.settings = SettingsWithMemory(seed);
    options.conserving = false;
    options.gives_all_permits = false;
    History history(seed, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
    std::unique_ptr<CopyGate> gate;
    if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
    auto order = std::make_unique<MemoryReference>(options.settings, MemoryTermsOf(options.settings),
                                                   ccs ? kComputePermit : kReduceSlot);
    auto reference = std::make_unique<GreedyReference>(std::move(order), Admission(nullptr, std::move(gate)));
    ExpectSameDecisions(history.records(), MakePolicyOf(options), std::move(reference));
    ASSERT_FALSE(HasFailure());
  }
}

// What was used, at each step, and of a clone that was made anywhere on the way, with its shares.
TEST(MemoryTwins, HaveUsedTheSame) {
  for (unsigned seed = std::random_device()(), round = 0; round < 100; ++round, ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Settings settings = SettingsWithMemory(seed);
    MemoryReference twin(settings, MemoryTermsOf(settings));
    PlayToBoth<MemoryOrder>(seed, settings, &twin, [&](const MemoryOrder& order, const ClusterState& state) {
      const auto clone = order.Clone(state);
      ExpectSameGroups(order.View(state, state.now()), clone->View(state, state.now()));
      for (const char* pool : {"pool0", "pool1", "pool2"}) {
        for (const SlotKind kind : kSlotKinds) {
          EXPECT_EQ(order.UsedPart(pool, kind), twin.UsedPart(pool, kind)) << pool;
          EXPECT_EQ(static_cast<const MemoryOrder&>(*clone).UsedPart(pool, kind), order.UsedPart(pool, kind)) << pool;
        }
      }
    });
    ASSERT_FALSE(HasFailure());
  }
}

// Nothing has been used, and nothing is launched between the ends of two samples before the first one: as `fair`.
TEST(MemoryTwins, WithoutAPastAllIsAsUnderFair) {
  for (unsigned seed = std::random_device()(), round = 0; round < 50; ++round, ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    options.scheduler = "fair";
    options.settings = SettingsWithMemory(seed);
    // Weights of 2^n are whole parts of their sum, so that nothing is rounded.
    options.settings.Named<PoolSettings>().clear();
    options.settings.Of<MemorySettings>() = {kHour, 1, kHour};
    options.conserving = false;
    options.gives_all_permits = false;
    History history(seed, options);
    for (int step = 0; step < 300 && !HasFailure(); ++step) history.Step();
    ASSERT_FALSE(HasFailure());
    ExpectSameDecisions(history.records(), MakePolicyOf(options), MakeWithMemory("fair+memory", options.settings));
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace millrace::sched
