// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/pack_splits.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "tests/node_ids.h"

namespace millrace::master {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Input {
  std::vector<Split> splits;
  std::vector<std::vector<NodeId>> nodes;  // of each
  std::set<NodeId> without_slots;

  // Splits are told from each other by the number of their block.
  void Add(std::uint64_t length, std::vector<NodeId> on) {
    const std::string path = "/f" + std::to_string(splits.size());
    splits.push_back({path, path.substr(1), length, 0, length, {{splits.size(), length}}, 0});
    nodes.push_back(std::move(on));
  }
  [[nodiscard]] std::vector<PackedSplits> Pack(std::uint64_t target) const {
    return PackSplits(splits,
                      {[this](const Split& split) { return nodes[split.blocks.front().id]; },
                       [this](NodeId node) { return !without_slots.contains(node); }},
                      target);
  }
};

std::vector<std::uint64_t> Numbers(const PackedSplits& map) {
  std::vector<std::uint64_t> numbers;
  for (const Split& split : map.splits) numbers.push_back(split.blocks.front().id);
  return numbers;
}

std::vector<std::vector<std::uint64_t>> Numbers(const std::vector<PackedSplits>& maps) {
  std::vector<std::vector<std::uint64_t>> numbers;
  for (const PackedSplits& map : maps) numbers.push_back(Numbers(map));
  return numbers;
}

TEST(PackSplitsTest, SplitsOfOneNodeShareMapsUpToTheTarget) {
  Input input;
  for (const std::uint64_t mib : {1, 1, 2, 1, 4, 3, 1, 3}) input.Add(mib * kMiB, {1_n});
  EXPECT_THAT(Numbers(input.Pack(4 * kMiB)),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 5), ElementsAre(4), ElementsAre(6, 7)));
}

TEST(PackSplitsTest, ALargeSplitStaysAlone) {
  Input input;
  for (const std::uint64_t mib : {31, 32, 31, 64, 31}) input.Add(mib * kMiB, {1_n});
  EXPECT_THAT(Numbers(input.Pack(128 * kMiB)), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1), ElementsAre(3)));
}

TEST(PackSplitsTest, WithoutATargetEachIsAlone) {
  Input input;
  for (int i = 0; i < 3; ++i) input.Add(i, {2_n, 1_n});
  const std::vector<PackedSplits> maps = input.Pack(0);
  EXPECT_THAT(Numbers(maps), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(maps, Each(Field(&PackedSplits::nodes, ElementsAre(2_n, 1_n))));
}

TEST(PackSplitsTest, ASplitCountsALeast) {
  Input input;
  for (int i = 0; i < 8; ++i) input.Add(i % 2, {1_n});
  EXPECT_THAT(Numbers(input.Pack(kMiB)), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
}

TEST(PackSplitsTest, AMapStaysOnOneNodeAtLeast) {
  Input input;
  for (const std::vector<NodeId>& on :
       std::vector<std::vector<NodeId>>{{1_n, 2_n}, {3_n}, {2_n, 1_n}, {1_n, 3_n}, {2_n, 3_n}})
    input.Add(kMiB, on);
  const std::vector<PackedSplits> maps = input.Pack(8 * kMiB);
  EXPECT_THAT(Numbers(maps), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3, 4)));
  EXPECT_THAT(maps[0].nodes, ElementsAre(1_n, 2_n));
  EXPECT_THAT(maps[1].nodes, ElementsAre(3_n));
}

TEST(PackSplitsTest, AMapIsLocalWhereItCanRun) {
  Input input;
  input.without_slots = {1_n, 4_n};
  const std::vector<std::vector<NodeId>> places = {{1_n, 2_n}, {1_n, 3_n}, {1_n, 2_n},
                                                   {1_n, 3_n}, {1_n, 4_n}, {4_n, 1_n}};
  for (const std::vector<NodeId>& on : places) input.Add(kMiB, on);
  const std::vector<PackedSplits> maps = input.Pack(8 * kMiB);
  EXPECT_THAT(Numbers(maps), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4, 5)));
  EXPECT_THAT(maps[0].nodes, ElementsAre(1_n, 2_n));
  EXPECT_THAT(maps[1].nodes, ElementsAre(1_n, 3_n));
  EXPECT_THAT(maps[2].nodes, ElementsAre(1_n, 4_n)) << "in their racks at least";
}

TEST(PackSplitsTest, NewMapsGoToTheNodesThatWereGivenLeast) {
  Input input;
  for (int i = 0; i < 12; ++i) input.Add(kMiB, {3_n, 1_n, 2_n});
  input.Add(kMiB, {1_n});  // on 1 its map of four is still open, and full
  EXPECT_THAT(Numbers(input.Pack(4 * kMiB)), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7),
                                                         ElementsAre(8, 9, 10, 11), ElementsAre(12)));
}

