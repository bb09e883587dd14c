// SPDX-License-Identifier: Apache-2.0
// Compares the index of pending maps with a plain search through all of them.
#include "schedulers/cluster/pending_maps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "schedulers/events/limits.h"

namespace millrace::sched {
namespace {

class Model {
 public:
  explicit Model(std::mt19937* random) : random_(*random) {
    for (std::uint32_t n = 0; n < kNodes - 4; ++n) Place(n);
    inputs_.resize(1 + random_() % 60);
    for (MapInput& input : inputs_) {
      input.replicas = Replicas();
      input.bytes = random_() % 6;
    }
    for (std::uint32_t map = 0; map < inputs_.size(); ++map) pending_.insert(map);
    index_ = PendingMaps(inputs_, topology_);
  }

  void Step() {
    const std::uint32_t map = random_() % static_cast<std::uint32_t>(inputs_.size());
    switch (random_() % 5) {
      case 0:
        Erase(map);
        pending_.erase(map);
        break;
      case 1:
        index_.Insert(map, inputs_[map], topology_, &nodes_);
        pending_.insert(map);
        break;
      case 2:
        Move(map, Replicas());
        break;
      case 3:
        LoseNode(random_() % kNodes);
        break;
      default:
        MoveNode(random_() % kNodes);
    }
  }

  void Compare() {
    if (!pending_.empty()) {
      const auto less = [this](std::uint32_t a, std::uint32_t b) { return inputs_[a].bytes < inputs_[b].bytes; };
      const auto [least, most] = std::minmax_element(pending_.begin(), pending_.end(), less);
      ASSERT_EQ(index_.Smallest(inputs_), inputs_[*least].bytes);
      ASSERT_EQ(index_.Largest(inputs_), inputs_[*most].bytes);
    }
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      ASSERT_EQ(index_.CountAt(NodeId{n}), At(n).size()) << "n" << n;
      if (!there_[n]) continue;
      for (const Locality worst : {Locality::kNode, Locality::kRack, Locality::kDatacenter, Locality::kOff}) {
        const auto got = index_.Best(NodeId{n}, topology_.Of(NodeId{n}), worst);
        ASSERT_EQ(got, Search(n, worst, false)) << "n" << n;
        const auto skip = [](std::uint32_t map) { return map % 3 == 0; };
        ASSERT_EQ(index_.Best(NodeId{n}, topology_.Of(NodeId{n}), worst, skip), Search(n, worst, true)) << "n" << n;
        if (got) {
          ASSERT_EQ(got->locality, topology_.Distance(NodeId{n}, inputs_[got->map].replicas));
        }
      }
    }
    ASSERT_EQ(std::vector<std::uint32_t>(index_.all().begin(), index_.all().end()),
              std::vector<std::uint32_t>(pending_.begin(), pending_.end()));
    std::vector<std::uint32_t> unlocated;
    for (const auto map : pending_) {
      const auto& replicas = inputs_[map].replicas;
      const auto is_there = [&](NodeId node) { return node.value < kNodes && there_[node.value]; };
      if (std::none_of(replicas.begin(), replicas.end(), is_there)) unlocated.push_back(map);
    }
    ASSERT_EQ(std::vector<std::uint32_t>(index_.unlocated().begin(), index_.unlocated().end()), unlocated);
  }

 private:
  static constexpr std::uint32_t kNodes = 16;  // the last four join late or never

  // "r1 d0" and so on; what the model knows of places, by name.
  void Place(std::uint32_t node) {
    const std::string dc = "d" + std::to_string(random_() % 2);
    const std::string rack = "r" + std::to_string(random_() % 3);
    topology_.Place(NodeId{node}, topology_.Intern(rack, dc));
    there_[node] = true;
    racks_[node] = rack + dc;
    datacenters_[node] = dc;
  }

  std::vector<NodeId> Replicas() {
    std::vector<NodeId> replicas(random_() % (random_() % 4 == 0 ? 8 : 4));
    for (NodeId& node : replicas) node.value = random_() % 9 == 0 ? 1U << 31 : random_() % kNodes;
    return replicas;
  }

  void Erase(std::uint32_t map) {
    index_.Erase(map, inputs_[map], topology_, &nodes_);
    if (pending_.contains(map)) left_.insert(map);
  }

  void Move(std::uint32_t map, std::vector<NodeId> replicas) {
    if (pending_.contains(map)) Erase(map);
    inputs_[map].replicas = std::move(replicas);
    if (pending_.contains(map)) index_.Insert(map, inputs_[map], topology_, &nodes_);
  }

