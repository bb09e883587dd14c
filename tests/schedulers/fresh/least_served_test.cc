// LeastServed against its definition (reference.h): fractions of whole numbers, compared exactly, after every one of
// many random changes.
#include "schedulers/policies/fresh/least_served.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/policies/fresh/reference.h"

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

TEST(LeastServedTest, NobodyInLine) {
  LeastServed line;
  EXPECT_TRUE(line.empty());
  EXPECT_FALSE(line.First(5));
  const auto job = NewJob(3, 0);
  line.Remove({3});
  line.Put(*job);
  EXPECT_FALSE(line.empty());
  line.Remove({3});
  line.Remove({3});
  EXPECT_TRUE(line.empty());
  EXPECT_FALSE(line.First(5));
}

// 20 of the time since 0 against all of the time since 10.
TEST(LeastServedTest, TheOrderChangesWithTimeAlone) {
  LeastServed line;
  line.Put(*Served(0, 0, 20));
  line.Put(*Served(1, 10, 0, 1));
  EXPECT_EQ(line.First(12), JobId{1}) << "20/12 and 2/2";
  EXPECT_EQ(line.First(19), JobId{1}) << "20/19 and 9/9";
  EXPECT_EQ(line.First(20), JobId{0}) << "20/20 and 10/10, and the other runs a task";
  EXPECT_EQ(line.First(90), JobId{0}) << "20/90 and 80/80";
}

// Whoever started at this moment has had nothing, as has who has not started.
TEST(LeastServedTest, AmongEqualsTheFewestTasksThenTheLowestId) {
  LeastServed line;
  line.Put(*Served(5, 100, 0, 2));
  line.Put(*NewJob(4, 0));
  line.Put(*Served(3, 100, 0, 1));
  line.Put(*NewJob(2, 0));
  EXPECT_EQ(line.First(100), JobId{2});
  line.Remove({2});
  EXPECT_EQ(line.First(100), JobId{4});
  line.Remove({4});
  EXPECT_EQ(line.First(100), JobId{3});
  line.Remove({3});
  EXPECT_EQ(line.First(100), JobId{5});
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
    LeastServed line;
    for (std::uint32_t id = 0; id < used.size(); ++id) {
      const auto& [priority, had] = used[id];
      line.Put(*Weighted(Served(id, 0, priority == least ? had - 1 : had), priority));
    }
    EXPECT_EQ(line.First(100), JobId{static_cast<std::uint32_t>(least)});
  }
  LeastServed line;
  line.Put(*Weighted(Served(0, 100, 0, 1), Priority::kLow));
  line.Put(*Weighted(Served(1, 100, 0, 7), Priority::kVeryHigh));
  line.Put(*Weighted(Served(2, 100, 0, 2), Priority::kNormal));
  EXPECT_EQ(line.First(100), JobId{1}) << "1/0.5, 7/4 and 2";
  line.Put(*Weighted(Served(1, 100, 0, 8), Priority::kVeryHigh));
  EXPECT_EQ(line.First(100), JobId{0});
}

