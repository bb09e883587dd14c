// SPDX-License-Identifier: Apache-2.0
// Tests max_running_jobs_of_user: the engine withholds what a user has beyond it in a pool, under every scheduler.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"
#include "schedulers/policies/simple/edf.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

// Returns the settings of a file with this text.
Settings FileOf(const std::string& text) {
  Result<Settings> settings = ReadSettings(text);
  EXPECT_TRUE(settings.ok()) << settings.status().message();
  return *settings;
}

Engine EngineOf(const std::string& scheduler, const std::string& file) {
  std::string why;
  EngineOptions options;
  options.make_policy = SchedulerMaker(false);
  return Engine(options, MakePolicy(scheduler, FileOf(file), &why));
}

constexpr const char* kOneInEtl = "[pools.etl]\nmax_running_jobs_of_user = 1\n";

std::string WhyMapWaits(const Engine& engine, JobId job) {
  const PolicyView view = engine.View(0);
  for (const WaitView& wait : view.waits) {
    if (wait.job == job && wait.slot == kMapSlot) return InWords(wait, engine.state(), 0, view.group_noun);
  }
  return "nothing is said";
}

TEST(UserLimit, FurtherJobsOfTheUserWaitAndOthersDoNot) {
  Engine engine = EngineOf("fifo", kOneInEtl);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 user=alice pool=etl maps=1:
    1 JobSubmitted job=job2 user=alice pool=etl maps=1:
    1 JobSubmitted job=job3 user=bob pool=etl maps=1:
    1 JobSubmitted job=job4 user=alice pool=web maps=1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job4.m.0.0 n1 off
  )");
  EXPECT_EQ(WhyMapWaits(engine, JobId{2}), "user alice has 1 running job, the most that pool etl lets one user have");
  EXPECT_PLAYS(&engine, R"(
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
    2 decide
    -> launch job2.m.0.0 n1 off
  )");
}

TEST(UserLimit, HoldsForAPoolThatHasNoSectionAndForPoolsNamedByTheirUser) {
  Engine engine = EngineOf("fifo", "[pool_defaults]\nmax_running_jobs_of_user = 1\n");
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 user=alice maps=1:
    1 JobSubmitted job=job2 user=alice maps=1:
    1 JobSubmitted job=job3 user=alice pool=web maps=1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
  )");
  EXPECT_EQ(WhyMapWaits(engine, JobId{2}), "user alice has 1 running job, the most that pool alice lets one user have");
}

TEST(UserLimit, AHigherPriorityTakesThePlaceOfAJobThatHasNotBegun) {
  Engine engine = EngineOf("fifo", kOneInEtl);
  EXPECT_PLAYS(&engine, R"(
    1 JobSubmitted job=job1 user=alice pool=etl maps=1:
    1 JobSubmitted job=job2 user=alice pool=etl maps=1: priority=HIGH
  )");
  EXPECT_EQ(WhyMapWaits(engine, JobId{1}),
            "user alice has 1 job that runs or will run next, the most that pool etl lets one user have");
  EXPECT_PLAYS(&engine, R"(
    2 NodeJoined node=n1 maps=4
    2 decide
    -> launch job2.m.0.0 n1 off
    3 JobPrioritySet job=job1 priority=VERY_HIGH
    3 decide
    4 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    4 decide
    -> launch job1.m.0.0 n1 off
  )");
}

TEST(JobHeld, IsLaunchedOnlyOnceItIsReleased) {
  Engine engine = EngineOf("fifo", "");
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:
    1 JobSubmitted job=job2 maps=1:
    1 JobHeld job=job1
    1 decide
    -> launch job2.m.0.0 n1 off
    2 JobHeld job=job2
    -> refused
    3 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    3 decide
  )");
  EXPECT_EQ(WhyMapWaits(engine, JobId{1}), "it is held until it is released");
  EXPECT_PLAYS(&engine, R"(
    4 JobHeld job=job1
    -> refused
    4 JobHeld job=job1 held=0
    4 decide
    -> launch job1.m.0.0 n1 off
  )");
}

TEST(JobHeld, LeavesItsPlaceToAnotherJobOfItsUser) {
  Engine engine = EngineOf("fifo", kOneInEtl);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 user=alice pool=etl maps=1:
    1 JobSubmitted job=job2 user=alice pool=etl maps=1:
    1 JobHeld job=job1
    1 decide
    -> launch job2.m.0.0 n1 off
    2 JobHeld job=job1 held=0
    2 decide
    3 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    3 decide
    -> launch job1.m.0.0 n1 off
  )");
}

TEST(UserLimit, NoneMayRunWithALimitOfZero) {
  Engine engine = EngineOf("fifo", "[pools.etl]\nmax_running_jobs_of_user = 0\n");
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 user=alice pool=etl maps=1:
    1 decide
  )");
  EXPECT_EQ(WhyMapWaits(engine, JobId{1}), "pool etl lets user alice run no jobs");
}