  // Returns the pending maps with a replica there.
  std::vector<std::uint32_t> At(std::uint32_t node) const {
    std::vector<std::uint32_t> maps;
    for (const auto map : pending_) {
      const auto& replicas = inputs_[map].replicas;
      if (std::find(replicas.begin(), replicas.end(), NodeId{node}) != replicas.end()) maps.push_back(map);
    }
    return maps;
  }

  void MoveNode(std::uint32_t node) {
    const auto maps = index_.At(NodeId{node});
    ASSERT_EQ(maps, At(node));
    for (const auto map : maps) Erase(map);
    Place(node);
    for (const auto map : maps) index_.Insert(map, inputs_[map], topology_, &nodes_);
  }

  // Only the maps that are elsewhere without the node leave the index, as in ClusterState.
  void LoseNode(std::uint32_t node) {
    if (!there_[node]) return;
    auto maps = index_.At(NodeId{node});
    const std::uint32_t rack = topology_.Of(NodeId{node}).rack;
    std::erase_if(maps,
                  [&](std::uint32_t map) { return topology_.AnotherIn(rack, NodeId{node}, inputs_[map].replicas); });
    for (const auto map : maps) Erase(map);
    topology_.Remove(NodeId{node});
    there_[node] = false;
    for (const auto map : maps) index_.Insert(map, inputs_[map], topology_, &nodes_);
  }

  std::optional<MapChoice> Search(std::uint32_t node, Locality worst, bool skip) const {
    std::optional<MapChoice> best;
    for (const auto map : pending_) {
      if (skip && left_.contains(map) && map % 3 == 0) continue;
      Locality locality = Locality::kOff;
      for (const NodeId replica : inputs_[map].replicas) {
        if (replica.value >= kNodes || !there_[replica.value]) continue;
        if (replica.value == node) locality = Locality::kNode;
        if (racks_[replica.value] == racks_[node]) locality = std::min(locality, Locality::kRack);
        if (datacenters_[replica.value] == datacenters_[node]) locality = std::min(locality, Locality::kDatacenter);
      }
      if (locality <= worst && (!best || locality < best->locality)) best = MapChoice{map, locality};
    }
    return best;
  }

  std::mt19937& random_;
  Topology topology_;
  std::vector<NodeId> nodes_;  // whose first or last map came or went
  bool there_[kNodes] = {};
  std::string racks_[kNodes], datacenters_[kNodes];
  std::vector<MapInput> inputs_;
  std::set<std::uint32_t> pending_, left_;  // pending now; left at some time
  PendingMaps index_;
};

TEST(PendingMaps, FindsWhatAPlainSearchFinds) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    Model model(&random);
    for (int step = 0; step < 150 && !testing::Test::HasFatalFailure(); ++step) {
      model.Step();
      model.Compare();
    }
  }
}

// Counts by node are right when somebody asks, even after changes whose nodes nobody wanted to know.
TEST(PendingMaps, MakesUpForCountsThatWereLeftBehind) {
  constexpr std::uint32_t kSeed = 7, kMaps = 40, kNodes = 12;
  std::mt19937 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Topology topology;
  for (std::uint32_t n = 0; n < kNodes; ++n) topology.Place(NodeId{n}, topology.Intern("r", "d"));
  std::vector<MapInput> inputs(kMaps);
  const auto node = [&](std::uint32_t below) { return NodeId{static_cast<std::uint32_t>(random() % below)}; };
  const auto draw = [&] { return std::vector{node(kNodes / 2), node(kNodes / 2)}; };
  for (MapInput& input : inputs) input.replicas = draw();
  PendingMaps index(inputs, topology);
  std::vector<NodeId> nodes;
  for (int step = 0; step < 4000; ++step) {
    std::vector<NodeId>* wanted = random() % 3 == 0 ? &nodes : nullptr;
    const auto map = static_cast<std::uint32_t>(random() % kMaps);
    if (random() % 2 == 0) {
      index.Erase(map, inputs[map], topology, wanted);
    } else if (!index.all().Contains(map)) {
      if (random() % 4 == 0) inputs[map].replicas = {node(kNodes)};  // perhaps where nothing was before
      index.Insert(map, inputs[map], topology, wanted);
    }
    if (random() % 4 != 0) continue;
    std::vector<NodeId> expected, visited = index.Nodes();
    std::sort(visited.begin(), visited.end());
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      const auto count = static_cast<std::uint32_t>(index.At(NodeId{n}).size());
      ASSERT_EQ(index.CountAt(NodeId{n}), count) << step;
      if (count > 0) expected.push_back(NodeId{n});
    }
    ASSERT_EQ(visited, expected) << step;
  }
}

