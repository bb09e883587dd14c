// SPDX-License-Identifier: Apache-2.0
#include "master/control/backup_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

using testing::HasSubstr;

constexpr Micros kNow = 1'800'000'000 * kSecond;

class BackupWatchTest : public testing::Test {
 protected:
  void Keep(WriteBatch batch) { ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok()); }
  void Made(BackupWatch& watch, Micros at) {
    WriteBatch batch;
    BackupFacts facts;
    facts.operations = 7;
    facts.bytes = 100;
    facts.made = at;
    watch.NoteMade("/backups", facts, at, &batch);
    Keep(std::move(batch));
  }
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
};

TEST_F(BackupWatchTest, WarnsOfNoneOnlyIfAnAgeIsSet) {
  EXPECT_EQ(BackupWatch(0).AgeLine(kNow), "");
  EXPECT_THAT(BackupWatch(kHour).AgeLine(kNow), HasSubstr("no backup of the database is known"));
}

TEST_F(BackupWatchTest, WarnsOnceTheLastIsOlderThanTheAge) {
  BackupWatch watch(kHour);
  Made(watch, kNow);
  EXPECT_EQ(watch.AgeLine(kNow + kHour), "");
  EXPECT_THAT(watch.AgeLine(kNow + kHour + kSecond), HasSubstr("in /backups, and shall not be older than 1 h"));
  EXPECT_EQ(watch.AgeLine(kNow - kHour), "") << "the clock was set back";
}

TEST_F(BackupWatchTest, WithoutAnAgeItWarnsAfterTwoDays) {
  BackupWatch watch(0);
  Made(watch, kNow);
  EXPECT_EQ(watch.AgeLine(kNow + 48 * kHour), "");
  EXPECT_NE(watch.AgeLine(kNow + 48 * kHour + kSecond), "");
}

TEST_F(BackupWatchTest, WarnsOfACopyThatFailedUntilOneSucceeds) {
  BackupWatch watch(0);
  WriteBatch batch;
  EXPECT_EQ(watch.NoteCopy("/backups", "", kNow, &batch).code(), StatusCode::kInvalid) << "there is no backup";
  Made(watch, kNow);
  EXPECT_EQ(watch.CopyLine(), "");
  EXPECT_EQ(watch.NoteCopy("/others", "no route", kNow, &batch).code(), StatusCode::kInvalid);
  ASSERT_TRUE(watch.NoteCopy("/backups", "no route", kNow, &batch).ok());
  EXPECT_THAT(watch.CopyLine(), HasSubstr("no route"));
  ASSERT_TRUE(watch.NoteCopy("/backups", "", kNow, &batch).ok());
  EXPECT_EQ(watch.CopyLine(), "");
}

TEST_F(BackupWatchTest, IsTheSameAfterARestart) {
  BackupWatch watch(0);
  Made(watch, kNow);
  WriteBatch batch;
  ASSERT_TRUE(watch.NoteCopy("/backups", "no route", kNow + kSecond, &batch).ok());
  Keep(std::move(batch));
  BackupWatch again(0);
  ASSERT_TRUE(again.Load(*store_).ok());
  EXPECT_EQ(again.last(), watch.last());
  EXPECT_EQ(again.last()->made, kNow);
  EXPECT_EQ(again.last()->copied, kNow + kSecond);
}

TEST_F(BackupWatchTest, ADamagedRecordIsRefused) {
  WriteBatch batch;
  batch.Put("backup", "\x09");
  Keep(std::move(batch));
  BackupWatch watch(0);
  EXPECT_EQ(watch.Load(*store_).code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace::master
