#include "dfs/name/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
  for (NodeId n = 0; n < 6; ++n) nodes.push_back(Node(n, n < 3 ? "r0" : "r1"));
  return nodes;
}

std::vector<NodeId> Choose(const std::vector<Candidate>& nodes, const PlacementRequest& request,
                           std::uint64_t seed = 1) {
  Random random(seed);
  return ChooseTargets(nodes, request, random);
}

bool InFirstRack(NodeId node) { return node < 3; }

TEST(Placement, WriterThenTwoInAnotherRack) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(TwoRacks(), {.replicas = 3, .block_size = 1, .writer = 1}, seed);
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_EQ(got[0], 1u);
    EXPECT_FALSE(InFirstRack(got[1]));
    EXPECT_FALSE(InFirstRack(got[2]));
    EXPECT_NE(got[1], got[2]);
  }
}

TEST(Placement, WriterThatIsNoWorkerStartsAnywhere) {
  std::set<NodeId> firsts;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(TwoRacks(), {.replicas = 3, .block_size = 1, .writer = 99}, seed);
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_NE(InFirstRack(got[0]), InFirstRack(got[1]));
    EXPECT_EQ(InFirstRack(got[1]), InFirstRack(got[2]));
    firsts.insert(got[0]);
  }
  EXPECT_THAT(firsts, SizeIs(6));
}

TEST(Placement, FurtherReplicasGoAnywhere) {
  const auto got = Choose(TwoRacks(), {.replicas = 6, .block_size = 1, .writer = 0});
  EXPECT_EQ(std::set<NodeId>(got.begin(), got.end()), (std::set<NodeId>{0, 1, 2, 3, 4, 5}));
}

TEST(Placement, OneRackIsBetterThanNothing) {
  std::vector<Candidate> nodes = {Node(0, "r"), Node(1, "r"), Node(2, "r")};
  EXPECT_THAT(Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 2}), SizeIs(3));
}

TEST(Placement, SecondRackWithOneNodeTakesTheThirdElsewhere) {
  const std::vector<Candidate> nodes = {Node(0, "r0"), Node(1, "r0"), Node(2, "r1")};
  EXPECT_THAT(Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 0}), ElementsAre(0, 2, 1));
}

TEST(Placement, TooFewNodesGiveFewer) {
  EXPECT_THAT(Choose({Node(7, "r")}, {.replicas = 3, .block_size = 1}), ElementsAre(7));
  EXPECT_THAT(Choose({}, {.replicas = 3, .block_size = 1}), IsEmpty());
}

TEST(Placement, RacksOfTwoDatacentersDiffer) {
  const std::vector<Candidate> nodes = {Node(0, "r", "east"), Node(1, "r", "east"), Node(2, "r", "west")};
  EXPECT_THAT(Choose(nodes, {.replicas = 2, .block_size = 1, .writer = 0}), ElementsAre(0, 2));
}

TEST(Placement, ExcludedAndFullNodesAreNotChosen) {
  std::vector<Candidate> nodes = TwoRacks();
  nodes[0].free_bytes = 99;
  nodes[3].free_bytes = 100;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(nodes, {.replicas = 6, .block_size = 100, .writer = 0, .excluded = {1, 4}}, seed);
    EXPECT_EQ(std::set<NodeId>(got.begin(), got.end()), (std::set<NodeId>{2, 3, 5}));
  }
  EXPECT_THAT(Choose(nodes, {.replicas = 1, .block_size = 5000}), IsEmpty());
}

TEST(Placement, GoesOnFromExistingReplicas) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto second = Choose(TwoRacks(), {.replicas = 1, .block_size = 1, .existing = {4}}, seed);
    ASSERT_THAT(second, SizeIs(1));
    EXPECT_TRUE(InFirstRack(second[0]));
    const auto third = Choose(TwoRacks(), {.replicas = 1, .block_size = 1, .existing = {3, 4}}, seed);
    ASSERT_THAT(third, SizeIs(1));
    EXPECT_TRUE(InFirstRack(third[0]));
    EXPECT_THAT(Choose(TwoRacks(), {.replicas = 6, .block_size = 1, .writer = 0, .existing = {0, 5}}, seed),
                testing::UnorderedElementsAre(1, 2, 3, 4));
  }
}

