// SPDX-License-Identifier: Apache-2.0
// The counts against a plain list of blocks.
#include "dfs/name/replica_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace millrace::dfs {
namespace {

struct Plain {
  std::uint32_t wanted, needed, live;
  std::size_t held;
};

TEST(ReplicaCountsTest, AgreesWithAListWhateverComesAndGoes) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  ReplicaCounts counts;
  std::vector<Plain> blocks;
  for (int step = 0; step < 3000; ++step) {
    if (blocks.empty() || random.Below(3) != 0) {
      const std::size_t held = random.Below(5);
      const auto wanted = static_cast<std::uint32_t>(1 + random.Below(random.Below(4) == 0 ? kMaxReplication : 4));
      const auto needed = random.Below(3) == 0 ? static_cast<std::uint32_t>(1 + random.Below(wanted)) : wanted;
      blocks.push_back({wanted, needed, held > 0 ? static_cast<std::uint32_t>(random.Below(70)) : 0, held});
      counts.Add(wanted, needed, blocks.back().live, held);
    } else {
      const std::size_t at = random.Below(blocks.size());
      counts.Remove(blocks[at].wanted, blocks[at].needed, blocks[at].live, blocks[at].held);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (step % 50 != 0) continue;
    const std::size_t places = random.Below(8);
    std::uint64_t missing = 0, under = 0, short_of = 0, over = 0, single = 0;
    std::uint32_t most = 0;
    for (const Plain& block : blocks) {
      most = std::max(most, block.wanted);
      if (block.held == 1 && block.wanted > 1) ++single;
      if (block.held == 0) {
        ++missing;
      } else if (block.live > block.wanted) {
        ++over;
      } else if (block.live < block.needed) {
        ++(block.live < std::max<std::size_t>(1, places) ? under : short_of);
      }
    }
    EXPECT_EQ(counts.missing(), missing);
    EXPECT_EQ(counts.single(), single);
    EXPECT_EQ(counts.Under(places), under);
    EXPECT_EQ(counts.ShortOfPlaces(places), short_of);
    EXPECT_EQ(counts.Over(), over);
    EXPECT_EQ(counts.MostWanted(), most);
  }
}

TEST(ReplicaCountsTest, NothingIsCountedOfNothing) {
  const ReplicaCounts counts;
  EXPECT_EQ(counts.missing() + counts.single() + counts.Under(3) + counts.ShortOfPlaces(3) + counts.Over(), 0u);
  EXPECT_EQ(counts.MostWanted(), 0u);
}

}  // namespace
}  // namespace millrace::dfs
