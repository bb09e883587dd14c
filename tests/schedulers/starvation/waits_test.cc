// SPDX-License-Identifier: Apache-2.0
// Tests how long a job can be passed over because of turns and waits: `+delay`, the queues of JoSS, the ageing of
// lsap-fair.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "schedulers/offering/delay_settings.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/joss/joss_settings.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "tests/schedulers/starvation/load.h"

namespace millrace::sched {
namespace {

// `+delay`: a job with maps that wait, while a map slot is free, launches one within T1 + T2 + T3: the slot is offered
// to each job in its turn, a job that refuses has its clock running, a clock stops only when the job launches, and
// after the sum of the waits the job may have any slot. If others take the slots it wants, none is free. With lsap the
// first offer and the last come at the end of a window.
class Delay : public testing::TestWithParam<std::string> {};

TEST_P(Delay, NoJobIsPassedOverByAFreeSlotForLongerThanItsWaits) {
  constexpr Micros kWaits = (2 + 3 + 4) * kSecond;
  const Micros slack = GetParam().starts_with("lsap") ? 400 * kMillisecond : 0;
  Settings settings;
  settings.Of<DelaySettings>() = {DelaySettings::Mode::kFixed, 2 * kSecond, 3 * kSecond, 4 * kSecond};
  settings.Of<CpSettings>().evaluations = 20;
  const unsigned base = std::random_device()();
  Micros longest = 0;
  for (unsigned seed = base; seed < base + 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Load load = RandomLoad(seed, {.racks = 4, .datacenters = 2, .jobs = 15, .within = 600});
    const auto cluster = Start(GetParam() + "+delay", settings, load);
    std::map<JobId, std::pair<Micros, std::uint32_t>> passed;  // since when, and what waited then
    cluster->watch = [&](Micros now) {
      const ClusterState& state = cluster->state();
      for (const LoadJob& job : load.jobs) {
        const JobState* known = state.FindJob(job.job);
        const std::uint32_t pending = known != nullptr && known->alive() ? known->pending_maps.all().size() : 0;
        if (pending == 0 || state.FreeNodes(TaskKind::kMap).empty()) {
          passed.erase(job.job);
          continue;
        }
        const auto [at, is_new] = passed.try_emplace(job.job, now, pending);
        if (at->second.second != pending) at->second = {now, pending};
        longest = std::max(longest, now - at->second.first);
        EXPECT_LE(now - at->second.first, kWaits + slack) << "job" << job.job.value << " at " << now;
      }
    };
    cluster->Run();
    EXPECT_EQ(cluster->ended().size(), load.jobs.size());
  }
  EXPECT_GT(longest, 0) << "nothing ever waited";
}

INSTANTIATE_TEST_SUITE_P(All, Delay,
                         testing::Values("fifo", "dl", "fair", "capacity", "sjf", "mlq", "edf", "las", "psbs", "uwfq",
                                         "karma", "integral", "fair+memory", "cp", "lsap"));

LoadJob JobOn(std::uint32_t id, Micros at, std::uint32_t maps, std::vector<NodeId> replicas, Micros map_time) {
  LoadJob job{at, JobId{id}, {}, {map_time, kSecond, 0}};
  job.spec.user = "u";
  job.spec.maps.assign(maps, {64 << 20, std::move(replicas)});
  return job;
}

// JoSS: each large job has a map queue of its own in the datacenter of its data, the small ones have one together, and
// the queues of a datacenter are served in turn. So between two launches of a large job at most one comes of each other
// queue, however many small jobs keep coming.
class JossTurns : public testing::TestWithParam<std::string> {};

TEST_P(JossTurns, ALargeJobIsServedOnceInATurnOfTheQueues) {
  const unsigned base = std::random_device()();
  for (unsigned seed = base; seed < base + 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Settings settings;
    settings.Of<JossSettings>().default_ratio = 0.5;
    Load load;
    for (std::uint32_t node = 1; node <= 8; ++node)
      load.nodes.push_back({NodeId{node}, "r", "d" + std::to_string(node % 2), {2, 1}});
    const std::uint32_t large = 1 + random() % 4;
    for (std::uint32_t job = 1; job <= large; ++job)
      load.jobs.push_back(JobOn(job, 0, 60, {NodeId{2}}, (1 + random() % 9) * kSecond));
    for (std::uint32_t job = large + 1; job <= 200; ++job)  // more than the datacenter can do
      load.jobs.push_back(JobOn(job, 100'000 * job, 1 + random() % 4, {NodeId{4}}, (1 + random() % 9) * kSecond));
    const auto cluster = Start(GetParam(), settings, load);
    std::vector<std::uint32_t> launched(load.jobs.size() + 1);
    std::map<std::uint32_t, std::uint32_t> others;
    std::size_t read = 0;
    cluster->watch = [&](Micros) {
      for (; read < cluster->log().size();) {
        const std::size_t end = cluster->log().find('\n', read);
        const std::string line = cluster->log().substr(read, end - read);
        read = end + 1;
        const std::size_t name = line.find("job");
        if (line.find("launch ") == std::string::npos || name == std::string::npos) continue;
        const auto job = static_cast<std::uint32_t>(std::stoul(line.substr(name + 3)));
        ++launched[job];
        for (std::uint32_t other = 1; other <= large; ++other) {
          if (other == job || launched[other] == 60) {
            others[other] = 0;
          } else {
            EXPECT_LE(++others[other], large) << "others before job" << other << " has its turn: " << line;
          }
        }
      }
    };
    cluster->Run();
    EXPECT_EQ(std::count(launched.begin() + 1, launched.begin() + 1 + large, 60U), large);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, JossTurns, testing::Values("joss-t", "joss-j"),
                         [](const auto& param) { return param.param == "joss-t" ? "task" : "job"; });

// lsap-fair: the costs of a map halve with each half-life that its job has waited. With two groups of weight 1/2 and
// beta = 100 a new map costs at least 100 (1/m) / (1/2) as long as both groups run something, and J, of which the data
// is in another datacenter, at most `most` = 100 / (1/2) + alpha x bytes / bandwidth. So what comes D = half-life x
// (log2(most / least) + 1/4) after J, or later, does not go before it (a quarter: ageing goes by such steps), and J
// begins when a slot frees (P) after D is over and what came until then is done, at the latest. Under a stream of more
// than the cluster can do, all of it at its data, J would wait for ever without ageing.
struct Streamed {
  Micros begun = 0, bound = 0;
};

Streamed RunUnderAStream(Micros half_life, unsigned seed) {
  constexpr Micros kEnd = 200 * kSecond, kSubmitted = 30 * kSecond, kEvery = 400 * kMillisecond, kMap = 4 * kSecond;
  constexpr std::uint64_t kBytes = std::uint64_t{4} << 30;
  std::mt19937 random(seed);
  Settings settings;
  settings.Of<LsapSettings>().ageing_half_life = half_life;
  settings.Of<LsapSettings>().batch_window = 0;
  Load load;
  for (std::uint32_t node = 1; node <= 4; ++node) load.nodes.push_back({NodeId{node}, "r1", "d1", {2, 0}});
  load.nodes.push_back({NodeId{5}, "r2", "d2", {0, 1}});
  load.jobs.push_back(JobOn(1, kSubmitted, 1, {NodeId{5}}, kSecond));
  load.jobs.back().spec.maps[0].bytes = kBytes;
  std::uint32_t id = 1;
  for (Micros at = 0; at < kEnd; at += kEvery) {  // 8 slots end two maps a second
    load.jobs.push_back(JobOn(++id, at, 1, {NodeId{1 + static_cast<std::uint32_t>(random() % 4)}}, kMap));
    if (random() % 2 == 0) load.jobs.back().spec.user = "v";
  }
  const auto cluster = Start("lsap-fair", settings, load);
  cluster->Run();
  const double most = 200 + kBytes / settings.Of<LsapSettings>().bandwidths.off, least = 100.0 / 8 / 0.5;
  const Micros until =
      kSubmitted + static_cast<Micros>(static_cast<double>(half_life) * (std::log2(most / least) + 0.25));
  const Micros work = (until / kEvery + 1) * kMap / 8;
  return {cluster->ended().at(JobId{1}) - kSecond, std::max(until, work) + kMap};
}

TEST(LsapFair, AgeingBoundsTheWaitUnderAnEndlessStream) {
  const unsigned base = std::random_device()();
  for (unsigned seed = base; seed < base + 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Streamed aged = RunUnderAStream(5 * kSecond, seed);
    EXPECT_LE(aged.begun, aged.bound);
    EXPECT_LT(aged.bound, 120 * kSecond);
    EXPECT_GT(RunUnderAStream(100'000 * kSecond, seed).begun, 200 * kSecond) << "without ageing it waits for ever";
  }
}

}  // namespace
}  // namespace millrace::sched
