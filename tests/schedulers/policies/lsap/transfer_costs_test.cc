// SPDX-License-Identifier: Apache-2.0
// The costs that reach the solver against formula 1, pair by pair, over random clusters, measurements and refusals.
#include "schedulers/policies/lsap/transfer_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "schedulers/policies/lsap/idle_slots.h"
#include "schedulers/policies/lsap/map_assignment.h"
#include "schedulers/policies/lsap/reference.h"

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
          EXPECT_EQ(least, CostByFormula(state, row, NodeId{id}, {uniform, kConfigured}))
              << "node " << id << ", row " << rows;
        }
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

using Task = MapAssignment::Task;

TransferCosts::Row RowOf(const ClusterState& state, const Task& task) {
  return {&state.FindJob(task.job)->spec.maps[task.map], task.worst, task.weight, task.fixed};
}

constexpr Assignment::Cost kImpossible = Assignment::Cost{1} << 40;

Assignment::Cost LeastByTheDenseMethod(const ClusterState& state, const std::vector<Task>& tasks, bool uniform) {
  std::vector<std::vector<std::int64_t>> matrix;
  for (const Task& task : tasks) {
    auto& line = matrix.emplace_back();
    for (const std::uint32_t id : state.FreeNodes(TaskKind::kMap)) {
      const auto cost = CostByFormula(state, RowOf(state, task), NodeId{id}, {uniform, kConfigured});
      line.insert(line.end(), IdleSlots::FreeMapSlots(*state.FindNode(NodeId{id})), cost.value_or(kImpossible));
    }
  }
  return LeastDenseCost(matrix);
}

std::uint32_t AllFreeSlots(const ClusterState& state) {
  std::uint32_t slots = 0;
  for (const std::uint32_t id : state.FreeNodes(TaskKind::kMap)) {
    slots += IdleSlots::FreeMapSlots(*state.FindNode(NodeId{id}));
  }
  return slots;
}

// What no plan that uses as many slots can be below: of local maps, the cheapest.
Assignment::Cost CheapestFixedCosts(const std::vector<Task>& tasks, std::uint32_t slots) {
  std::vector<Assignment::Cost> fixed;
  for (const Task& task : tasks) fixed.push_back(static_cast<Assignment::Cost>(task.fixed * TransferCosts::kUnit));
  std::sort(fixed.begin(), fixed.end());
  fixed.resize(std::min<std::size_t>(fixed.size(), slots));
  return std::accumulate(fixed.begin(), fixed.end(), Assignment::Cost{0});
}

// By the formula; what could run and was not placed counts as impossible.
Assignment::Cost CostOfPlan(const ClusterState& state, const std::vector<Task>& tasks, const MapAssignment::Plan& plan,
                            bool uniform) {
  const std::size_t most = std::min<std::size_t>(tasks.size(), AllFreeSlots(state));
  Assignment::Cost cost = kImpossible * static_cast<Assignment::Cost>(most - plan.placed.size());
  for (const auto& [task, node] : plan.placed) {
    cost += CostByFormula(state, RowOf(state, tasks[task]), node, {uniform, kConfigured}).value_or(2 * kImpossible);
  }
  return cost;
}

std::vector<Task> RandomTasks(Random& random, std::uint32_t nodes, ClusterState* state) {
  JobSpec spec;
  std::vector<Task> tasks;
  const std::uint32_t kinds = Draw(random, 1, 3);                 // of fixed costs
  const std::uint32_t spread = Draw(random, 0, 1) == 0 ? 1 : 15;  // which transfers outweigh, or mostly do not
  const bool limited = Draw(random, 0, 3) == 0;
  const bool crowd = Draw(random, 0, 3) == 0;  // more maps than slots
  const bool alike = Draw(random, 0, 2) == 0;  // many of them
  for (std::uint32_t map = Draw(random, 1, crowd ? 40 : 14); map > 0; --map) {
    if (alike && !tasks.empty() && Draw(random, 0, 2) > 0) {
      tasks.push_back(tasks.back());
      tasks.back().map = static_cast<std::uint32_t>(spec.maps.size());
      spec.maps.push_back(MapInput(spec.maps.back()));
      continue;
    }
    MapInput input{Draw(random, 0, 3) * 30'000'000, {}};
    for (std::uint32_t n = Draw(random, 0, 6) == 0 ? 0 : 3; n > 0; --n) {
      input.replicas.push_back(NodeId{Draw(random, 0, nodes - 1)});
    }
    Task& task = tasks.emplace_back(Task{JobId{1}, static_cast<std::uint32_t>(spec.maps.size())});
    task.fixed = Draw(random, 1, kinds) * spread;
    task.weight = Draw(random, 1, 4) / 2.0;
    if (limited && Draw(random, 0, 2) == 0) task.worst = static_cast<Locality>(Draw(random, 0, 2));
    spec.maps.push_back(input);
  }
  state->AddJob(JobId{1}, spec, 0);
  return tasks;
}

// Whether local maps alone were enough or not: the plan costs what the dense method says.
TEST(MapAssignmentTest, CostsWhatTheDenseMethodSaysWithAndWithoutTransfers) {
  const std::uint64_t seed = 1202;
  Random random(seed);
  int locally = 0, locally_with_prices = 0, else_where = 0;
  for (int round = 0; round < 6'000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    ClusterState state;
    const std::uint32_t nodes = Draw(random, 1, 12);
    BuildCluster(random, &state, nodes);
    const std::vector<Task> tasks = RandomTasks(random, nodes, &state);
    const bool uniform = Draw(random, 0, 4) == 0;
    MapAssignment assignment(state, {uniform, kConfigured});
    for (const Task& task : tasks) assignment.Add(task);
    const Assignment::Cost least = LeastByTheDenseMethod(state, tasks, uniform);
    EXPECT_EQ(CostOfPlan(state, tasks, assignment.Solve(), uniform), least);
    const auto local = assignment.SolveLocally();
    EXPECT_EQ(local.has_value(), least == CheapestFixedCosts(tasks, AllFreeSlots(state)));
    if (local) {
      EXPECT_EQ(CostOfPlan(state, tasks, *local, uniform), least);
      ++locally;
      const bool priced =
          std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.fixed > 1 && task.fixed != 15; });
      if (priced && tasks.size() > local->placed.size()) ++locally_with_prices;
    } else {
      ++else_where;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(locally, 500);
  EXPECT_GT(locally_with_prices, 20);
  EXPECT_GT(else_where, 500);
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
