// SPDX-License-Identifier: Apache-2.0
// Tests how late a job can end, by the work there is, for every scheduler over random loads.
//
// Written below: s_J when J is submitted, m and r the map and reduce slots, p_J and q_J the time of one of its maps and
// reduces, W_m and W_r the work of all maps and reduces there ever are, P and Q the longest of them. slow_start is 1.
//
// Where a job that comes later can go first for ever, no bound holds against an endless stream of arrivals: fifo
// (higher priorities), edf (earlier deadlines), sjf (smaller jobs), cp (whatever its objective prefers), dl, lsap and
// lsap-uniform (maps at their data). Theirs is a bound in the work that does come, or that comes before.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/joss/joss_settings.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "tests/schedulers/starvation/load.h"

namespace millrace::sched {
namespace {

struct Case {
  std::string scheduler;
  Settings settings;
  LoadOptions load;
};

using Bound = std::function<Micros(const Load&, const LoadJob&)>;

void ExpectWithin(const Case& given, const Bound& bound, const char* mark = "") {
  const unsigned base = std::random_device()();
  for (unsigned seed = base; seed < base + 25 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(given.scheduler + mark + " seed " + std::to_string(seed));
    const Load load = RandomLoad(seed, given.load);
    const auto cluster = Start(given.scheduler, given.settings, load);
    cluster->Run();
    for (const LoadJob& job : load.jobs) {
      ASSERT_TRUE(cluster->ended().contains(job.job)) << "job" << job.job.value << " never ended";
      EXPECT_LE(cluster->ended().at(job.job), bound(load, job)) << "job" << job.job.value << " from " << job.at;
    }
  }
}

Micros SumOf(const Load& load, Micros (LoadJob::*what)() const) {
  Micros sum = 0;
  for (const LoadJob& job : load.jobs) sum += (job.*what)();
  return sum;
}

// The time until n tasks more than fit have been started, `lost` of it idle before each.
Micros MapsBefore(const Load& load, Micros lost) {
  Micros tasks = 0;
  for (const LoadJob& job : load.jobs) tasks += static_cast<Micros>(job.spec.maps.size());
  return (SumOf(load, &LoadJob::MapWork) + tasks * lost) / load.Slots(TaskKind::kMap);
}

// List scheduling (Graham). While a map of J waits, every map slot runs a map: of all the work there is, W_m at most,
// so that the last map of J has begun by s_J + W_m / m. Then the same of its reduces.
Micros ListBound(const Load& load, const LoadJob& job, Micros lost) {
  const Micros reduces = SumOf(load, &LoadJob::ReduceWork) / load.Slots(TaskKind::kReduce);
  return job.at + MapsBefore(load, lost) + (job.spec.reduces > 0 ? reduces : 0) + job.Tails();
}

class WorkConserving : public testing::TestWithParam<std::string> {};

TEST_P(WorkConserving, AJobEndsWhenAllTheWorkThatThereIsIsDone) {
  const Bound bound = [](const Load& load, const LoadJob& job) { return ListBound(load, job, 0); };
  Settings settings;
  settings.Of<CpSettings>().evaluations = 20;
  ExpectWithin({GetParam(), settings, {}}, bound);
}

INSTANTIATE_TEST_SUITE_P(All, WorkConserving,
                         testing::Values("fifo", "dl", "fair", "capacity", "sjf", "mlq", "edf", "las", "psbs", "uwfq",
                                         "karma", "integral", "fair+memory", "cp"));

// A slot idles for at most the window before each map that it runs: as if every map took that much longer.
class Batching : public testing::TestWithParam<std::string> {};

TEST_P(Batching, AJobEndsWhenAllTheWorkIsDoneAndAWindowForEachMap) {
  const Bound bound = [](const Load& load, const LoadJob& job) {
    return ListBound(load, job, 200 * kMillisecond) + 200 * kMillisecond;
  };
  std::string name = GetParam();
  std::replace(name.begin(), name.end(), '_', '-');
  ExpectWithin({name, {}, {.racks = 2}}, bound);
  Settings settings;
  settings.Of<LsapSettings>().batch_window = 5 * kSecond;
  const Bound long_window = [](const Load& load, const LoadJob& job) {
    return ListBound(load, job, 5 * kSecond) + 5 * kSecond;
  };
  ExpectWithin({name, settings, {.racks = 2}}, long_window, " with a window of 5 s");
}

INSTANTIATE_TEST_SUITE_P(All, Batching, testing::Values("lsap", "lsap_uniform", "lsap_fair"));

// In a fixed order of jobs, J waits for those before it alone. While a map of J waits, a slot that frees goes to J or
// to a job before it; what runs of later ones at s_J ends within P. So with A the jobs before J and J itself, the last
// map of J begins by s_J + P + W_m(A) / m: those that come after s_J and go first count too. Its reduces, by then
// runnable, begin Q + W_r(A) / r later. (A reduce of a job in A may become runnable while those of J wait: it is
// counted.)
void ExpectInOrder(const std::string& scheduler, const std::function<bool(const LoadJob&, const LoadJob&)>& before) {
  const Bound bound = [&](const Load& load, const LoadJob& job) {
    Micros maps = 0, reduces = 0;
    for (const LoadJob& other : load.jobs) {
      if (other.job != job.job && !before(other, job)) continue;
      maps += other.MapWork();
      reduces += other.ReduceWork();
    }
    Micros end = job.at + load.Longest(TaskKind::kMap) + maps / load.Slots(TaskKind::kMap) + job.work.map_time;
    if (job.spec.reduces > 0)
      end += load.Longest(TaskKind::kReduce) + reduces / load.Slots(TaskKind::kReduce) + job.work.reduce_time;
    return end;
  };
  ExpectWithin({scheduler, {}, {}}, bound);
}

TEST(InOrder, FifoWaitsForHigherPrioritiesAndEarlierJobs) {
  ExpectInOrder("fifo", [](const LoadJob& a, const LoadJob& b) {
    return std::pair(a.spec.priority, a.job) < std::pair(b.spec.priority, b.job);
  });
}

TEST(InOrder, EdfWaitsForEarlierDeadlines) {
  const auto due = [](const LoadJob& job) { return job.spec.deadline > 0 ? job.spec.deadline : 1'000'000 * kSecond; };
  ExpectInOrder(
      "edf", [&](const LoadJob& a, const LoadJob& b) { return std::pair(due(a), a.job) < std::pair(due(b), b.job); });
}

// Of one queue, without users' limits: as fifo, if the queue says so by priority, else by submit order alone.
TEST(InOrder, CapacityWaitsInItsQueueForEarlierJobs) {
  ExpectInOrder("capacity", [](const LoadJob& a, const LoadJob& b) { return a.job < b.job; });
}

// fresh-dynamic: a slot takes either kind, so a slot idles only if no job that is let in has anything that waits, and
// then each of these is in its last maps or its last reduces. Of all jobs together that lasts sum(p + q) at most; the
// rest of the time all S slots work. With k = 1, too, when jobs run one after the other.
TEST(Fresh, DynamicEndsAJobWhenTheWorkAndTheLastTasksOfAllJobsAreDone) {
  for (const std::uint32_t k : {0U, 1U, 3U}) {
    Settings settings;
    settings.Of<FreshSettings>().k = k;
    const Bound bound = [](const Load& load, const LoadJob& job) {
      const Micros slots = load.Slots(TaskKind::kMap) + load.Slots(TaskKind::kReduce);
      const Micros work = SumOf(load, &LoadJob::MapWork) + SumOf(load, &LoadJob::ReduceWork);
      return job.at + work / slots + SumOf(load, &LoadJob::Tails);
    };
    ExpectWithin({"fresh-dynamic", settings, {}}, bound, k == 0 ? " k = all" : k == 1 ? " k = 1" : " k = 3");
  }
}

// fresh-static: at any time the map slots are busy, or the reduce slots, or each job that is let in is in its last maps
// or reduces. There is one slot of each kind at least, whatever the split, and after a new split (one at most for each
// job that comes) the tasks above it have to end: max(P, Q).
TEST(Fresh, StaticEndsAJobHoweverTheSplitsFall) {
  for (const std::uint32_t k : {0U, 1U, 3U}) {
    Settings settings;
    settings.Of<FreshSettings>().k = k;
    const Bound bound = [](const Load& load, const LoadJob& job) {
      const Micros longest = std::max(load.Longest(TaskKind::kMap), load.Longest(TaskKind::kReduce));
      const Micros work = SumOf(load, &LoadJob::MapWork) + SumOf(load, &LoadJob::ReduceWork);
      return job.at + work + SumOf(load, &LoadJob::Tails) + static_cast<Micros>(load.jobs.size()) * longest;
    };
    ExpectWithin({"fresh-static", settings, {}}, bound, k == 0 ? " k = all" : k == 1 ? " k = 1" : " k = 3");
  }
}

// JoSS: while a task of J waits in a datacenter, all slots of its kind there are busy. At worst all work is bound to
// the datacenter with the fewest slots, and J waits there.
class Joss : public testing::TestWithParam<std::string> {};

TEST_P(Joss, AJobEndsWhenAllTheWorkIsDoneByTheSmallestDatacenter) {
  for (const double ratio : {-1.0, 0.5, 3.0}) {  // unknown; maps to their blocks; small jobs to one datacenter
    Settings settings;
    settings.Of<JossSettings>().default_ratio = ratio;
    const Bound bound = [](const Load& load, const LoadJob& job) {
      const auto least = [&](TaskKind kind) { return std::min(load.Slots(kind, "d0"), load.Slots(kind, "d1")); };
      Micros end = job.at + SumOf(load, &LoadJob::MapWork) / least(TaskKind::kMap) + job.Tails();
      if (job.spec.reduces > 0) end += SumOf(load, &LoadJob::ReduceWork) / least(TaskKind::kReduce);
      return end;
    };
    ExpectWithin({GetParam() == "task" ? "joss-t" : "joss-j", settings, {.racks = 2, .datacenters = 2}}, bound);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Joss, testing::Values("task", "job"));

}  // namespace
}  // namespace millrace::sched
