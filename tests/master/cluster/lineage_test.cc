// SPDX-License-Identifier: Apache-2.0
// Tests how a master finds that its database was set back, and what it remembers of that.
#include "master/cluster/lineage.h"

#include <gmock/gmock.h>

#include <memory>

#include "tests/fakes/memory_store.h"
#include "tests/hex.h"

namespace millrace::master {
namespace {

using ::testing::HasSubstr;
using Store = std::unique_ptr<KeyValueStore>;

Store CopyOf(const Store& store) {
  Store copy = MakeMemoryStore();
  WriteBatch all;
  EXPECT_TRUE(store
                  ->Scan({}, {},
                         [&](std::string_view key, std::string_view value) {
                           all.Put(std::string(key), std::string(value));
                           return true;
                         })
                  .ok());
  EXPECT_TRUE(copy->Write(all, Durability::kSynced).ok());
  return copy;
}

// One run of the master on a database.
struct Life {
  Life(KeyValueStore& on, std::uint64_t number) : store(on) {
    EXPECT_TRUE(lineage.Load(store).ok());
    WriteBatch batch;
    lineage.Begin(number, &batch);
    EXPECT_TRUE(store.Write(batch, Durability::kSynced).ok());
  }
  Moment Advance() {
    WriteBatch batch;
    lineage.Advance(&batch);
    EXPECT_TRUE(store.Write(batch, Durability::kSynced).ok());
    return lineage.now();
  }
  KeyValueStore& store;
  Lineage lineage;
};

TEST(LineageTest, HasAllMomentsThatItHasGoneThroughAndNoOther) {
  const Store store = MakeMemoryStore();
  std::vector<Moment> told;
  for (const std::uint64_t life : {7u, 3u, 9u}) {
    Life now(*store, life);
    told.push_back(now.lineage.now());
    for (int i = 0; i < 4; ++i) told.push_back(now.Advance());
    for (const Moment& moment : told) EXPECT_TRUE(now.lineage.Has(moment)) << FormatMoment(moment);
    EXPECT_FALSE(now.lineage.Has({life, now.lineage.now().number + 1}));
    EXPECT_FALSE(now.lineage.Has({life + 1, 1}));
  }
}

// An image is made in the middle of a life, which goes on; then the master runs on the image.
TEST(LineageTest, WhatIsSetBackLacksWhatCameAfterwardsHoweverOftenItStartsThen) {
  const Store store = MakeMemoryStore();
  Life life(*store, 7);
  const Moment before = life.Advance();
  const Store image = CopyOf(store);
  const Moment after = life.Advance();
  for (const std::uint64_t again : {11u, 12u, 13u}) {
    Life old(*image, again);
    EXPECT_TRUE(old.lineage.Has(before));
    EXPECT_FALSE(old.lineage.Has(after)) << "though it counts further by now";
    while (old.lineage.now().number < after.number + 10) (void)old.Advance();
    EXPECT_FALSE(old.lineage.Has(after));
  }
  // The right database is there again: it has not gone through what the image did.
  Life right(*store, 20);
  EXPECT_TRUE(right.lineage.Has(after));
  EXPECT_FALSE(right.lineage.Has({11, after.number}));
}

TEST(LineageTest, KeepsTheLastLivesAndGoesOnWithoutTheFirst) {
  const Store store = MakeMemoryStore();
  for (std::uint64_t life = 1; life <= Lineage::kMostLives + 10; ++life) Life now(*store, life);
  Lineage lineage;
  ASSERT_TRUE(lineage.Load(*store).ok());
  EXPECT_FALSE(lineage.Has({1, 1}));
  EXPECT_TRUE(lineage.Has({Lineage::kMostLives + 10, Lineage::kMostLives + 10}));
}

TEST(LineageTest, WhatIsNotUnderstoodIsRefused) {
  for (const auto& [lives, number] : std::vector<std::pair<std::string, std::string>>{
           {"\x01", KeyNumber(1)}, {"\x02\x01", KeyNumber(1)}, {"", KeyNumber(1)}, {"\x01\x05", "no number"}}) {
    const Store store = MakeMemoryStore();
    WriteBatch batch;
    batch.Put("lives", lives);
    batch.Put("moment", number);
    ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
    EXPECT_EQ(Lineage().Load(*store).code(), StatusCode::kCorrupt);
  }
}

TEST(DoubtTest, IsAnnouncedBegunAndOverAlsoAfterARestart) {
  const Store store = MakeMemoryStore();
  const auto write = [&](WriteBatch& batch) {
    ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
    batch = {};
  };
  WriteBatch batch;
  {
    Doubt doubt;
    ASSERT_TRUE(doubt.Load(*store).ok());
    EXPECT_FALSE(doubt.there_is() || doubt.announced());
    Doubt::Announce(DoubtCause::kRestored, &batch);
    write(batch);
  }
  {
    Doubt doubt;
    ASSERT_TRUE(doubt.Load(*store).ok());
    ASSERT_EQ(doubt.announced(), DoubtCause::kRestored);
    EXPECT_FALSE(doubt.there_is());
    doubt.Begin(*doubt.announced(), 100 * kSecond, 50 * kSecond, &batch);
    EXPECT_FALSE(doubt.announced()) << "it has begun";
    write(batch);
  }
  Doubt doubt;
  ASSERT_TRUE(doubt.Load(*store).ok());
  EXPECT_TRUE(doubt.there_is());
  EXPECT_FALSE(doubt.announced());
  EXPECT_THAT(doubt.Line(120 * kSecond), HasSubstr("restored from a backup: for another 30 s"));
  EXPECT_FALSE(doubt.EndIfOver(149 * kSecond, &batch));
  doubt.Begin(DoubtCause::kSetBack, 110 * kSecond, 50 * kSecond, &batch);  // a worker says so, too
  EXPECT_FALSE(doubt.EndIfOver(150 * kSecond, &batch));
  EXPECT_TRUE(doubt.EndIfOver(160 * kSecond, &batch));
  EXPECT_EQ(doubt.Line(160 * kSecond), "");
  write(batch);
  Doubt last;
  ASSERT_TRUE(last.Load(*store).ok());
  EXPECT_FALSE(last.there_is() || last.announced());
}

TEST(DoubtTest, WhatIsNotUnderstoodIsRefused) {
  for (const std::string text : {"", "\x01", "\x02\x01\x05", "\x01\x09\x05", "\x01\x01\x05\x05"}) {
    const Store store = MakeMemoryStore();
    WriteBatch batch;
    batch.Put("doubt", text);
    ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
    EXPECT_EQ(Doubt().Load(*store).code(), StatusCode::kCorrupt) << text;
  }
}

TEST(LineageTest, ItsListHasTheBytesOfItsFieldsInTheirOrder) {
  const Store store = MakeMemoryStore();
  Life(*store, 7).Advance();
  Life now(*store, 258);
  EXPECT_EQ(*store->Get("lives"), Hex("01 02 0700000000000000 02 0201000000000000 03"));
}

TEST(DoubtTest, ItsRecordHasTheBytesOfItsFieldsInTheirOrder) {
  WriteBatch batch;
  Doubt().Begin(DoubtCause::kRepaired, 200, 100, &batch);
  EXPECT_EQ(batch.changes().back().value, Hex("01 01 ac02"));
  Doubt::Announce(DoubtCause::kSetBack, &batch);
  EXPECT_EQ(batch.changes().back().value, Hex("01 02 00"));
}

}  // namespace
}  // namespace millrace::master
