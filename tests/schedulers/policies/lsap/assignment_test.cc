// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "schedulers/policies/lsap/reference.h"

namespace millrace::sched {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Share = Assignment::Share;

// The same problem, kept so that it can be written out as a matrix.
struct Problem {
  struct Place {
    std::uint32_t above;
    std::uint32_t slots;
  };
  struct Row {
    std::uint32_t tasks;
    std::vector<Assignment::PlaceCost> costs;
  };
  std::vector<Place> places;
  std::vector<Row> rows;

  [[nodiscard]] Assignment Make() const {
    Assignment made;
    for (const Place& place : places) made.AddPlace(place.above, place.slots);
    for (const Row& row : rows) made.AddRow(row.tasks, row.costs);
    return made;
  }
  // None where the row cannot run.
  [[nodiscard]] std::optional<std::int64_t> CostOf(std::size_t row, std::uint32_t place) const {
    std::optional<std::int64_t> least;
    for (std::uint32_t at = place; at != Assignment::kNoPlace; at = places[at].above) {
      for (const auto& [where, cost] : rows[row].costs) {
        if (where == at && (!least || cost < *least)) least = cost;
      }
    }
    return least;
  }
  // A line a task, a column a slot.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> Matrix(std::int64_t impossible) const {
    std::vector<std::vector<std::int64_t>> matrix;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::vector<std::int64_t> line;
      for (std::uint32_t place = 0; place < places.size(); ++place) {
        line.insert(line.end(), places[place].slots, CostOf(row, place).value_or(impossible));
      }
      matrix.insert(matrix.end(), rows[row].tasks, line);
    }
    return matrix;
  }
};

using Random = std::mt19937_64;
std::uint32_t Draw(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

// Datacenters, racks and nodes; costs as of maps with replicas, or anything at all; some rows may not run everywhere.
Problem RandomProblem(Random& random) {
  Problem problem;
  const std::uint32_t roots = Draw(random, 1, 2);
  for (std::uint32_t i = 0; i < roots; ++i) problem.places.push_back({Assignment::kNoPlace, Draw(random, 0, 3) / 3});
  const std::uint32_t hubs = Draw(random, 0, 4);
  for (std::uint32_t i = 0; i < hubs; ++i) {
    problem.places.push_back({Draw(random, 0, roots + i - 1), Draw(random, 0, 4) / 4});
  }
  const std::uint32_t nodes = Draw(random, 1, 7);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    problem.places.push_back({Draw(random, 0, roots + hubs - 1), Draw(random, 0, 3)});
  }
  const bool everywhere = Draw(random, 0, 2) > 0;
  const std::uint32_t worst = Draw(random, 0, 1) == 0 ? 3 : 1000;
  const auto last = static_cast<std::uint32_t>(problem.places.size() - 1);
  const std::uint32_t rows = Draw(random, 0, 9);
  for (std::uint32_t i = 0; i < rows; ++i) {
    Problem::Row row{Draw(random, 0, 3), {}};
    const std::uint32_t extra = Draw(random, 0, worst);
    for (std::uint32_t n = Draw(random, 0, 6); n > 0; --n) {
      row.costs.push_back({Draw(random, 0, last), extra + Draw(random, 0, worst)});
    }
    for (std::uint32_t root = 0; everywhere && root < roots; ++root) row.costs.push_back({root, extra + worst});
    problem.rows.push_back(std::move(row));
  }
  return problem;
}

void ExpectPossible(const Problem& problem, const Assignment::Plan& plan) {
  std::map<std::uint32_t, std::uint32_t> by_row;
  std::map<std::uint32_t, std::uint32_t> by_place;
  std::int64_t cost = 0;
  std::uint32_t tasks = 0;
  for (const auto& [row, place, count] : plan.shares) {
    ASSERT_GT(count, 0u);
    by_row[row] += count;
    by_place[place] += count;
    const auto each = problem.CostOf(row, place);
    ASSERT_TRUE(each.has_value());
    cost += *each * count;
    tasks += count;
  }
  for (const auto& [row, count] : by_row) EXPECT_LE(count, problem.rows[row].tasks);
  for (const auto& [place, count] : by_place) EXPECT_LE(count, problem.places[place].slots);
  EXPECT_EQ(plan.cost, cost);
  EXPECT_EQ(plan.tasks, tasks);
}

TEST(AssignmentTest, AgreesWithTheDenseMethodOnManySmallProblems) {
  const std::uint64_t seed = 20120618;
  Random random(seed);
  constexpr std::int64_t kImpossible = 1'000'000;
  for (int round = 0; round < 20'000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    const Problem problem = RandomProblem(random);
    const Assignment::Plan plan = problem.Make().Solve();
    ExpectPossible(problem, plan);
    const auto matrix = problem.Matrix(kImpossible);
    const std::uint64_t smaller = matrix.empty() ? 0 : std::min(matrix.size(), matrix[0].size());
    EXPECT_EQ(plan.cost + kImpossible * static_cast<std::int64_t>(smaller - plan.tasks), LeastDenseCost(matrix));
    if (testing::Test::HasFailure()) return;
  }
}

