// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "schedulers/cluster/pending_maps.h"

namespace millrace::sched {
namespace {

TEST(PlaceShelves, NoneHasNone) {
  PlaceShelves none;
  EXPECT_EQ(none.Find(0), nullptr);
  PlaceShelves also_none{std::vector<Shelf>()};
  EXPECT_EQ(also_none.Find(Shelf::kNowhere), nullptr);
}

TEST(PlaceShelves, FindsEachAndNoOther) {
  constexpr std::uint32_t kSeed = 4;
  std::mt19937 random(kSeed);
  for (const std::uint32_t count : {1U, 2U, 3U, 50U, 3000U}) {
    for (const std::uint32_t spread : {1U, 3U, 1U << 12, 1U << 18}) {  // places in a row, and far apart
      SCOPED_TRACE("seed " + std::to_string(kSeed) + ", " + std::to_string(count) + " x " + std::to_string(spread));
      std::map<PlaceKey, Shelf> expected;
      for (std::uint32_t i = 0; i < count; ++i) {
        const PlaceKey place = i * spread + (i % 3 << 30);
        expected[place] = {place, i, i + 1, static_cast<std::uint32_t>(random())};
      }
      std::vector<Shelf> shelves;
      for (const auto& [place, shelf] : expected) shelves.push_back(shelf);
      std::shuffle(shelves.begin(), shelves.end(), random);
      PlaceShelves table(shelves);
      for (const auto& [place, shelf] : expected) {
        const Shelf* found = table.Find(place);
        ASSERT_NE(found, nullptr) << place;
        EXPECT_EQ(found->place, place);
        EXPECT_EQ(found->next, shelf.next);
        EXPECT_EQ(found->end, shelf.end);
        EXPECT_EQ(found->count, shelf.count);
        for (const PlaceKey other : {place + 1, place - 1}) {
          EXPECT_EQ(table.Find(other) != nullptr, expected.contains(other)) << other;
        }
      }
      EXPECT_EQ(table.Find(Shelf::kNowhere), nullptr);
      EXPECT_EQ(std::count_if(table.slots().begin(), table.slots().end(),
                              [](const Shelf& shelf) { return shelf.place != Shelf::kNowhere; }),
                static_cast<std::ptrdiff_t>(expected.size()));
    }
  }
}

}  // namespace
}  // namespace millrace::sched