TEST(Placement, SpreadsOverDatacentersWhenAsked) {
  const std::vector<Candidate> nodes = {Node(0, "a", "x"), Node(1, "b", "x"), Node(2, "c", "x"),
                                        Node(3, "a", "y"), Node(4, "a", "y"), Node(5, "a", "z")};
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto got = Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 0, .spread_datacenters = true}, seed);
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_EQ(got[0], 0u);
    EXPECT_THAT(got, Contains(5));
    EXPECT_THAT(got, testing::AnyOf(Contains(3), Contains(4)));
    EXPECT_THAT(Choose(nodes, {.replicas = 6, .block_size = 1, .spread_datacenters = true}, seed), SizeIs(6));
  }
}

TEST(Placement, PrefersNodesWithFewerWrites) {
  std::vector<Candidate> nodes = TwoRacks();
  for (Candidate& c : nodes) c.writes_under_way = 2;
  nodes[2].writes_under_way = 1;
  nodes[4].writes_under_way = 1;
  nodes[5].writes_under_way = 0;
  EXPECT_THAT(Choose(nodes, {.replicas = 3, .block_size = 1, .writer = 0}), ElementsAre(0, 5, 4));
  EXPECT_THAT(Choose(nodes, {.replicas = 2, .block_size = 1}), ElementsAre(5, 2));
}

TEST(Placement, TiesFallEvenly) {
  int counts[6] = {};
  Random random(11);
  for (int i = 0; i < 6000; ++i) ++counts[ChooseTargets(TwoRacks(), {.replicas = 1, .block_size = 1}, random)[0]];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(Placement, NeverTwoOnANodeWhateverTheRequest) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Candidate> nodes;
    for (NodeId n = 0; n < random.Below(12); ++n) {
      nodes.push_back(Node(n, "r" + std::to_string(random.Below(3)), "d" + std::to_string(random.Below(2))));
      nodes.back().free_bytes = random.Below(3);
    }
    PlacementRequest request{.replicas = static_cast<std::uint32_t>(random.Below(8)), .block_size = random.Below(3)};
    if (random.Below(2) == 0) request.writer = static_cast<NodeId>(random.Below(12));
    for (NodeId n = 0; n < 12; ++n) {
      if (random.Below(5) == 0) request.existing.push_back(n);
      if (random.Below(5) == 0) request.excluded.push_back(n);
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
  EXPECT_EQ(ChooseSurplus({Node(0, "r0"), Node(1, "r1"), Node(2, "r1")}), 1u);
  std::vector<Candidate> nodes = {Node(0, "r0"), Node(1, "r1"), Node(2, "r1")};
  nodes[0].free_bytes = 0;
  nodes[2].free_bytes = 10;
  EXPECT_EQ(ChooseSurplus(nodes), 2u);
  nodes = {Node(0, "r0", "east"), Node(1, "r1", "west"), Node(2, "r2", "west")};
  nodes[0].free_bytes = 0;
  nodes[1].free_bytes = 5;
  EXPECT_EQ(ChooseSurplus(nodes), 1u);
  nodes = {Node(3, "r"), Node(4, "r")};
  nodes[1].free_bytes = 999;
  EXPECT_EQ(ChooseSurplus(nodes), 4u);
}

TEST(DistanceOf, IsByNodeRackDatacenter) {
  const Location a{"r0", "d0"};
  EXPECT_EQ(DistanceBetween(1, a, 1, a), Distance::kNode);
  EXPECT_EQ(DistanceBetween(1, a, 2, a), Distance::kRack);
  EXPECT_EQ(DistanceBetween(1, a, 2, {"r1", "d0"}), Distance::kDatacenter);
  EXPECT_EQ(DistanceBetween(1, a, 2, {"r0", "d1"}), Distance::kOff);
  EXPECT_LT(Distance::kNode, Distance::kRack);
  EXPECT_LT(Distance::kRack, Distance::kDatacenter);
  EXPECT_LT(Distance::kDatacenter, Distance::kOff);
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
