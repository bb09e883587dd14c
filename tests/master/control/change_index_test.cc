// SPDX-License-Identifier: Apache-2.0
#include "master/control/change_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/histories.h"

namespace millrace::master {
namespace {

using Kind = ChangeIndex::Kind;
using Thing = ChangeIndex::Thing;
using Told = std::vector<std::pair<std::uint32_t, bool>>;  // number of a job, and whether it is gone

Thing OfJob(std::uint32_t number) { return {Kind::kJob, number}; }

struct Page {
  ChangeIndex::Answer answer;
  Told told;
};

Page Ask(ChangeIndex& index, const ChangeIndex::Cursor& since, std::size_t most = 1000) {
  Page page;
  page.answer = index.Tell(since, [&](const Thing& thing, bool gone) {
    if (page.told.size() == most) return false;
    page.told.emplace_back(thing.number, gone);
    return true;
  });
  return page;
}

TEST(ChangeIndexTest, WhatHasNotChangedIsNotToldAgain) {
  ChangeIndex index(7);
  for (std::uint32_t job = 1; job <= 3; ++job) index.Mark(OfJob(job));
  const Page first = Ask(index, {});
  EXPECT_TRUE(first.answer.anew);
  EXPECT_EQ(first.told, (Told{{1, false}, {2, false}, {3, false}}));
  EXPECT_EQ(Ask(index, first.answer.up_to).told, Told{});
  index.Mark(OfJob(2));
  index.Mark(OfJob(2));
  const Page second = Ask(index, first.answer.up_to);
  EXPECT_FALSE(second.answer.anew);
  EXPECT_EQ(second.told, (Told{{2, false}}));
  EXPECT_EQ(Ask(index, second.answer.up_to).told, Told{});
  EXPECT_EQ(Ask(index, first.answer.up_to).told, (Told{{2, false}})) << "another client";
}

TEST(ChangeIndexTest, ARemovalIsToldToThoseWhoMayKnowTheThing) {
  ChangeIndex index(7);
  index.Mark(OfJob(1));
  index.Mark(OfJob(2));
  const Page knows = Ask(index, {});
  index.Remove(OfJob(1));
  index.Remove(OfJob(5));  // which there never was
  EXPECT_EQ(Ask(index, knows.answer.up_to).told, (Told{{1, true}}));
  EXPECT_EQ(Ask(index, {}).told, (Told{{2, false}})) << "a new client never knew it";
  index.Mark(OfJob(1));
  EXPECT_EQ(Ask(index, knows.answer.up_to).told, (Told{{1, false}})) << "it is there again";
}

TEST(ChangeIndexTest, AClientOfAnotherLifeBeginsAnew) {
  ChangeIndex before(7), after(8);
  for (ChangeIndex* index : {&before, &after}) index->Mark(OfJob(1));
  const Page known = Ask(before, {});
  const Page page = Ask(after, known.answer.up_to);
  EXPECT_TRUE(page.answer.anew);
  EXPECT_EQ(page.told, (Told{{1, false}}));
}

TEST(ChangeIndexTest, AClientThatIsFarBehindBeginsAnew) {
  ChangeIndex index(7, 2);
  for (std::uint32_t job = 1; job <= 5; ++job) index.Mark(OfJob(job));
  const Page known = Ask(index, {});
  index.Remove(OfJob(1));
  index.Remove(OfJob(2));
  EXPECT_FALSE(Ask(index, known.answer.up_to).answer.anew) << "two removals are kept";
  index.Remove(OfJob(3));
  const Page page = Ask(index, known.answer.up_to);
  EXPECT_TRUE(page.answer.anew);
  EXPECT_EQ(page.told, (Told{{4, false}, {5, false}}));
  EXPECT_EQ(index.size(), 4u) << "two jobs and two removals";
  EXPECT_FALSE(Ask(index, page.answer.up_to).answer.anew);
}

TEST(ChangeIndexTest, ABeginningInPiecesComesToAnEndAlthoughRemovalsBeforeItWereDropped) {
  ChangeIndex index(7, 1);
  for (std::uint32_t job = 1; job <= 9; ++job) index.Mark(OfJob(job));
  (void)Ask(index, {});
  for (std::uint32_t job = 6; job <= 9; ++job) index.Remove(OfJob(job));
  ChangeIndex::Cursor cursor;
  std::vector<bool> anew;
  for (bool more = true; more && anew.size() < 20;) {
    const Page page = Ask(index, cursor, 2);
    anew.push_back(page.answer.anew);
    cursor = page.answer.up_to;
    more = page.answer.more;
  }
  EXPECT_EQ(anew, (std::vector<bool>{true, false, false}));
}

TEST(ChangeIndexTest, AThingIsToldOnceHoweverOftenItChanged) {
  ChangeIndex index(7);
  (void)Ask(index, {});
  for (int i = 0; i < 100'000; ++i) index.Mark(OfJob(static_cast<std::uint32_t>(i % 3)));
  EXPECT_EQ(index.size(), 3u);
  EXPECT_EQ(Ask(index, {}).told.size(), 3u);
}

// What there is, and the master that tells of it.
struct World {
  std::map<Thing, int> things;
  ChangeIndex index;
  int next_value = 0;

  void Change(std::mt19937_64& random) {
    const Thing thing{static_cast<Kind>(random() % 3), static_cast<std::uint32_t>(random() % 12)};
    if (random() % 3 == 0) {
      things.erase(thing);
      index.Remove(thing);
    } else {
      things[thing] = next_value++;
      index.Mark(thing);
    }
  }
  // Another process of the master, which knows the same things.
  void Restart(std::uint64_t life, std::size_t most_gone) {
    std::destroy_at(&index);
    std::construct_at(&index, life, most_gone);
    for (const auto& [thing, value] : things) index.Mark(thing);
  }
};

struct Client {
  ChangeIndex::Cursor cursor;
  std::map<Thing, int> known;

  // Asks once. Returns true if it knows everything now.
  bool Ask(World& world, std::size_t most) {
    std::vector<std::pair<Thing, bool>> told;
    const ChangeIndex::Answer answer = world.index.Tell(cursor, [&](const Thing& thing, bool gone) {
      if (told.size() == most) return false;
      told.emplace_back(thing, gone);
      return true;
    });
    if (answer.anew) known.clear();
    for (const auto& [thing, gone] : told) {
      if (gone) {
        EXPECT_FALSE(world.things.contains(thing));
        known.erase(thing);
      } else {
        known[thing] = world.things.at(thing);  // the contents are those of now
      }
    }
    cursor = answer.up_to;
    return !answer.more;
  }
};

TEST(ChangeIndexTest, WhoeverAppliesTheAnswersKnowsWhatThereIs) {
  PlayHistories(300, [](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    World world{.things = {}, .index = ChangeIndex(1, random() % 6)};
    std::vector<Client> clients(4);
    std::uint64_t life = 1;
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
      for (auto changes = random() % 8; changes > 0; --changes) world.Change(random);
      if (random() % 60 == 0) world.Restart(++life, random() % 6);
      Client& client = clients[random() % clients.size()];  // some ask often, some seldom
      const std::size_t most = 1 + random() % 5;
      bool all = client.Ask(world, most);
      if (random() % 2 == 0) continue;  // the rest of the answer comes after further changes
      for (int pieces = 0; !all; ++pieces) {
        ASSERT_LT(pieces, 100) << "it never ends";
        all = client.Ask(world, most);
      }
      EXPECT_EQ(client.known, world.things);
    }
  });
}

}  // namespace
}  // namespace millrace::master