// 1/3 of the time each; no two of the fractions are the same numbers. None is exact in binary.
TEST(LeastServedTest, EqualFractionsAreEqual) {
  LeastServed line;
  for (std::uint32_t id = 0; id < 40; ++id) {
    const Micros age = 3 * (1'000'003 + 7919 * Micros{id});
    line.Put(*Served(39 - id, 1'000'000'000 - age, age / 3));
  }
  for (std::uint32_t id = 0; id < 40; ++id) {
    ASSERT_EQ(line.First(1'000'000'000), JobId{id});
    line.Exclude({id});
  }
  EXPECT_FALSE(line.First(1'000'000'000));
  line.Readmit();
  EXPECT_EQ(line.First(1'000'000'000), JobId{0});
}

// Wherever in a line of whatever length the least served stands, and with nobody else to choose.
TEST(LeastServedTest, InEverySeat) {
  for (std::uint32_t jobs = 1; jobs < 70; ++jobs) {
    for (std::uint32_t least = 0; least < jobs; ++least) {
      LeastServed line;
      for (std::uint32_t id = 0; id < jobs; ++id) line.Put(*Served(id, 0, id == least ? 10 : 11 + id * 37 % 16));
      ASSERT_EQ(line.First(1000), JobId{least}) << jobs;
      for (std::uint32_t id = 0; id < jobs; ++id) {
        if (id != least) line.Exclude({id});
      }
      ASSERT_EQ(line.First(1000), JobId{least}) << jobs;
      line.Exclude({least});
      ASSERT_FALSE(line.First(1000)) << jobs;
    }
  }
}

// Jobs of which tasks start and end at random while time goes on; a job may leave the line, be excluded and come back.
class RandomLine {
 public:
  // Times of few different values make ties; from `now` on.
  RandomLine(std::uint64_t seed, std::uint32_t jobs, Micros now, Micros pace)
      : random_(seed), now_(now), pace_(pace), jobs_(jobs) {
    for (std::uint32_t id = 0; id < jobs; ++id) {
      jobs_[id].state = NewJob(id, now);
      jobs_[id].state->progress.priority = static_cast<Priority>(seed % 2 == 0 ? 2 : id % 5);
    }
  }

  void Step() {
    if (Below(3) == 0) now_ += pace_ * Below(4);
    Job& job = jobs_[Below(static_cast<std::uint32_t>(jobs_.size()))];
    const std::uint32_t what = Below(16);
    if (what < 7) {
      const TaskKind kind = kTaskKinds[Below(2)];
      Launch(job.state.get(), kind, now_);
      job.since[kind].push_back(now_);
    } else if (what < 11) {
      EndOne(&job);
    } else if (what == 11) {
      line_.Remove(job.state->progress.job);
      job.waits = job.excluded = false;
      return;
    } else if (what == 12) {
      line_.Readmit();
      for (Job& other : jobs_) other.excluded = false;
    } else if (what < 15) {
      if (job.waits) line_.Exclude(job.state->progress.job);
      job.excluded = job.waits;
    }
    line_.Put(*job.state);
    job.waits = true;
  }

  void Compare() const {
    std::vector<JobId> waiting;
    const Job* first = nullptr;
    for (const Job& job : jobs_) {
      if (!job.waits) continue;
      waiting.push_back(job.state->progress.job);
      if (!job.excluded && (first == nullptr || Less(job, *first))) first = &job;
    }
    ASSERT_EQ(line_.Jobs(), waiting);
    ASSERT_EQ(line_.empty(), waiting.empty());
    ASSERT_EQ(line_.First(now_), first == nullptr ? std::nullopt : std::optional(first->state->progress.job));
  }

 private:
  struct Job {
    std::unique_ptr<JobState> state;
    PerKind<std::vector<Micros>> since;  // of what runs
    Micros ended = 0;                    // run time of what ended
    bool waits = false, excluded = false;
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

  // From what the history gave the job, not from its JobState.
  [[nodiscard]] ServiceFraction ServiceOf(const Job& job) const {
    constexpr std::uint32_t kWeights[] = {16, 8, 4, 2, 1};
    ServiceFraction service{job.state->progress.job};
    service.weight = kWeights[static_cast<std::size_t>(job.state->progress.priority)];
    for (const auto& kind : job.since) service.running += static_cast<std::uint32_t>(kind.size());
    if (!job.state->started || job.state->progress.started == now_) return service;
    service.used = job.ended;
    for (const auto& kind : job.since) {
      for (const Micros since : kind) service.used += now_ - since;
    }
    service.age = now_ - job.state->progress.started;
    return service;
  }
  [[nodiscard]] bool Less(const Job& a, const Job& b) const { return LeastServedFirst(ServiceOf(a), ServiceOf(b)); }

  std::mt19937_64 random_;
  Micros now_, pace_;
  std::vector<Job> jobs_;
  LeastServed line_;
};

void Play(std::uint64_t seed, std::uint32_t jobs, Micros now, Micros pace, int steps) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", jobs " + std::to_string(jobs) + ", pace " + std::to_string(pace));
  RandomLine line(seed, jobs, now, pace);
  for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    line.Step();
    line.Compare();
  }
}

TEST(LeastServedTest, AnyHistoryGivesTheLeastFraction) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 60; ++round) {
    const std::uint32_t jobs = 1 + (base + round) % 61;
    Play(base + round, jobs, 0, 1, 400);                                // small numbers: many are equal
    Play(base + round, jobs, 1'700'000'000'000'000, 1'234'567, 400);    // seconds, since the epoch
    if (round % 10 == 0) Play(base + round, 1500, 1'000'000, 1, 1000);  // a long line
  }
}

}  // namespace
}  // namespace millrace::sched
