// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/node_ids.h"

namespace millrace::dfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSeeds = 50;  // each rule must hold however the ties fall

Candidate Node(NodeId node, std::string rack, std::string datacenter = "d") {
  return {.node = node, .where = {std::move(rack), std::move(datacenter)}, .free_bytes = 1000, .writes_under_way = 0};
}

// Two racks of three: 0, 1, 2 in r0 and 3, 4, 5 in r1.
std::vector<Candidate> TwoRacks() {
  std::vector<Candidate> nodes;
  for (std::uint32_t n = 0; n < 6; ++n) nodes.push_back(Node(NodeId{n}, n < 3 ? "r0" : "r1"));
  return nodes;
}

std::vector<NodeId> Choose(const std::vector<Candidate>& nodes, const PlacementRequest& request,
                           std::uint64_t seed = 1) {
  Random random(seed);
  return ChooseTargets(nodes, request, random);
}

bool InFirstRack(NodeId node) { return node < 3_n; }

TEST(Placement, WriterThenTwoInAnotherRack) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(TwoRacks(), {.replicas = 3, .block_size = 1, .writer = 1_n}, seed);
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_EQ(got[0], 1_n);
    EXPECT_FALSE(InFirstRack(got[1]));
    EXPECT_FALSE(InFirstRack(got[2]));
    EXPECT_NE(got[1], got[2]);
  }
}

TEST(Placement, WriterThatIsNoWorkerStartsAnywhere) {
  std::set<NodeId> firsts;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(TwoRacks(), {.replicas = 3, .block_size = 1, .writer = 99_n}, seed);
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_NE(InFirstRack(got[0]), InFirstRack(got[1]));
    EXPECT_EQ(InFirstRack(got[1]), InFirstRack(got[2]));
    firsts.insert(got[0]);
  }
  EXPECT_THAT(firsts, SizeIs(6));
}

TEST(Placement, FurtherReplicasGoAnywhere) {
  const auto got = Choose(TwoRacks(), {.replicas = 6, .block_size = 1, .writer = 0_n});
  EXPECT_EQ(std::set<NodeId>(got.begin(), got.end()), (std::set<NodeId>{0_n, 1_n, 2_n, 3_n, 4_n, 5_n}));
}

TEST(Placement, OneRackIsBetterThanNothing) {
  std::vector<Candidate> nodes = {Node(0_n, "r"), Node(1_n, "r"), Node(2_n, "r")};
  EXPECT_THAT(Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 2_n}), SizeIs(3));
}

TEST(Placement, SecondRackWithOneNodeTakesTheThirdElsewhere) {
  const std::vector<Candidate> nodes = {Node(0_n, "r0"), Node(1_n, "r0"), Node(2_n, "r1")};
  EXPECT_THAT(Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 0_n}), ElementsAre(0_n, 2_n, 1_n));
}

TEST(Placement, TooFewNodesGiveFewer) {
  EXPECT_THAT(Choose({Node(7_n, "r")}, {.replicas = 3, .block_size = 1}), ElementsAre(7_n));
  EXPECT_THAT(Choose({}, {.replicas = 3, .block_size = 1}), IsEmpty());
}

TEST(Placement, RacksOfTwoDatacentersDiffer) {
  const std::vector<Candidate> nodes = {Node(0_n, "r", "east"), Node(1_n, "r", "east"), Node(2_n, "r", "west")};
  EXPECT_THAT(Choose(nodes, {.replicas = 2, .block_size = 1, .writer = 0_n}), ElementsAre(0_n, 2_n));
}

TEST(Placement, ExcludedAndFullNodesAreNotChosen) {
  std::vector<Candidate> nodes = TwoRacks();
  nodes[0].free_bytes = 99;
  nodes[3].free_bytes = 100;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(nodes, {.replicas = 6, .block_size = 100, .writer = 0_n, .excluded = {1_n, 4_n}}, seed);
    EXPECT_EQ(std::set<NodeId>(got.begin(), got.end()), (std::set<NodeId>{2_n, 3_n, 5_n}));
  }
  EXPECT_THAT(Choose(nodes, {.replicas = 1, .block_size = 5000}), IsEmpty());
}

TEST(Placement, GoesOnFromExistingReplicas) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto second = Choose(TwoRacks(), {.replicas = 1, .block_size = 1, .existing = {4_n}}, seed);
    ASSERT_THAT(second, SizeIs(1));
    EXPECT_TRUE(InFirstRack(second[0]));
    const auto third = Choose(TwoRacks(), {.replicas = 1, .block_size = 1, .existing = {3_n, 4_n}}, seed);
    ASSERT_THAT(third, SizeIs(1));
    EXPECT_TRUE(InFirstRack(third[0]));
    EXPECT_THAT(Choose(TwoRacks(), {.replicas = 6, .block_size = 1, .writer = 0_n, .existing = {0_n, 5_n}}, seed),
                testing::UnorderedElementsAre(1_n, 2_n, 3_n, 4_n));
  }
}

TEST(Placement, SpreadsOverDatacentersWhenAsked) {
  const std::vector<Candidate> nodes = {Node(0_n, "a", "x"), Node(1_n, "b", "x"), Node(2_n, "c", "x"),
                                        Node(3_n, "a", "y"), Node(4_n, "a", "y"), Node(5_n, "a", "z")};
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 0_n, .spread_datacenters = true}, seed);
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_EQ(got[0], 0_n);
    EXPECT_THAT(got, Contains(5_n));
    EXPECT_THAT(got, testing::AnyOf(Contains(3_n), Contains(4_n)));
    EXPECT_THAT(Choose(nodes, {.replicas = 6, .block_size = 1, .spread_datacenters = true}, seed), SizeIs(6));
  }
}

