// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/las.h"

#include <gtest/gtest.h>

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
#include "schedulers/policies/simple/reference.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/policies/fair/small_cluster.h"
#include "tests/schedulers/same_decisions.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Las(Micros quantum) {
  Settings settings;
  settings.Of<LasSettings>().quantum = quantum;
  std::string why;
  return MakePolicy("las", settings, &why);
}

// With a quantum of 10 us the levels end at 10, 20, 40 us of slot time.
TEST(LasTest, AJobDescendsALevelAsItsSlotTimeDoubles) {
  Engine engine({}, Las(10));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    5 JobSubmitted job=job2 maps=1:;1:;1:
    # job1 has had 12 us: level 1. job2 has had none: level 0.
    12 AttemptSucceeded attempt=job1.m.0.0
    12 decide
    -> launch job2.m.0.0 n1 off
    # job2 has had 5 us: still level 0.
    17 AttemptSucceeded attempt=job2.m.0.0
    17 decide
    -> launch job2.m.1.0 n1 off
    # job2 has had 10 us: level 1, where job1 was submitted first.
    22 AttemptSucceeded attempt=job2.m.1.0
    22 decide
    -> launch job1.m.1.0 n1 off
    # job1 has had 12 + 12 = 24 us: level 2.
    34 AttemptSucceeded attempt=job1.m.1.0
    34 decide
    -> launch job2.m.2.0 n1 off
  )");
}

TEST(LasTest, WithoutLevelsTheLeastSlotTimeAndThenTheFewestTasks) {
  Engine engine({}, Las(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 maps=1:;1:;1:
    0 JobSubmitted job=job2 maps=1:;1:;1:
    # Both have had nothing; after the first launch job1 runs one task, and job2 none.
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    # Both have had 10 us; job2 runs one task, and job1 none.
    10 AttemptSucceeded attempt=job1.m.0.0
    10 decide
    -> launch job1.m.1.0 n1 off
    # job2 has had 13 us, and job1 10 + 3 = 13; now job1 runs one task.
    13 AttemptSucceeded attempt=job2.m.0.0
    13 decide
    -> launch job2.m.1.0 n1 off
    # job1 has had 10 + 10 = 20 us, and job2 13 + 7 = 20.
    20 AttemptSucceeded attempt=job1.m.1.0
    20 decide
    -> launch job1.m.2.0 n1 off
  )");
}

// job1 has had 30 us of map slots and job2 20, both still without a reduce.
TEST(LasTest, SlotTimeOfMapsAndOfReducesCountsTogether) {
  Engine engine({}, Las(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 maps=1: reduces=1 slow_start=1
    0 JobSubmitted job=job2 maps=1: reduces=1 slow_start=1
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    20 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    30 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    30 NodeJoined node=n2 reduces=1
    30 decide
    -> launch job2.r.0.0 n2
  )");
}

// Whoever has used up the first quantum gets no slot while a job waits that has had nothing.
TEST(LasTest, AJobThatHasHadNothingIsServedBeforeOneThatIsPastItsQuantum) {
  constexpr Micros kQuantum = 20 * kSecond;
  unsigned seen = 0;
  for (unsigned round = 0, base = std::random_device()(); round < 50; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    std::mt19937 random(base + round);
    Settings settings;
    settings.Of<LasSettings>().quantum = kQuantum;
    SmallCluster cluster("las", settings, base + round);
    cluster.AddNodes(3, {2, 1});
    for (std::uint32_t job = 1; job <= 20; ++job) {
      const Work work{static_cast<Micros>(1 + random() % 30) * kSecond, kSecond, 0.3};
      cluster.Submit(static_cast<Micros>(random() % 200) * kSecond, JobId{job},
                     RandomJob(&random, 1 + static_cast<std::uint32_t>(random() % 20), 3, 1), work);
    }
    std::map<JobId, std::uint32_t> launched;
    cluster.watch = [&](Micros now) {
      const ClusterState& state = cluster.state();
      bool waits = false;
      for (const QueueKey& key : state.RunnableJobs(kMapSlot)) waits |= !state.FindJob(key.job)->started;
      for (const QueueKey& key : state.LiveJobs()) {
        const JobState& job = *state.FindJob(key.job);
        const std::uint32_t had = std::exchange(launched[key.job], job.progress.maps_done + job.progress.maps_running);
        if (launched[key.job] == had || !waits) continue;
        ++seen;
        EXPECT_LT(job.SlotTime(TaskKind::kMap, now), kQuantum) << "job" << key.job.value << " at " << now;
      }
    };
    cluster.Run();
    EXPECT_EQ(cluster.ended().size(), 20U);
  }
  EXPECT_GT(seen, 0U) << "no job ever waited";
}

TEST(LasTwins, DecideTheSame) {
  const char* const many = std::getenv("MILLRACE_HISTORIES");
  const unsigned rounds = many == nullptr ? 200 : static_cast<unsigned>(std::stoul(many));
  const unsigned first = std::random_device()();
  for (unsigned seed = first; seed - first < rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    const bool ccs = seed % 2 == 1;
    const Micros quantum = seed % 3 == 0 ? 0 : seed % 3 == 1 ? kSecond : 1 + seed % 50;
    options.scheduler = ccs ? "las+ccs" : "las";
    options.settings.Of<LasSettings>().quantum = quantum;
    History history(seed, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    ASSERT_FALSE(HasFailure());
    std::unique_ptr<CopyGate> gate;
    if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
    auto reference =
        std::make_unique<GreedyReference>(std::make_unique<LasReference>(quantum), Admission(nullptr, std::move(gate)));
    ExpectSameDecisions(history.records(), MakePolicyOf(options), std::move(reference));
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace millrace::sched
