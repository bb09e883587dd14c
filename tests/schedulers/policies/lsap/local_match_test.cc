// SPDX-License-Identifier: Apache-2.0
// Local matches against a textbook method for single tasks and slots: as many of each row as can have slots beside
// those that came before.
#include "schedulers/policies/lsap/local_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace millrace::sched {
namespace {

using Place = LocalMatch::Place;
using Share = Assignment::Share;
using Random = std::mt19937_64;
std::uint32_t Draw(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

// Kuhn's method, a task and a slot at a time.
class SingleTasks {
 public:
  explicit SingleTasks(const std::vector<std::uint32_t>& free) {
    for (Place place = 0; place < free.size(); ++place) slots_.insert(slots_.end(), free[place], {place, -1});
  }
  std::uint32_t Add(std::uint32_t tasks, const std::vector<Place>& places) {
    std::uint32_t placed = 0;
    for (; placed < tasks; ++placed) {
      places_of_.push_back(places);
      seen_.assign(slots_.size(), false);
      if (!Try(static_cast<int>(places_of_.size() - 1))) break;
    }
    return placed;
  }

 private:
  struct Slot {
    Place place;
    int task;
  };
  bool Try(int task) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      const std::vector<Place>& places = places_of_[static_cast<std::size_t>(task)];
      if (seen_[slot] || std::find(places.begin(), places.end(), slots_[slot].place) == places.end()) continue;
      seen_[slot] = true;
      if (slots_[slot].task >= 0 && !Try(slots_[slot].task)) continue;
      slots_[slot].task = task;
      return true;
    }
    return false;
  }
  std::vector<Slot> slots_;
  std::vector<std::vector<Place>> places_of_;
  std::vector<bool> seen_;
};

struct Added {
  std::uint32_t placed;
  std::vector<Place> places;
};

void ExpectSound(const std::vector<Share>& shares, const std::vector<std::uint32_t>& free,
                 const std::vector<Added>& rows) {
  std::vector<std::uint32_t> used(free.size()), placed(rows.size());
  for (const Share& share : shares) {
    EXPECT_GT(share.tasks, 0u);
    used[share.place] += share.tasks;
    placed[share.row] += share.tasks;
    const auto& places = rows[share.row].places;
    EXPECT_NE(std::find(places.begin(), places.end(), share.place), places.end()) << share.row;
  }
  for (Place place = 0; place < free.size(); ++place) EXPECT_LE(used[place], free[place]) << place;
  for (std::size_t row = 0; row < rows.size(); ++row) EXPECT_EQ(placed[row], rows[row].placed) << row;
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.row < b.row; }));
}

TEST(LocalMatchTest, PlacesAsManyOfEachRowAsTheTextbookMethod) {
  const std::uint64_t seed = 4711;
  Random random(seed);
  int moved = 0, failed = 0;
  for (int round = 0; round < 4'000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    std::vector<std::uint32_t> free(Draw(random, 1, 12));
    for (std::uint32_t& slots : free) slots = Draw(random, 0, 3);
    LocalMatch match(free);
    SingleTasks textbook(free);
    std::vector<Added> rows;
    const std::uint32_t most = Draw(random, 1, 4);
    for (std::uint32_t row = 0; row < 16; ++row) {
      const std::uint32_t tasks = Draw(random, 1, most);
      std::vector<Place> places(Draw(random, 0, 3));
      for (Place& place : places) place = Draw(random, 0, static_cast<std::uint32_t>(free.size() - 1));
      std::sort(places.begin(), places.end());
      places.erase(std::unique(places.begin(), places.end()), places.end());
      const auto before = match.Shares();
      const std::uint32_t placed = match.Add(row, tasks, places);
      EXPECT_EQ(placed, textbook.Add(tasks, places)) << "row " << row;
      auto after = match.Shares();
      std::erase_if(after, [row](const Share& share) { return share.row == row; });
      moved += after == before ? 0 : 1;
      failed += placed < tasks ? 1 : 0;
      rows.push_back({placed, places});
    }
    ExpectSound(match.Shares(), free, rows);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(moved, 1'000);
  EXPECT_GT(failed, 1'000);
}

TEST(LocalMatchTest, RowsMayComeInAnyOrder) {
  LocalMatch match({1, 1, 2});
  EXPECT_EQ(match.Add(7, 3, std::vector<Place>{2}), 2u);
  EXPECT_EQ(match.Add(3, 1, std::vector<Place>{0, 1}), 1u);
  EXPECT_EQ(match.Add(5, 2, std::vector<Place>{0, 2}), 1u) << "the task of row 3 moves";
  EXPECT_EQ(match.Shares(), (std::vector<Share>{{3, 1, 1}, {5, 0, 1}, {7, 2, 2}}));
}

}  // namespace
}  // namespace millrace::sched