// Numbers of nodes with one, two and three digits of the sort, some of nodes that never joined.
TEST(PendingMaps, ShelvesOfALargeJobAreInOrder) {
  constexpr std::uint32_t kSeed = 11, kMaps = 4'000, kJoined = 5'000;
  std::mt19937 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Topology topology;
  for (std::uint32_t n = 0; n < kJoined; ++n)
    topology.Place(NodeId{n}, topology.Intern("r" + std::to_string(n % 7), "d"));
  std::vector<MapInput> inputs(kMaps);
  std::map<std::uint32_t, std::vector<std::uint32_t>> at_node, in_rack;
  for (std::uint32_t map = 0; map < kMaps; ++map) {
    const auto near = static_cast<std::uint32_t>(random() % kJoined);
    const auto far = static_cast<std::uint32_t>(kMaxId - 4'000'000 * (random() % 4));
    inputs[map].replicas = {NodeId{far}, NodeId{near}};
    at_node[near].push_back(map);
    at_node[far].push_back(map);
    in_rack[near % 7].push_back(map);
  }
  const PendingMaps index(inputs, topology);
  EXPECT_EQ(index.Nodes().size(), at_node.size());
  for (const auto& [node, maps] : at_node) EXPECT_EQ(index.At(NodeId{node}), maps) << node;
  PendingMaps left = index;  // a node of each rack that holds nothing gets the first map of its rack
  for (std::uint32_t node = 0; node < kJoined; ++node) {
    if (at_node.contains(node)) continue;
    std::vector<std::uint32_t>& maps = in_rack[node % 7];
    const auto best = left.Best(NodeId{node}, topology.Of(NodeId{node}), Locality::kRack);
    ASSERT_EQ(best, (MapChoice{maps.front(), Locality::kRack})) << node;
    left.Erase(maps.front(), inputs[maps.front()], topology, nullptr);
    maps.erase(maps.begin());
  }
}

TEST(Topology, ARackOfTheSameNameElsewhereIsAnotherRack) {
  Topology topology;
  topology.Place(NodeId{1}, topology.Intern("a", "east"));
  topology.Place(NodeId{2}, topology.Intern("a", "west"));
  topology.Place(NodeId{3}, topology.Intern("b", "east"));
  EXPECT_EQ(topology.racks(), 3U);
  EXPECT_EQ(topology.datacenters(), 2U);
  EXPECT_EQ(topology.Distance(NodeId{1}, {NodeId{2}}), Locality::kOff);
  EXPECT_EQ(topology.Distance(NodeId{1}, {NodeId{2}, NodeId{3}}), Locality::kDatacenter);
  EXPECT_EQ(topology.Distance(NodeId{1}, {NodeId{3}, NodeId{1}}), Locality::kNode);
  EXPECT_EQ(topology.Distance(NodeId{1}, {NodeId{9}}), Locality::kOff);  // never joined
}

TEST(Topology, AReplicaOnANodeThatIsAwayIsNone) {
  Topology topology;
  topology.Place(NodeId{1}, topology.Intern("a", "east"));
  topology.Place(NodeId{2}, topology.Intern("a", "east"));
  topology.Place(NodeId{3}, topology.Intern("b", "east"));
  const std::uint32_t rack = topology.Of(NodeId{1}).rack;
  EXPECT_TRUE(topology.AnotherIn(rack, NodeId{1}, {NodeId{1}, NodeId{2}}));
  EXPECT_FALSE(topology.AnotherIn(rack, NodeId{1}, {NodeId{1}, NodeId{3}}));
  topology.Remove(NodeId{2});
  EXPECT_EQ(topology.Distance(NodeId{1}, {NodeId{2}}), Locality::kOff);
  EXPECT_EQ(topology.Distance(NodeId{1}, {NodeId{2}, NodeId{3}}), Locality::kDatacenter);
  EXPECT_FALSE(topology.AnotherIn(rack, NodeId{1}, {NodeId{1}, NodeId{2}}));
  topology.Place(NodeId{2}, topology.Intern("a", "east"));
  EXPECT_EQ(topology.Distance(NodeId{1}, {NodeId{2}}), Locality::kRack);
}

}  // namespace
}  // namespace millrace::sched
