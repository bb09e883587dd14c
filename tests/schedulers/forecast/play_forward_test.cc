// SPDX-License-Identifier: Apache-2.0
// Playing an engine forward: against starts and ends worked out by hand, against what an engine does whose tasks take
// the times that were foretold, and within bounds.
#include "schedulers/forecast/play_forward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/schedulers/every_scheduler.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Engine> EngineOf(const std::string& scheduler, const Settings& settings = {}) {
  std::string why;
  auto policy = MakePolicy(scheduler, settings, &why);
  EXPECT_NE(policy, nullptr) << why;
  return std::make_unique<Engine>(EngineOptions{}, std::move(policy));
}

Played PlayFrom(const Engine& engine, Micros now, const PlayBounds& bounds = {}) {
  const auto copy = engine.Clone();
  return PlayForward(*copy, now, TaskTimes(), bounds);
}

const PlayedJob& JobOf(const Played& played, std::uint32_t job) {
  const auto at = std::ranges::find(played.jobs, JobId{job}, &PlayedJob::job);
  EXPECT_NE(at, played.jobs.end());
  return *at;
}

TEST(PlayForward, CountsTheWavesOfMaps) {
  const auto engine = EngineOf("fifo");
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 maps=1:;1:;1:;1:;1: map_time=10000000
    0 JobSubmitted job=job2 maps=1:;1: map_time=4000000
    0 decide
  )");
  const Played played = PlayFrom(*engine, 3 * kSecond);
  // Two of job1's maps have run for 3 s of 10. Three waves end at 10, 20 and 30 s; the third leaves a slot at 20 s, in
  // which both maps of job2 run, one after the other.
  EXPECT_TRUE(JobOf(played, 1).started);
  EXPECT_EQ(JobOf(played, 1).end, 30 * kSecond);
  EXPECT_FALSE(JobOf(played, 2).started);
  EXPECT_EQ(JobOf(played, 2).start, 20 * kSecond);
  EXPECT_EQ(JobOf(played, 2).end, 28 * kSecond);
}

TEST(PlayForward, AReduceComputesAfterTheLastMap) {
  const auto engine = EngineOf("fifo");
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 JobSubmitted job=job1 maps=1:;1: reduces=1 slow_start=0 map_time=10000000 reduce_time=7000000
    0 decide
  )");
  // The reduce is launched at once and waits for the second map, which ends at 20 s.
  EXPECT_EQ(JobOf(PlayFrom(*engine, 0), 1).end, 27 * kSecond);
}

TEST(PlayForward, ALateTaskRunsOnForAsLongAsItIsLate) {
  const auto engine = EngineOf("fifo");
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1: map_time=10000000
    0 decide
  )");
  EXPECT_EQ(JobOf(PlayFrom(*engine, 10 * kSecond), 1).end, 11 * kSecond);
  EXPECT_EQ(JobOf(PlayFrom(*engine, 16 * kSecond), 1).end, 22 * kSecond);
}

TEST(PlayForward, SaysWhatItDoesNotKnow) {
  const auto engine = EngineOf("fifo");
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:
    0 JobSubmitted job=job2 maps=1: reduces=1 map_time=10000000 reduce_time=10000000
    0 decide
  )");
  const Played played = PlayFrom(*engine, 0);
  for (const std::uint32_t job : {1, 2}) {
    EXPECT_EQ(JobOf(played, job).end, std::nullopt);
    EXPECT_EQ(JobOf(played, job).why_no_end, Unforeseen::kBlind) << "job2 waits for job1";
  }
  EXPECT_EQ(JobOf(played, 2).why_no_start, Unforeseen::kBlind);
  Play(engine.get(), R"(
    8000000 AttemptSucceeded attempt=job1.m.0.0
    8000000 JobSubmitted job=job3 maps=1:;1:
    8000000 decide
  )");
  const Played later = PlayFrom(*engine, 8 * kSecond);
  // There is no slot for the reduce of job2, and never will be. The maps of job3 are taken to be like that of job1.
  EXPECT_EQ(JobOf(later, 2).why_no_end, Unforeseen::kStandsStill);
  EXPECT_EQ(JobOf(later, 3).start, 18 * kSecond);
  EXPECT_EQ(JobOf(later, 3).end, std::nullopt);
  EXPECT_EQ(JobOf(later, 3).why_no_end, Unforeseen::kNothingLearnt);
}

TEST(PlayForward, NothingIsToldOfAJobOnHold) {
  const auto engine = EngineOf("fifo");
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:
    0 JobHeld job=job1
    0 JobSubmitted job=job2 maps=1: map_time=10000000
    0 decide
  )");
  const Played played = PlayFrom(*engine, 0);
  EXPECT_EQ(JobOf(played, 1).start, std::nullopt);
  EXPECT_EQ(JobOf(played, 1).end, std::nullopt);
  EXPECT_EQ(JobOf(played, 1).why_no_start, Unforeseen::kHeld);
  EXPECT_EQ(JobOf(played, 1).why_no_end, Unforeseen::kHeld);
  EXPECT_EQ(JobOf(played, 2).end, 10 * kSecond) << "the unknown times of job1 say nothing against it";
  Play(engine.get(), R"(
    1000000 JobHeld job=job1 held=0
    1000000 JobHeld job=job2
    1000000 decide
  )");
  EXPECT_EQ(JobOf(PlayFrom(*engine, kSecond), 1).why_no_start, Unforeseen::kBlind) << "it is released";
}

