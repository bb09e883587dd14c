// SPDX-License-Identifier: Apache-2.0
// FairOrder against FairReference, along random histories under random settings.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/offering/reference.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/reference.h"
#include "schedulers/policies/fair/starvation_watch.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/same_decisions.h"

namespace millrace::sched {
namespace {

class RandomSettings {
 public:
  explicit RandomSettings(unsigned seed) : random_(seed) {}

  Settings Draw() {
    Settings settings;
    settings.Of<FairSettings>().order = Order();
    settings.Of<MlqSettings>() = {Below(4), Weight(), Weight()};
    if (Below(2) == 0) settings.Of<PoolDefaults>().pool = Pool();
    for (const char* name : {"pool0", "pool1", "pool2"}) {
      if (Below(3) > 0) settings.Named<PoolSettings>()[name] = Pool();
    }
    return settings;
  }

 private:
  std::uint32_t Below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
  double Weight() { return 0.25 * (1 + Below(8)); }
  PoolOrder Order() { return static_cast<PoolOrder>(Below(4)); }
  // Minima are small and large beside the few slots of a history, and beside the weights.
  PoolSettings Pool() {
    PoolSettings pool;
    pool.weight = Below(3) == 0 ? 1.0 / 64 : Weight();
    pool.min_maps = Below(3) * Below(4), pool.min_reduces = Below(3) * Below(3);
    if (Below(3) == 0) pool.max_maps = pool.min_maps + Below(4);
    if (Below(3) == 0) pool.max_reduces = pool.min_reduces + Below(3);
    if (Below(3) == 0) pool.max_running_jobs = Below(3);
    if (Below(3) == 0) pool.max_running_jobs_of_user = Below(3);
    if (Below(2) == 0) pool.order = Order();
    return pool;
  }

  std::mt19937 random_;
};

TEST(FairTwins, DecideTheSame) {
  for (unsigned round = 0, base = std::random_device()(); round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    HistoryOptions options;
    const bool ccs = round % 2 == 1;
    options.scheduler = ccs ? "fair+ccs" : "fair";
    options.settings = RandomSettings(base + round).Draw();
    options.conserving = false;
    options.gives_all_permits = false;
    History history(base + round, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    ASSERT_FALSE(HasFailure());
    std::unique_ptr<CopyGate> gate;
    if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
    auto order = std::make_unique<FairReference>(options.settings, ccs ? kComputePermit : kReduceSlot);
    auto reference = std::make_unique<GreedyReference>(std::move(order), Admission(nullptr, std::move(gate)));
    reference->set_user_limits(UserLimitsOf(options.settings));
    ExpectSameDecisions(history.records(), MakePolicyOf(options), std::move(reference));
    ASSERT_FALSE(HasFailure());
  }
}

// `fair`, which compares before each round the jobs whose clocks run with a search among all jobs.
class ClocksCompared : public GreedyOver<FairOrder> {
 public:
  // Counts the jobs that it finds in *found.
  ClocksCompared(const Settings& settings, SlotKind reduces, Admission admission, std::size_t* found)
      : GreedyOver("fair", std::make_unique<FairOrder>(settings, reduces), std::move(admission)),
        reference_(settings, reduces),
        found_(*found) {
    order().KeepJobClocks(&job_clocks_);
    for (const SlotKind kind : kSlotKinds) {
      watches_[kind] = std::make_unique<StarvationWatch>(
          order().pools(kind), pool_clocks_[kind], [this, kind](const auto& pool, Units units, Micros now) {
            return order().UpdateJobClocks(FairPool::Of(pool), kind, units, now);
          });
    }
  }

  void OnJobSubmitted(const ClusterState& state, JobId job) override {
    GreedyOver::OnJobSubmitted(state, job);
    reference_.OnJobSubmitted(state, job);
  }
  void OnJobEnded(const ClusterState& state, JobId job) override {
    GreedyOver::OnJobEnded(state, job);
    reference_.OnJobEnded(state, job);
  }
  void OnJobChanged(const ClusterState& state, JobId job) override {
    GreedyOver::OnJobChanged(state, job);
    reference_.OnJobChanged(state, job);
  }
  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override {
    for (const SlotKind kind : kSlotKinds) {
      watches_[kind]->Update(now);
      std::set<JobId> below;
      for (const auto& [lack, until] : job_clocks_[kind].waiting()) below.insert(JobId{lack.member->id()});
      EXPECT_EQ(below, reference_.JobsBelowShare(state, kind)) << "kind " << kind.index();
      found_ += below.size();
    }
    return {};
  }

 private:
  static StarvationClocks Clocks() {
    return StarvationClocks([](const auto&) { return kSecond; });
  }
  FairReference reference_;
  PerSlot<StarvationClocks> pool_clocks_{{Clocks(), Clocks(), Clocks()}}, job_clocks_{{Clocks(), Clocks(), Clocks()}};
  PerSlot<std::unique_ptr<StarvationWatch>> watches_;
  std::size_t& found_;
};

TEST(FairTwins, AgreeOnTheJobsBelowTheirShare) {
  std::size_t found = 0;
  for (unsigned round = 0, base = std::random_device()(); round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    HistoryOptions options;
    const bool ccs = round % 2 == 1;
    options.settings = RandomSettings(base + round).Draw();
    options.settings.Of<FairSettings>().order = PoolOrder::kFair;
    options.conserving = false;
    options.gives_all_permits = false;
    options.make = [&] {
      std::unique_ptr<CopyGate> gate;
      if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
      return std::make_unique<ClocksCompared>(options.settings, ccs ? kComputePermit : kReduceSlot,
                                              Admission(nullptr, std::move(gate)), &found);
    };
    History history(base + round, options);
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) history.Step();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(found, 0U);
}

}  // namespace
}  // namespace millrace::sched
