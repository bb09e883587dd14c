// SPDX-License-Identifier: Apache-2.0
// Greedy asks few jobs for few slots; what it decides must be what asking everybody for everything decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/offering/delay_settings.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/offering/locality_wait.h"
#include "schedulers/offering/reference.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/single_pool.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/policies/simple/capacity.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "schedulers/policies/simple/edf.h"
#include "schedulers/policies/simple/fifo.h"
#include "schedulers/policies/simple/karma.h"
#include "schedulers/policies/simple/las.h"
#include "schedulers/policies/usage/integral.h"
#include "schedulers/policies/usage/memory.h"
#include "schedulers/policies/virtual/psbs.h"
#include "schedulers/policies/virtual/uwfq.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/round_robin.h"
#include "tests/schedulers/same_decisions.h"

namespace millrace::sched {
namespace {

struct Setup {
  std::string name;
  std::function<std::unique_ptr<JobOrder>(const Settings&, SlotKind reduces)> order;  // reduces: what counts of them
  bool of_catalog = true;
};

const Setup kSetups[] = {
    {"fifo", [](const Settings&, SlotKind) { return std::make_unique<FifoOrder>(); }},
    {"capacity", [](const Settings& s,
                    SlotKind reduces) { return std::make_unique<CapacityOrder>(s.Named<QueueSettings>(), reduces); }},
    {"sjf", [](const Settings& s,
               SlotKind) { return std::make_unique<SinglePoolOrder>(PoolOrder::kSjf, s.Of<MlqSettings>()); }},
    {"mlq", [](const Settings& s,
               SlotKind) { return std::make_unique<SinglePoolOrder>(PoolOrder::kMlq, s.Of<MlqSettings>()); }},
    {"edf", [](const Settings& s, SlotKind) { return std::make_unique<EdfOrder>(s.Of<EdfSettings>()); }},
    {"las", [](const Settings& s, SlotKind) { return std::make_unique<LasOrder>(s.Of<LasSettings>()); }},
    {"psbs", [](const Settings&, SlotKind reduces) { return std::make_unique<PsbsOrder>(reduces); }},
    {"uwfq",
     [](const Settings& s, SlotKind reduces) { return std::make_unique<UwfqOrder>(s.Of<UwfqSettings>(), reduces); }},
    {"karma",
     [](const Settings& s, SlotKind reduces) { return std::make_unique<KarmaOrder>(s.Of<KarmaSettings>(), reduces); }},
    {"fair", [](const Settings& s, SlotKind reduces) { return std::make_unique<FairOrder>(s, reduces); }},
    {"fair+memory", [](const Settings& s, SlotKind reduces) { return std::make_unique<MemoryOrder>(s, reduces); }},
    {"integral", [](const Settings& s, SlotKind reduces) { return std::make_unique<IntegralOrder>(s, reduces); }},
    {"round_robin", [](const Settings&, SlotKind) { return std::make_unique<RoundRobin>(); }, false},
    {"limited_round_robin", [](const Settings&, SlotKind) { return std::make_unique<RoundRobin>(2); }, false},
};

Settings TestSettings() {
  Settings settings;
  settings.Named<QueueSettings>()["pool0"] = {20, 40, 50, true};
  settings.Named<QueueSettings>()["pool1"] = {50, 80, 100, false};
  settings.Named<PoolSettings>()["pool0"].min_maps = 2;
  settings.Named<PoolSettings>()["pool0"].max_running_jobs = 2;
  settings.Named<PoolSettings>()["pool1"].weight = 2;
  settings.Named<PoolSettings>()["pool1"].max_maps = 3;
  settings.Named<PoolSettings>()["pool1"].max_reduces = 2;
  auto& gathers = settings.Of<PoolDefaults>().pool;
  gathers.integral = IntegralKind::kBurst;
  gathers.flow_maps = gathers.flow_reduces = 1, gathers.burst_maps = gathers.burst_reduces = 2;
  settings.Of<MlqSettings>().small_job_maps = 3;
  settings.Of<DelaySettings>().rack_wait = 2;
  settings.Of<DelaySettings>().datacenter_wait = 1 * kSecond;
  settings.Of<DelaySettings>().off_wait = 4;
  settings.Of<CcsSettings>().max_reducers = 2;
  settings.Of<LasSettings>().quantum = 3;
  settings.Of<KarmaSettings>() = {0.5, 4, 10 * kSecond};
  settings.Of<MemorySettings>() = {5 * kSecond, 2, kSecond};
  return settings;
}

Admission Gates(const Settings& settings, bool delay, bool ccs) {
  return {delay ? std::make_unique<LocalityWait>(settings.Of<DelaySettings>(), settings.Of<LsapSettings>().bandwidths)
                : nullptr,
          ccs ? std::make_unique<CopyComputeSplitting>(settings.Of<CcsSettings>()) : nullptr};
}

class EveryOrder : public testing::TestWithParam<std::tuple<Setup, bool, bool>> {};

TEST_P(EveryOrder, DecidesAsIfAllJobsWereAskedForEachSlot) {
  const auto& [setup, with_delay, with_ccs] = GetParam();
  const bool delay = with_delay, ccs = with_ccs;
  const SlotKind reduces = ccs ? kComputePermit : kReduceSlot;
  std::vector<unsigned> seeds = {646724835,  1552102564, 3912954297,
                                 1746768121, 2833384089, 3793071527};  // once they found a difference
  for (unsigned round = 0, base = std::random_device()(); round < 60; ++round) seeds.push_back(base + round);
  for (const unsigned seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    options.scheduler = setup.name + (delay ? "+delay" : "") + (ccs ? "+ccs" : "");
    options.settings = TestSettings();
    options.conserving = false;
    options.gives_all_permits = false;
    if (!setup.of_catalog) {
      options.make = [&, order = setup.order] {
        return std::make_unique<Greedy>("order", order(options.settings, reduces), Gates(options.settings, delay, ccs));
      };
    }
    History history(seed, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
    auto reference =
        std::make_unique<GreedyReference>(setup.order(options.settings, reduces), Gates(options.settings, delay, ccs));
    ExpectSameDecisions(history.records(), MakePolicyOf(options), std::move(reference));
    ASSERT_FALSE(HasFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, EveryOrder,
                         testing::Combine(testing::ValuesIn(kSetups), testing::Bool(), testing::Bool()),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param).name;
                           std::replace(name.begin(), name.end(), '+', '_');
                           return name + (std::get<1>(param.param) ? "_delay" : "") +
                                  (std::get<2>(param.param) ? "_ccs" : "");
                         });

}  // namespace
}  // namespace millrace::sched