TEST(PlayForward, AJobOfAPoolAtZeroIsUnknown) {
  Settings settings;
  settings.Named<PoolSettings>()["closed"].max_maps = 0;
  const auto engine = EngineOf("fair", settings);
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 pool=closed maps=1: map_time=10000000
    0 JobSubmitted job=job2 pool=open maps=1: map_time=10000000
    0 decide
  )");
  const Played played = PlayFrom(*engine, 0);
  EXPECT_EQ(JobOf(played, 1).start, std::nullopt);
  EXPECT_EQ(JobOf(played, 1).why_no_start, Unforeseen::kStandsStill);
  EXPECT_EQ(JobOf(played, 2).end, 10 * kSecond);
}

TEST(PlayForward, StopsAtABound) {
  const auto engine = EngineOf("fifo");
  std::string script = "0 NodeJoined node=n1 maps=1\n0 JobSubmitted job=job1 map_time=1000000 maps=1:";
  for (int map = 1; map < 1000; ++map) script += ";1:";
  Play(engine.get(), script + "\n0 decide");
  PlayBounds few;
  few.events = 300;
  const Played played = PlayFrom(*engine, 0, few);
  EXPECT_EQ(JobOf(played, 1).why_no_end, Unforeseen::kTooFar);
  EXPECT_LE(played.events, 302U);
  PlayBounds told;
  told.stop = [] { return true; };
  EXPECT_EQ(JobOf(PlayFrom(*engine, 0, told), 1).why_no_end, Unforeseen::kTooFar);
  PlayBounds near;
  near.ahead = 10 * kSecond;
  EXPECT_EQ(JobOf(PlayFrom(*engine, 0, near), 1).why_no_end, Unforeseen::kTooFar);
  EXPECT_EQ(JobOf(PlayFrom(*engine, 0), 1).end, 1000 * kSecond);
}

// A driver of its own, of map-only jobs whose maps take exactly the times that their users say.
class Exact {
 public:
  explicit Exact(Engine* engine) : engine_(engine) {}

  // Runs until all jobs have ended. Returns the ends, by job.
  std::map<JobId, Micros> Run(Micros now) {
    Decide(now);
    while (!ends_.empty()) {
      const Micros at = ends_.begin()->first;
      while (!ends_.empty() && ends_.begin()->first == at) {
        const AttemptId attempt = ends_.begin()->second;
        ends_.erase(ends_.begin());
        Effects effects;
        (void)engine_->Apply(at, AttemptSucceeded{attempt}, &effects);
        Take(effects, at);
      }
      Decide(at);
    }
    return ended_;
  }

 private:
  void Decide(Micros now) {
    Effects effects;
    engine_->Decide(now, &effects);
    Take(effects, now);
  }
  void Take(const Effects& effects, Micros now) {
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        ends_.emplace(now + engine_->state().FindJob(launch->attempt.task.job)->spec.map_time, launch->attempt);
      }
      if (const auto* ended = std::get_if<JobEnded>(&effect)) ended_[ended->job] = now;
    }
  }

  Engine* engine_;
  std::multimap<Micros, AttemptId> ends_;
  std::map<JobId, Micros> ended_;
};

TEST(PlayForward, IsRightWhenTasksTakeTheTimesThatWereSaid) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 200 && !HasFailure(); ++round) {
    std::mt19937_64 random(base + round);
    SCOPED_TRACE("seed " + std::to_string(base + round));
    const char* const schedulers[] = {"fifo", "fair", "sjf", "capacity"};
    const auto engine = EngineOf(schedulers[round % 4]);
    Effects effects;
    for (std::uint32_t node = 0; node < 1 + random() % 4; ++node)
      (void)engine->Apply(0, NodeJoined{NodeId{node}, "r", "", {1 + static_cast<std::uint32_t>(random() % 3), 1}},
                          &effects);
    for (std::uint32_t job = 1; job <= 1 + random() % 8; ++job) {
      JobSpec spec;
      spec.user = "u" + std::to_string(random() % 3);
      spec.map_time = static_cast<Micros>(1 + random() % 20) * kSecond;
      spec.maps.resize(1 + random() % 20);
      (void)engine->Apply(0, JobSubmitted{JobId{job}, spec}, &effects);
    }
    const Played played = PlayFrom(*engine, 0);
    const std::map<JobId, Micros> ends = Exact(engine.get()).Run(0);
    for (const auto& [job, end] : ends) EXPECT_EQ(JobOf(played, job.value).end, end) << ToText(job);
  }
}

}  // namespace
}  // namespace millrace::sched