TEST(UserLimit, ALimitThatIsLoweredStopsNoJobAndOneThatIsRaisedLetsJobsIn) {
  Engine engine = EngineOf("fifo", "[pools.etl]\nmax_running_jobs_of_user = 2\n");
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 user=alice pool=etl maps=1:;1:
    1 JobSubmitted job=job2 user=alice pool=etl maps=1: priority=HIGH
    1 JobSubmitted job=job3 user=alice pool=etl maps=1:
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
  )");
  Effects effects;
  ASSERT_TRUE(engine.Apply(2, SchedulerSet{"fair+delay", kOneInEtl}, &effects));
  EXPECT_EQ(WhyMapWaits(engine, JobId{3}), "user alice has 2 running jobs, and pool etl lets one user have 1");
  EXPECT_PLAYS(&engine, R"(
    3 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    3 decide
    -> launch job1.m.1.0 n1 off
  )");
  ASSERT_TRUE(engine.Apply(4, SchedulerSet{"fifo", ""}, &effects));
  EXPECT_PLAYS(&engine, R"(
    5 NodeJoined node=n2 maps=1
    5 decide
    -> launch job3.m.0.0 n2 off
  )");
}

// The journal of a master that starts again lacks the jobs that had ended. The jobs that had begun run on.
TEST(UserLimit, AReplayWithoutTheEndedJobsLetsTheSameJobsRun) {
  Engine engine = EngineOf("fifo", kOneInEtl);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job2 user=alice pool=etl maps=1:;1:
    1 JobSubmitted job=job3 user=alice pool=etl maps=1:;1:
    2 AttemptLaunched attempt=job3.m.0.0 node=n1
    3 decide
    -> launch job3.m.1.0 n1 off
  )");
  EXPECT_EQ(WhyMapWaits(engine, JobId{2}), "user alice has 1 running job, the most that pool etl lets one user have");
}

// A job that may not run takes no place in the pool, in a phase of FRESH or in front of edf.exclusive.
TEST(UserLimit, AWithheldJobKeepsNoPlaceFromOthers) {
  const std::string file =
      "[pools.etl]\nmax_running_jobs = 2\nmax_running_jobs_of_user = 1\n[fresh]\nk = 2\n[edf]\nexclusive = true\n";
  for (const char* scheduler : {"fair", "fair+delay+ccs+preempt", "fresh-static", "fresh-dynamic"}) {
    SCOPED_TRACE(scheduler);
    Engine engine = EngineOf(scheduler, file);
    EXPECT_PLAYS(&engine, R"(
      0 NodeJoined node=n1 maps=4
      1 JobSubmitted job=job1 user=alice pool=etl maps=1:
      1 JobSubmitted job=job2 user=alice pool=etl maps=1:
      1 JobSubmitted job=job3 user=bob pool=etl maps=1:
      1 decide
      -> launch job1.m.0.0 n1 off
      -> launch job3.m.0.0 n1 off
    )");
  }
  Engine engine = EngineOf("edf", file);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 user=alice pool=etl deadline=900000000 maps=1:
    1 JobSubmitted job=job2 user=alice pool=etl deadline=100000000 maps=1:
    1 decide
    -> launch job1.m.0.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
    2 decide
    -> launch job2.m.0.0 n1 off
  )");
}

std::vector<std::string> EveryExpression() {
  std::vector<std::string> all;
  for (const PolicyInfo& info : ListPolicies()) {
    for (unsigned parts = 0; parts < 1U << info.parts.size(); ++parts) {
      std::string& name = all.emplace_back(info.name);
      for (std::size_t part = 0; part < info.parts.size(); ++part) {
        if ((parts >> part & 1) != 0) name += '+' + info.parts[part];
      }
    }
  }
  return all;
}

// Random histories: no user has more jobs that have begun than the limit, and all jobs end.
TEST(UserLimit, HoldsUnderEveryScheduler) {
  for (const std::string& scheduler : EveryExpression()) {
    for (unsigned round = 0, base = std::random_device()(); round < 4; ++round) {
      SCOPED_TRACE(scheduler + ", seed " + std::to_string(base + round));
      HistoryOptions options;
      options.scheduler = scheduler;
      options.conserving = false;
      options.gives_all_permits = false;
      options.settings.Of<PoolDefaults>().pool.max_running_jobs_of_user = 1 + round % 2;
      if (round % 2 == 0) options.settings.Named<PoolSettings>()["pool1"].max_running_jobs = 2;
      options.settings.Of<FreshSettings>().k = round;
      options.settings.Of<EdfSettings>().exclusive = round % 2 == 1;
      History history(base + round, options);
      const auto check = [&] {
        std::map<std::pair<std::string, std::string>, std::uint32_t> begun;
        for (const QueueKey& key : history.engine().state().LiveJobs()) {
          const JobState& job = *history.engine().state().FindJob(key.job);
          if (job.started) ++begun[{job.spec.PoolName(), job.spec.user}];
        }
        for (const auto& [who, count] : begun) {
          const auto& pools = options.settings.Named<PoolSettings>();
          if (pools.contains(who.first)) continue;  // it has no such limit
          EXPECT_LE(count, 1 + round % 2) << who.second << " in " << who.first;
        }
      };
      for (int step = 0; step < 200 && !HasFailure(); ++step) {
        history.Step();
        check();
      }
      history.FinishAll();
      ASSERT_FALSE(HasFailure());
    }
  }
}

}  // namespace
}  // namespace millrace::sched
