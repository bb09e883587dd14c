// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/reserved_counter.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

TEST(ReservedCounterTest, NeverRepeatsAcrossCrashesAtAnyPoint) {
  for (int used_before_crash = 0; used_before_crash < 40; ++used_before_crash) {
    const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
    std::set<std::uint64_t> seen;
    for (int life = 0; life < 3; ++life) {
      ReservedCounter counter("c", 8);
      ASSERT_TRUE(counter.Load(*store).ok());
      for (int i = 0; i < used_before_crash; ++i) {
        WriteBatch batch;
        EXPECT_TRUE(seen.insert(counter.Next(&batch)).second);
        ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
      }
    }
  }
}

TEST(ReservedCounterTest, WhatIsReservedIsKnownBeforeItIsGiven) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  ReservedCounter counter("c", 8);
  WriteBatch batch;
  EXPECT_EQ(counter.Reserve(&batch), 9u);
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  WriteBatch none;
  EXPECT_EQ(counter.Reserve(&none), 9u);
  EXPECT_EQ(counter.Next(&none), 1u);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(counter.next(), 2u);
  ReservedCounter after("c", 8);
  ASSERT_TRUE(after.Load(*store).ok());
  EXPECT_EQ(after.next(), 9u);
}

TEST(ReservedCounterTest, AReservationIsMadeLongBeforeItsUse) {
  ReservedCounter counter("c", 100);
  int since_last_write = 0, writes = 0;
  for (int i = 0; i < 1000; ++i) {
    WriteBatch batch;
    (void)counter.Next(&batch);
    if (batch.empty()) {
      ++since_last_write;
    } else {
      ++writes;
      since_last_write = 0;
    }
  }
  EXPECT_LE(writes, 21);
}

}  // namespace
}  // namespace millrace::master