TEST(PackSplitsTest, SplitsWithoutKnownNodesShareMapsAmongThemselves) {
  Input input;
  for (int i = 0; i < 6; ++i) input.Add(kMiB, i % 2 == 0 ? std::vector<NodeId>{1_n} : std::vector<NodeId>{});
  const std::vector<PackedSplits> maps = input.Pack(3 * kMiB);
  EXPECT_THAT(Numbers(maps), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
  EXPECT_THAT(maps[1].nodes, IsEmpty());
}

// The number of splits that a launch names is bounded, however little they count.
TEST(PackSplitsTest, ALaunchStaysShort) {
  Input many;
  for (std::size_t i = 0; i < 2 * kMostPacked + 1; ++i) many.Add(1, {1_n});
  EXPECT_THAT(many.Pack(1024 * kMiB),
              ElementsAre(Field(&PackedSplits::splits, SizeIs(kMostPacked)),
                          Field(&PackedSplits::splits, SizeIs(kMostPacked)), Field(&PackedSplits::splits, SizeIs(1))));
  Input deep;
  for (int i = 0; i < 3; ++i) {
    deep.Add(1, {1_n});
    deep.splits.back().path.assign(kMostPackedNames / 3, 'x');
  }
  EXPECT_THAT(Numbers(deep.Pack(1024 * kMiB)), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
}

TEST(PackSplitsTest, TheTargetLeavesTwoMapsToEverySlot) {
  Input input;
  EXPECT_EQ(PackTarget(input.splits, 64 * kMiB, 4), 0u);
  for (int i = 0; i < 100; ++i) input.Add(10'000, {1_n});
  EXPECT_EQ(PackTarget(input.splits, 64 * kMiB, 4), 100 * kLeastPackCost / 8);
  EXPECT_EQ(PackTarget(input.splits, kMiB, 4), kMiB);
  EXPECT_EQ(PackTarget(input.splits, 0, 4), 0u);
  EXPECT_EQ(PackTarget(input.splits, 64 * kMiB, 0), 0u) << "no slots";
  input.Add(800 * kMiB, {1_n});
  EXPECT_EQ(PackTarget(input.splits, 1024 * kMiB, 4), (100 * kLeastPackCost + 800 * kMiB) / 8);
}

struct RandomInput : Input {
  explicit RandomInput(Random& random) : node_count(1 + random.Below(12)) {
    for (std::uint64_t left = random.Below(300); left > 0; --left) {
      const std::uint64_t length = random.Below(kMiB << random.Below(6));
      std::vector<NodeId> on;
      for (std::uint64_t n = random.Below(4); n > 0; --n) {
        const NodeId node{static_cast<std::uint32_t>(1 + random.Below(node_count))};
        if (std::ranges::find(on, node) == on.end()) on.push_back(node);
      }
      Add(length, std::move(on));
    }
  }
  // The nodes that hold all splits of the map, computed again.
  [[nodiscard]] std::vector<NodeId> Common(const PackedSplits& map) const {
    std::map<NodeId, std::size_t> holds;
    for (const std::uint64_t number : Numbers(map)) {
      for (const NodeId node : nodes[number]) ++holds[node];
    }
    std::vector<NodeId> common;
    for (const auto& [node, count] : holds) {
      if (count == map.splits.size()) common.push_back(node);
    }
    return common;
  }
  std::uint64_t node_count;
};

std::uint64_t Cost(const PackedSplits& map) {
  std::uint64_t cost = 0;
  for (const Split& split : map.splits) cost += std::max(split.length, kLeastPackCost);
  return cost;
}

void CheckMap(const RandomInput& input, const PackedSplits& map, std::uint64_t target) {
  EXPECT_TRUE(std::ranges::is_sorted(Numbers(map)));
  const std::vector<NodeId> common = input.Common(map);
  EXPECT_THAT(map.nodes, UnorderedElementsAreArray(common));
  if (map.splits.size() == 1) return;
  EXPECT_LE(Cost(map), target);
  if (!common.empty()) return;
  for (const std::uint64_t number : Numbers(map)) EXPECT_THAT(input.nodes[number], IsEmpty());
}

// The splits of two maps that are opened on a node one after another count more than the target together.
void CheckNumberOfMaps(const RandomInput& input, const std::vector<PackedSplits>& maps, std::uint64_t target) {
  std::uint64_t cost = 0, small = 0;
  for (const PackedSplits& map : maps) {
    if (Cost(map) >= target && map.splits.size() == 1) continue;
    cost += Cost(map);
    ++small;
  }
  if (target == 0) return;
  EXPECT_LE(small, 2 * cost / target + input.node_count + 1);
}

TEST(PackSplitsTest, RandomSplitsAreInOneMapEachWithinTheBounds) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 500; ++round) {
    RandomInput input(random);
    const std::uint64_t target = random.Below(random.Below(2) == 0 ? 40 * kMiB : 4 * kLeastPackCost);
    const std::vector<PackedSplits> maps = input.Pack(target);
    std::vector<std::uint64_t> all, firsts;
    for (const PackedSplits& map : maps) {
      CheckMap(input, map, target);
      firsts.push_back(Numbers(map).front());
      for (const std::uint64_t number : Numbers(map)) all.push_back(number);
    }
    EXPECT_TRUE(std::ranges::is_sorted(firsts));
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), input.splits.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
    CheckNumberOfMaps(input, maps, target);
    // Nor does it matter in which order a split's nodes are named.
    for (std::vector<NodeId>& nodes : input.nodes) std::ranges::reverse(nodes);
    EXPECT_EQ(Numbers(input.Pack(target)), Numbers(maps));
  }
}

}  // namespace
}  // namespace millrace::master