TEST(Placement, PrefersNodesWithFewerWrites) {
  std::vector<Candidate> nodes = TwoRacks();
  for (Candidate& c : nodes) c.writes_under_way = 2;
  nodes[2].writes_under_way = 1;
  nodes[4].writes_under_way = 1;
  nodes[5].writes_under_way = 0;
  EXPECT_THAT(Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 0_n}), ElementsAre(0_n, 5_n, 4_n));
  EXPECT_THAT(Choose(nodes, {.replicas = 2, .block_size = 1}), ElementsAre(5_n, 2_n));
}

TEST(Placement, TiesFallEvenly) {
  int counts[6] = {};
  Random random(11);
  for (int i = 0; i < 6000; ++i) ++counts[ChooseTargets(TwoRacks(), {.replicas = 1, .block_size = 1}, random)[0].value];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(Placement, NeverTwoOnANodeWhateverTheRequest) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Candidate> nodes;
    for (std::uint32_t n = 0; n < random.Below(12); ++n) {
      nodes.push_back(Node(NodeId{n}, "r" + std::to_string(random.Below(3)), "d" + std::to_string(random.Below(2))));
      nodes.back().free_bytes = random.Below(3);
    }
    PlacementRequest request{.replicas = static_cast<std::uint32_t>(random.Below(8)), .block_size = random.Below(3)};
    if (random.Below(2) == 0) request.writer = NodeId{static_cast<std::uint32_t>(random.Below(12))};
    for (std::uint32_t n = 0; n < 12; ++n) {
      if (random.Below(5) == 0) request.existing.push_back(NodeId{n});
      if (random.Below(5) == 0) request.excluded.push_back(NodeId{n});
    }
    request.spread_datacenters = random.Below(2) == 0;
    std::set<NodeId> fit;
    for (const Candidate& c : nodes) {
      if (c.free_bytes >= request.block_size &&
          std::count(request.existing.begin(), request.existing.end(), c.node) == 0 &&
          std::count(request.excluded.begin(), request.excluded.end(), c.node) == 0) {
        fit.insert(c.node);
      }
    }
    const std::vector<NodeId> got = ChooseTargets(nodes, request, random);
    EXPECT_THAT(got, SizeIs(std::min<std::size_t>(fit.size(), request.replicas)));
    EXPECT_THAT(std::set<NodeId>(got.begin(), got.end()), SizeIs(got.size()));
    for (const NodeId n : got) EXPECT_TRUE(fit.contains(n));
  }
}

TEST(Surplus, KeepsRacksThenDatacentersThenSpace) {
  EXPECT_EQ(ChooseSurplus({Node(0_n, "r0"), Node(1_n, "r1"), Node(2_n, "r1")}), 1_n);
  std::vector<Candidate> nodes = {Node(0_n, "r0"), Node(1_n, "r1"), Node(2_n, "r1")};
  nodes[0].free_bytes = 0;
  nodes[2].free_bytes = 10;
  EXPECT_EQ(ChooseSurplus(nodes), 2_n);
  nodes = {Node(0_n, "r0", "east"), Node(1_n, "r1", "west"), Node(2_n, "r2", "west")};
  nodes[0].free_bytes = 0;
  nodes[1].free_bytes = 5;
  EXPECT_EQ(ChooseSurplus(nodes), 1_n);
  nodes = {Node(3_n, "r"), Node(4_n, "r")};
  nodes[1].free_bytes = 999;
  EXPECT_EQ(ChooseSurplus(nodes), 4_n);
}

TEST(DistanceOf, IsByNodeRackDatacenter) {
  const Location a{"r0", "d0"};
  EXPECT_EQ(DistanceBetween(1_n, a, 1_n, a), Locality::kNode);
  EXPECT_EQ(DistanceBetween(1_n, a, 2_n, a), Locality::kRack);
  EXPECT_EQ(DistanceBetween(1_n, a, 2_n, {"r1", "d0"}), Locality::kDatacenter);
  EXPECT_EQ(DistanceBetween(1_n, a, 2_n, {"r0", "d1"}), Locality::kOff);
  EXPECT_LT(Locality::kNode, Locality::kRack);
  EXPECT_LT(Locality::kRack, Locality::kDatacenter);
  EXPECT_LT(Locality::kDatacenter, Locality::kOff);
}

TEST(MoveKeepsSpread, CountsRacksAndDatacenters) {
  const Location r0{"r0", "d0"}, r1{"r1", "d0"}, other{"r0", "d1"};
  EXPECT_TRUE(MoveKeepsSpread({}, r0, r1)) << "of one replica";
  EXPECT_TRUE(MoveKeepsSpread({&r1}, r0, r0)) << "within the rack";
  EXPECT_FALSE(MoveKeepsSpread({&r1}, r0, r1)) << "the only one in r0";
  EXPECT_TRUE(MoveKeepsSpread({&r0, &r1}, r0, r1));
  EXPECT_FALSE(MoveKeepsSpread({&r0}, other, r1)) << "two racks as before, but one datacenter less";
  EXPECT_TRUE(MoveKeepsSpread({&r0}, r1, other));
}

}  // namespace
}  // namespace millrace::dfs
