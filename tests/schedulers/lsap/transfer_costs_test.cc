// The costs that reach the solver against formula 1, pair by pair, over random clusters, measurements and refusals.
#include "schedulers/parts/assignment/transfer_costs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedulers/parts/assignment/idle_slots.h"

namespace millrace::sched {
namespace {

using Random = std::mt19937_64;
std::uint32_t Draw(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

constexpr LevelBandwidths kConfigured{80e6, 40e6, 10e6};

void BuildCluster(Random& random, ClusterState* state, std::uint32_t nodes) {
  const std::uint32_t racks = Draw(random, 1, 4), datacenters = Draw(random, 1, 3);
  for (std::uint32_t id = 0; id < nodes; ++id) {
    const Slots slots{Draw(random, 0, 3), 0};
    const std::string datacenter = "d" + std::to_string(Draw(random, 1, datacenters));
    state->JoinNode({NodeId{id}, "r" + std::to_string(Draw(random, 1, racks)), datacenter, slots});
    state->SetLimits(NodeId{id}, NodeLimits::Typed(slots));
  }
  for (std::uint32_t n = Draw(random, 0, 2) * Draw(random, 0, 30); n > 0; --n) {
    const NodeId from{Draw(random, 0, nodes - 1)}, to{Draw(random, 0, nodes - 1)};
    if (from != to) state->NoteBandwidth(from, to, 1e6 * Draw(random, 1, 200));
  }
}

// Formula 1, and nothing where the map may not run.
std::optional<Assignment::Cost> CostByFormula(const ClusterState& state, const TransferCosts::Row& row, NodeId node,
                                              bool uniform) {
  if (std::find(row.closed.begin(), row.closed.end(), node) != row.closed.end()) return std::nullopt;
  const auto& replicas = row.input->replicas;
  if (state.topology().Distance(node, replicas) > row.worst) return std::nullopt;
  const auto fixed = static_cast<Assignment::Cost>(row.fixed * TransferCosts::kUnit);
  double bandwidth = 0;
  for (const NodeId replica : replicas) {
    if (replica == node) return fixed;
    if (state.FindNode(replica) == nullptr) continue;
    bandwidth = std::max(bandwidth, state.bandwidths().Between(replica, node, state.topology(), kConfigured));
  }
  if (bandwidth == 0) bandwidth = kConfigured.off;  // no replica is anywhere
  const double free = IdleSlots::FreeMapSlots(*state.FindNode(node));
  const double seconds = uniform ? 1 : static_cast<double>(row.input->bytes) / bandwidth * free;
  return fixed + TransferCosts::Round(seconds * row.weight * TransferCosts::kUnit);
}

TEST(TransferCostsTest, EveryPairCostsWhatTheFormulaSays) {
  const std::uint64_t seed = 1201;
  Random random(seed);
  for (int round = 0; round < 4'000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    ClusterState state;
    const std::uint32_t nodes = Draw(random, 1, 14);
    BuildCluster(random, &state, nodes);
    const bool uniform = Draw(random, 0, 4) == 0;
    Assignment problem;
    const IdleSlots slots(state, !uniform, &problem);
    TransferCosts costs(state, slots, {uniform, kConfigured});
    for (int rows = 0; rows < 5; ++rows) {
      MapInput input{Draw(random, 0, 3) * 30'000'000, {}};
      for (std::uint32_t n = Draw(random, 0, 3); n > 0; --n) {
        input.replicas.push_back(NodeId{Draw(random, 0, nodes + 1)});
      }
      TransferCosts::Row row;
      row.input = &input;
      if (Draw(random, 0, 4) == 0) row.worst = static_cast<Locality>(Draw(random, 0, 2));
      if (Draw(random, 0, 3) == 0) row.closed.push_back(NodeId{Draw(random, 0, nodes - 1)});
      row.weight = Draw(random, 1, 2);
      row.fixed = Draw(random, 0, 3);
      const auto given = costs.Of(row);
      for (std::size_t tree = 0; tree < slots.trees().size(); ++tree) {
        for (const std::uint32_t id : state.FreeNodes(TaskKind::kMap)) {
          auto place = slots.Find(tree, PlaceLevel::kNode, id);
          if (place == Assignment::kNoPlace) continue;
          std::optional<Assignment::Cost> least;
          for (; place != Assignment::kNoPlace; place = slots.At(place).above) {
            for (const auto& [where, cost] : given) {
              if (where == place && (!least || cost < *least)) least = cost;
            }
          }
          EXPECT_EQ(least, CostByFormula(state, row, NodeId{id}, uniform)) << "node " << id << ", row " << rows;
        }
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(TransferCostsTest, RoundingIsDownByAtMostASixteenth) {
  for (double cost = 1; cost < 1e9; cost *= 1.37) {
    const auto rounded = static_cast<double>(TransferCosts::Round(cost));
    EXPECT_LE(rounded, cost);
    EXPECT_GE(rounded, std::max(1.0, (cost - 1) * 15 / 16)) << cost;
  }
  EXPECT_EQ(TransferCosts::Round(0), 1);
  EXPECT_LE(TransferCosts::Round(1e300), Assignment::kMaxCost / 2);
}

}  // namespace
}  // namespace millrace::sched
