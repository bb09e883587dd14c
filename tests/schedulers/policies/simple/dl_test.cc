// SPDX-License-Identifier: Apache-2.0
// Tests that dl decides as DlReference does, and that it passes on to +delay what has changed about nodes.
#include "schedulers/policies/simple/dl.h"

#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/policies/simple/reference.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/same_decisions.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class DlTwins : public testing::TestWithParam<bool> {};

TEST_P(DlTwins, DecideTheSame) {
  const bool ccs = GetParam();
  std::vector<unsigned> seeds = {1078309499};  // once it found a held job that was launched
  for (unsigned round = 0, base = std::random_device()(); round < 200; ++round) seeds.push_back(base + round);
  for (const unsigned seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    options.scheduler = ccs ? "dl+ccs" : "dl";
    options.settings.Of<CcsSettings>().max_reducers = 2;
    options.conserving = false;
    History history(seed, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
    std::unique_ptr<CopyGate> gate;
    if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
    ExpectSameDecisions(history.records(), MakePolicyOf(options),
                        std::make_unique<DlReference>(Admission(nullptr, std::move(gate))));
    ASSERT_FALSE(HasFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(Dl, DlTwins, testing::Bool(),
                         [](const auto& param) { return param.param ? "with_ccs" : "alone"; });

// The maps of job2 have three slots at their data, so they wait for those. When n2 is drained they have one, and one of
// them may use the slot of n3, which would idle.
class DelayedDl : public testing::TestWithParam<const char*> {};

TEST_P(DelayedDl, LearnsThatSlotsAtTheDataAreGone) {
  Settings settings;
  settings.Of<LsapSettings>().batch_window = 0;
  std::string why;
  auto policy = MakePolicy(GetParam(), settings, &why);
  ASSERT_NE(policy, nullptr) << why;
  Engine engine({}, std::move(policy));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=r1 maps=1
    0 NodeJoined node=n2 rack=r1 maps=2
    1 JobSubmitted job=job1 maps=64:n1,n2;64:n1,n2;64:n1,n2
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    -> launch job1.m.2.0 n2 node
    2 JobSubmitted job=job2 maps=64:n1,n2;64:n1,n2
    3 NodeJoined node=n3 rack=r2 maps=1
    3 decide
    4 NodeDrained node=n2
    4 decide
    -> launch job2.m.0.0 n3 datacenter
  )");
}

// An evicted job waits until another one ends, even where its data is, and even if it was submitted first.
TEST(HeldJob, GetsNoSlotAtItsData) {
  for (const PolicyInfo& info : ListPolicies()) {
    SCOPED_TRACE(info.name);
    std::string why;
    Engine engine({}, MakePolicy(info.name, {}, &why));
    EXPECT_PLAYS(&engine, R"(
      0 NodeJoined node=n1 rack=r1 maps=1
      1 JobSubmitted job=job1 maps=64:n1
      1 JobSubmitted job=job2 maps=64:n1
      2 JobEvicted job=job1
      1000000 decide
      -> launch job2.m.0.0 n1 node
      2000000 AttemptSucceeded attempt=job2.m.0.0
      -> ended job2 succeeded
      3000000 decide
      -> launch job1.m.0.0 n1 node
    )");
  }
}

// The map of job1 failed on n1 and fits nowhere else. As long as maps run, one that ends might make room for it on n2,
// so it is refused the free slot of n1. When none runs it has to go there.
TEST(RefusedMap, GoesWhereItFailedWhenNoMapRuns) {
  for (const PolicyInfo& info : ListPolicies()) {
    SCOPED_TRACE(info.name);
    std::string why;
    Engine engine({}, MakePolicy(info.name, {}, &why));
    EXPECT_PLAYS(&engine, R"(
      0 NodeJoined node=n1 rack=r1 maps=2 reduces=1
      0 NodeJoined node=n2 rack=r1 maps=1
      0 NodeSpace node=n2 free_bytes=10
      1 JobSubmitted job=job1 maps=50: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
      1 decide
      -> launch job1.m.0.0 n1 off
      2 JobSubmitted job=job2 maps=1:
      2 AttemptLaunched attempt=job2.m.0.0 node=n1
      2 AttemptFailed attempt=job1.m.0.0 reason=x
      1000000 decide
      2000000 AttemptSucceeded attempt=job2.m.0.0
      -> ended job2 succeeded
      2000000 decide
      -> launch job1.m.0.1 n1 off
    )");
  }
}

INSTANTIATE_TEST_SUITE_P(Dl, DelayedDl, testing::Values("dl+delay", "lsap+delay", "lsap-uniform+delay"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace millrace::sched
