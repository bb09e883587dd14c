// SPDX-License-Identifier: Apache-2.0
// The order of jobs by what they have had of the cluster, by hand and along random changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/policies/fresh/fresh_dynamic.h"

namespace millrace::sched {
namespace {

constexpr TaskKind kMap = TaskKind::kMap;
constexpr TaskKind kReduce = TaskKind::kReduce;

std::unique_ptr<JobState> NewJob(std::uint32_t id, Micros submitted) {
  auto job = std::make_unique<JobState>();
  job->progress.job = {id};
  job->progress.submitted = submitted;
  return job;
}

void Launch(JobState* job, TaskKind kind, Micros now) {
  if (!job->started) job->progress.started = now;
  job->started = true;
  ++job->running_attempts[kind];
  job->times[kind].since_total += static_cast<std::uint64_t>(now);
}

void End(JobState* job, TaskKind kind, Micros since, Micros now) {
  --job->running_attempts[kind];
  job->times[kind].since_total -= static_cast<std::uint64_t>(since);
  job->times[kind].ended_total += now - since;
}

// A job that has started at `started` and used so much by then, and runs so many maps since.
std::unique_ptr<JobState> Served(std::uint32_t id, Micros started, Micros used, std::uint32_t running = 0) {
  auto job = NewJob(id, started);
  for (std::uint32_t i = 0; i < running; ++i) Launch(job.get(), kMap, started);
  job->started = true;
  job->progress.started = started;
  job->times[kReduce].ended_total = used;
  return job;
}

using Jobs = std::vector<std::unique_ptr<JobState>>;

// Returns the ids of the jobs, the least served first.
std::vector<std::uint32_t> InOrder(const Jobs& jobs, Micros now) {
  std::vector<ServiceFraction> services;
  for (const auto& job : jobs) services.push_back(ServiceOf(*job, now));
  std::sort(services.begin(), services.end(), LeastServedFirst);
  std::vector<std::uint32_t> ids;
  for (const ServiceFraction& service : services) ids.push_back(service.job.value);
  return ids;
}
std::uint32_t First(const Jobs& jobs, Micros now) { return InOrder(jobs, now).front(); }

// 20 of the time since 0 against all of the time since 10.
TEST(LeastServedTest, TheOrderChangesWithTimeAlone) {
  Jobs jobs;
  jobs.push_back(Served(0, 0, 20));
  jobs.push_back(Served(1, 10, 0, 1));
  EXPECT_EQ(First(jobs, 12), 1U) << "20/12 and 2/2";
  EXPECT_EQ(First(jobs, 19), 1U) << "20/19 and 9/9";
  EXPECT_EQ(First(jobs, 20), 0U) << "20/20 and 10/10, and the other runs a task";
  EXPECT_EQ(First(jobs, 90), 0U) << "20/90 and 80/80";
}

// Whoever started at this moment has had nothing, as has who has not started.
TEST(LeastServedTest, AmongEqualsTheFewestTasksThenTheLowestId) {
  Jobs jobs;
  jobs.push_back(Served(5, 100, 0, 2));
  jobs.push_back(NewJob(4, 0));
  jobs.push_back(Served(3, 100, 0, 1));
  jobs.push_back(NewJob(2, 0));
  EXPECT_EQ(InOrder(jobs, 100), (std::vector<std::uint32_t>{2, 4, 3, 5}));
}

std::unique_ptr<JobState> Weighted(std::unique_ptr<JobState> job, Priority priority) {
  job->progress.priority = priority;
  return job;
}

// 40/10, 20/10 and so on are all 10/10 for their weights; then they go by the tasks that run, again for their weights.
TEST(LeastServedTest, APriorityIsAWeight) {
  const std::vector<std::pair<Priority, Micros>> used = {{Priority::kVeryHigh, 400},
                                                         {Priority::kHigh, 200},
                                                         {Priority::kNormal, 100},
                                                         {Priority::kLow, 50},
                                                         {Priority::kVeryLow, 25}};
  for (const auto& [least, used_by_least] : used) {
    Jobs jobs;
    for (std::uint32_t id = 0; id < used.size(); ++id) {
      const auto& [priority, had] = used[id];
      jobs.push_back(Weighted(Served(id, 0, priority == least ? had - 1 : had), priority));
    }
    EXPECT_EQ(First(jobs, 100), static_cast<std::uint32_t>(least));
  }
  Jobs jobs;
  jobs.push_back(Weighted(Served(0, 100, 0, 1), Priority::kLow));
  jobs.push_back(Weighted(Served(1, 100, 0, 7), Priority::kVeryHigh));
  jobs.push_back(Weighted(Served(2, 100, 0, 2), Priority::kNormal));
  EXPECT_EQ(First(jobs, 100), 1U) << "1/0.5, 7/4 and 2";
  jobs[1] = Weighted(Served(1, 100, 0, 8), Priority::kVeryHigh);
  EXPECT_EQ(First(jobs, 100), 0U);
}

// 1/3 of the time each; no two of the fractions are the same numbers. None is exact in binary.
TEST(LeastServedTest, EqualFractionsAreEqual) {
  Jobs jobs;
  std::vector<std::uint32_t> by_id;
  for (std::uint32_t id = 0; id < 40; ++id) {
    const Micros age = 3 * (1'000'003 + 7919 * Micros{id});
    jobs.push_back(Served(39 - id, 1'000'000'000 - age, age / 3));
    by_id.push_back(id);
  }
  EXPECT_EQ(InOrder(jobs, 1'000'000'000), by_id);
}

// Jobs of which tasks start and end at random while time goes on.
class RandomJobs {
 public:
  // Times of few different values make ties; from `now` on.
  RandomJobs(std::uint64_t seed, std::uint32_t jobs, Micros now, Micros pace)
      : random_(seed), now_(now), pace_(pace), jobs_(jobs) {
    for (std::uint32_t id = 0; id < jobs; ++id) {
      jobs_[id].state = NewJob(id, now);
      jobs_[id].state->progress.priority = static_cast<Priority>(seed % 2 == 0 ? 2 : id % 5);
    }
  }

  void Step() {
    if (Below(3) == 0) now_ += pace_ * Below(4);
    Job& job = jobs_[Below(static_cast<std::uint32_t>(jobs_.size()))];
    if (Below(11) < 7) {
      const TaskKind kind = kTaskKinds[Below(2)];
      Launch(job.state.get(), kind, now_);
      job.since[kind].push_back(now_);
    } else {
      EndOne(&job);
    }
  }

  // Each fraction is what the history gave the job.
  void Check() const {
    constexpr std::uint32_t kWeights[] = {16, 8, 4, 2, 1};
    for (const Job& job : jobs_) {
      const ServiceFraction service = ServiceOf(*job.state, now_);
      Micros used = job.ended;
      std::size_t running = 0;
      for (const auto& kind : job.since) {
        running += kind.size();
        for (const Micros since : kind) used += now_ - since;
      }
      ASSERT_EQ(service.job, job.state->progress.job);
      ASSERT_EQ(service.weight, kWeights[static_cast<std::size_t>(job.state->progress.priority)]);
      ASSERT_EQ(service.running, running);
      const Micros age = job.state->started ? now_ - job.state->progress.started : 0;
      ASSERT_EQ(service.used, age > 0 ? used : 0);
      ASSERT_EQ(service.age, age > 0 ? age : 1);
    }
  }

 private:
  struct Job {
    std::unique_ptr<JobState> state;
    PerKind<std::vector<Micros>> since;  // of what runs
    Micros ended = 0;                    // run time of what ended
  };

  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void EndOne(Job* job) {
    const TaskKind kind = kTaskKinds[Below(2)];
    std::vector<Micros>& since = job->since[kind];
    if (since.empty()) return;
    std::swap(since[Below(static_cast<std::uint32_t>(since.size()))], since.back());
    End(job->state.get(), kind, since.back(), now_);
    job->ended += now_ - since.back();
    since.pop_back();
  }

  std::mt19937_64 random_;
  Micros now_, pace_;
  std::vector<Job> jobs_;
};

void Play(std::uint64_t seed, std::uint32_t jobs, Micros now, Micros pace) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", jobs " + std::to_string(jobs) + ", pace " + std::to_string(pace));
  RandomJobs played(seed, jobs, now, pace);
  for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) {
    played.Step();
    played.Check();
  }
}

TEST(LeastServedTest, AnyHistoryGivesTheFractions) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 60; ++round) {
    const std::uint32_t jobs = 1 + (base + round) % 61;
    Play(base + round, jobs, 0, 1);                              // small numbers: many are equal
    Play(base + round, jobs, 1'700'000'000'000'000, 1'234'567);  // seconds, since the epoch
  }
}

}  // namespace
}  // namespace millrace::sched
