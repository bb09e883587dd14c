// SPDX-License-Identifier: Apache-2.0
// Nothing stands still for ever, and nobody is killed for nothing: random histories under every scheduler and every
// pair of them (life.h). MILLRACE_HISTORIES says how many, MILLRACE_SEED with which they begin; tests/schedulers/
// standstill/run plays many more than the tests do.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "tests/schedulers/standstill/life.h"

namespace millrace::sched {
namespace {

std::uint64_t Number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

TEST(Standstill, EveryJobEndsOrFailsWithAReasonAndNobodyIsKilledTwiceForNothing) {
  const std::uint64_t histories = Number("MILLRACE_HISTORIES", 1000);
  const std::uint64_t base = Number("MILLRACE_SEED", std::random_device()());
  Life::Counts all;
  for (std::uint64_t seed = base; seed < base + histories; ++seed) {
    Life life(seed);
    const auto wrong = life.Play();
    if (wrong && std::getenv("MILLRACE_JOURNAL") != nullptr) std::fputs(life.journal().c_str(), stderr);
    EXPECT_FALSE(wrong) << "seed " << seed << ' ' << wrong.value_or("");
    const Life::Counts& counts = life.counts();
    all.succeeded += counts.succeeded, all.failed += counts.failed, all.given_up += counts.given_up;
    all.evicted += counts.evicted, all.preempted += counts.preempted, all.switched += counts.switched;
    all.lost_outputs += counts.lost_outputs, all.futile += counts.futile;
    all.restarts += counts.restarts;
  }
  std::printf(
      "%llu histories from seed %llu: %u jobs succeeded, %u failed, %u of these for lack of room, %u evicted, "
      "%u preempted (%u rounds for nobody), %u switches, %u outputs lost, %u restarts\n",
      static_cast<unsigned long long>(histories), static_cast<unsigned long long>(base), all.succeeded, all.failed,
      all.given_up, all.evicted, all.preempted, all.futile, all.switched, all.lost_outputs, all.restarts);
  // They are only worth something if they reach all of this.
  if (histories < 1000) return;
  for (const std::uint32_t count : {all.succeeded, all.failed, all.given_up, all.evicted, all.preempted, all.switched,
                                    all.lost_outputs, all.restarts}) {
    EXPECT_GT(count, histories / 50);
  }
}

}  // namespace
}  // namespace millrace::sched