// One cluster with replicas, as the policies ask: larger, with many equal costs, both ways round.
TEST(AssignmentTest, AgreesWithTheDenseMethodOnClusters) {
  const std::uint64_t seed = 4;
  Random random(seed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    Problem problem;
    problem.places.push_back({Assignment::kNoPlace, 0});
    const std::uint32_t racks = Draw(random, 1, 6);
    for (std::uint32_t i = 0; i < racks; ++i) problem.places.push_back({0, 0});
    const std::uint32_t nodes = Draw(random, 10, 60);
    for (std::uint32_t i = 0; i < nodes; ++i) problem.places.push_back({1 + i % racks, Draw(random, 0, 2)});
    const std::uint32_t groups = Draw(random, 1, 3);
    for (std::uint32_t i = Draw(random, 20, 120); i > 0; --i) {
      Problem::Row row{1, {}};
      const std::int64_t fixed = Draw(random, 1, groups) * 50;
      for (int replica = 0; replica < 3; ++replica) {
        const std::uint32_t node = 1 + racks + Draw(random, 0, nodes - 1);
        row.costs.push_back({node, fixed});
        row.costs.push_back({problem.places[node].above, fixed + 10});
      }
      row.costs.push_back({0, fixed + 40});
      problem.rows.push_back(row);
    }
    const Assignment::Plan plan = problem.Make().Solve();
    ExpectPossible(problem, plan);
    EXPECT_EQ(plan.cost, LeastDenseCost(problem.Matrix(0)));
    if (testing::Test::HasFailure()) return;
  }
}

// Figure 1: T1 has its data on A and B, T2 on A only.
TEST(AssignmentTest, BothTasksOfFigure1AreLocal) {
  Assignment problem;
  const auto all = problem.AddPlace(Assignment::kNoPlace, 0);
  const auto a = problem.AddPlace(all, 1);
  const auto b = problem.AddPlace(all, 1);
  problem.AddRow(1, std::vector<Assignment::PlaceCost>{{a, 0}, {b, 0}, {all, 1}});
  problem.AddRow(1, std::vector<Assignment::PlaceCost>{{a, 0}, {all, 1}});
  const auto plan = problem.Solve();
  EXPECT_THAT(plan.shares, ElementsAre(Share{0, b, 1}, Share{1, a, 1}));
  EXPECT_EQ(plan.cost, 0);
}

TEST(AssignmentTest, LowestRowsAndPlacesComeFirstAmongEquals) {
  Assignment problem;
  const auto all = problem.AddPlace(Assignment::kNoPlace, 0);
  for (int i = 0; i < 4; ++i) problem.AddPlace(all, 1);
  for (int i = 0; i < 2; ++i) problem.AddRow(1, std::vector<Assignment::PlaceCost>{{all, 7}});
  EXPECT_THAT(problem.Solve().shares, ElementsAre(Share{0, 1, 1}, Share{1, 2, 1}));
  for (int i = 0; i < 9; ++i) problem.AddRow(1, std::vector<Assignment::PlaceCost>{{all, 7}});
  EXPECT_THAT(problem.Solve().shares, ElementsAre(Share{0, 1, 1}, Share{1, 2, 1}, Share{2, 3, 1}, Share{3, 4, 1}));
}

TEST(AssignmentTest, MoreTasksThatCanRunComeBeforeLessCost) {
  Assignment problem;
  const auto a = problem.AddPlace(Assignment::kNoPlace, 1);
  const auto b = problem.AddPlace(Assignment::kNoPlace, 1);
  problem.AddRow(1, std::vector<Assignment::PlaceCost>{{a, 0}, {b, 1'000'000'000}});
  problem.AddRow(1, std::vector<Assignment::PlaceCost>{{a, 5}});
  EXPECT_THAT(problem.Solve().shares, ElementsAre(Share{0, b, 1}, Share{1, a, 1}));
}

TEST(AssignmentTest, NothingToDoGivesNothing) {
  Assignment empty;
  EXPECT_THAT(empty.Solve().shares, IsEmpty());
  Assignment problem;
  const auto a = problem.AddPlace(Assignment::kNoPlace, 2);
  EXPECT_THAT(problem.Solve().shares, IsEmpty());
  problem.AddRow(0, std::vector<Assignment::PlaceCost>{{a, 0}});
  EXPECT_THAT(problem.Solve().shares, IsEmpty());
  problem.AddRow(3, {});
  EXPECT_THAT(problem.Solve().shares, IsEmpty());
}

}  // namespace
}  // namespace millrace::sched
