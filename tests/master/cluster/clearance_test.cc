// SPDX-License-Identifier: Apache-2.0
// May this node go? Every state that a node can be in, against what the answer promises.
#include "master/cluster/clearance.h"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>

namespace millrace::master {
namespace {

NodeStand Empty() {
  NodeStand stand;
  stand.complete = stand.alive = stand.drains = true;
  stand.blocks_left = 0;
  return stand;
}

TEST(ClearanceTest, ANodeThatIsHereDrainsAndHasNothingMayGo) { EXPECT_EQ(ClearanceOf(Empty()), Clearance::kYes); }

// Each single thing that speaks against it, alone.
TEST(ClearanceTest, AnyThingThatKeepsItIsEnough) {
  struct {
    void (*change)(NodeStand&);
    Clearance clearance;
  } const kThings[] = {
      {[](NodeStand& s) { s.complete = false; }, Clearance::kUnknown},
      {[](NodeStand& s) { s.alive = false; }, Clearance::kLost},
      {[](NodeStand& s) { s.drains = false; }, Clearance::kInUse},
      {[](NodeStand& s) { s.blocks_left.reset(); }, Clearance::kUnknown},
      {[](NodeStand& s) { s.unknown_held = true; }, Clearance::kHeld},
      {[](NodeStand& s) { s.blocks_left = 1; }, Clearance::kBlocks},
      {[](NodeStand& s) { s.writes = 1; }, Clearance::kBlocks},
      {[](NodeStand& s) { s.doubted = true; }, Clearance::kDoubt},
      {[](NodeStand& s) { s.tasks = 1; }, Clearance::kTasks},
      {[](NodeStand& s) { s.outputs = 1; }, Clearance::kOutputs},
  };
  for (const auto& thing : kThings) {
    NodeStand stand = Empty();
    thing.change(stand);
    EXPECT_EQ(ClearanceOf(stand), thing.clearance);
  }
  // All of them, in any mixture: it is yes for none but the empty mixture, and the first that holds is named.
  constexpr unsigned kMixtures = 1u << std::size(kThings);
  for (unsigned mixture = 0; mixture < kMixtures; ++mixture) {
    NodeStand stand = Empty();
    std::optional<Clearance> first;
    for (std::size_t i = 0; i < std::size(kThings); ++i) {
      if ((mixture >> i & 1) == 0) continue;
      // Unknown numbers of blocks are not counted either.
      if (i == 5 && !stand.blocks_left) continue;
      kThings[i].change(stand);
      if (!first) first = kThings[i].clearance;
    }
    EXPECT_EQ(ClearanceOf(stand), first.value_or(Clearance::kYes)) << mixture;
  }
}

}  // namespace
}  // namespace millrace::master
