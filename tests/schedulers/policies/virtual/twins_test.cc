// SPDX-License-Identifier: Apache-2.0
// psbs and uwfq against their plain twins, along random histories with faults. MILLRACE_HISTORIES says how many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/offering/reference.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/virtual/reference.h"
#include "schedulers/policies/virtual/uwfq.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/same_decisions.h"

namespace millrace::sched {
namespace {

class VirtualTwins : public testing::TestWithParam<std::string> {};

TEST_P(VirtualTwins, DecideTheSame) {
  const char* const many = std::getenv("MILLRACE_HISTORIES");
  const unsigned rounds = many == nullptr ? 200 : static_cast<unsigned>(std::stoul(many));
  const unsigned first = std::random_device()();
  for (unsigned seed = first; seed - first < rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    const bool ccs = seed % 2 == 1;
    const Micros grace = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 5 : 5 * kSecond;
    options.scheduler = GetParam() + (ccs ? "+ccs" : "");
    options.settings.Of<UwfqSettings>().grace = grace;
    History history(seed, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    ASSERT_FALSE(HasFailure());
    std::unique_ptr<CopyGate> gate;
    if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
    const SlotKind reduces = ccs ? kComputePermit : kReduceSlot;
    std::unique_ptr<JobOrder> order;
    if (GetParam() == "psbs") order = std::make_unique<PsbsReference>(reduces);
    if (GetParam() == "uwfq") order = std::make_unique<UwfqReference>(grace, reduces);
    auto reference = std::make_unique<GreedyReference>(std::move(order), Admission(nullptr, std::move(gate)));
    ExpectSameDecisions(history.records(), MakePolicyOf(options), std::move(reference));
    ASSERT_FALSE(HasFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(All, VirtualTwins, testing::Values("psbs", "uwfq"), [](const auto& of) { return of.param; });

}  // namespace
}  // namespace millrace::sched
