// SPDX-License-Identifier: Apache-2.0
// The trash of a whole cluster under driven time: what lies there for dfs.trash_retention keeps its blocks, also when
// the master starts again, and is then deleted from the workers.
#include <gmock/gmock.h>

#include "base/units.h"
#include "dfs/data/block_store.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

std::string Trash(SimulatedCluster& cluster, const std::string& path) {
  master::Step step = cluster.control().steps().Begin();
  const Result<std::string> place = cluster.control().files().Trash(path, true, "ann", step.now, &step.batch);
  EXPECT_TRUE(place.ok());
  cluster.control().steps().FinishLazily(std::move(step));
  return place.ok() ? *place : std::string();
}

bool HasBlock(SimulatedCluster& cluster, dfs::BlockId block) { return cluster.blocks(0).Length(block).has_value(); }

TEST(TrashTest, WhatIsRemovedKeepsItsBlocksForTheRetentionAndLosesThemThen) {
  SimulatedCluster cluster({.workers = 1, .trash_retention = 300 * kSecond});
  const dfs::BlockId first = cluster.StoreFile("/first");
  const dfs::BlockId second = cluster.StoreFile("/second");
  const std::string place = Trash(cluster, "/first");
  const double removed = cluster.seconds();
  cluster.Advance(100);
  const std::string later = Trash(cluster, "/second");
  cluster.RestartMaster();
  cluster.Advance(removed + 299 - cluster.seconds());
  EXPECT_TRUE(cluster.control().files().names().Stat(place).ok());
  EXPECT_TRUE(HasBlock(cluster, first));
  cluster.Advance(10);
  EXPECT_FALSE(cluster.control().files().names().Stat(place).ok());
  EXPECT_FALSE(HasBlock(cluster, first));
  EXPECT_TRUE(cluster.control().files().names().Stat(later).ok());
  EXPECT_TRUE(HasBlock(cluster, second));
  cluster.Advance(100);
  EXPECT_FALSE(HasBlock(cluster, second));
  EXPECT_EQ(cluster.control().files().names().TrashUse(), (dfs::Use{.bytes = 0, .entries = 1}))
      << "the user's directory";
}

TEST(TrashTest, ManyDeletionsThatAreDueGoOverSeveralSteps) {
  SimulatedCluster cluster({.workers = 1, .trash_retention = 10 * kSecond});
  master::Step step = cluster.control().steps().Begin();
  for (int i = 0; i < 300; ++i) {
    const std::string path = "/f" + std::to_string(i);
    ASSERT_TRUE(cluster.control().files().Touch(path, "ann", step.now, &step.batch).ok());
    ASSERT_TRUE(cluster.control().files().Trash(path, false, "ann", step.now, &step.batch).ok());
  }
  cluster.control().steps().FinishLazily(std::move(step));
  cluster.Advance(9);
  EXPECT_EQ(cluster.control().files().names().Deletions("ann", 0, 1000).size(), 300U);
  cluster.Advance(10);
  EXPECT_EQ(cluster.control().files().names().Deletions("ann", 0, 1000).size(), 0U);
}

TEST(TrashTest, WithoutARetentionNothingIsPurged) {
  SimulatedCluster cluster({.workers = 1, .trash_retention = 0});
  const dfs::BlockId block = cluster.StoreFile("/file");
  const std::string place = Trash(cluster, "/file");
  cluster.Advance(1000);
  EXPECT_TRUE(cluster.control().files().names().Stat(place).ok());
  EXPECT_TRUE(HasBlock(cluster, block));
}

// The removal of what is due makes room on a disk that has none, by way of the spare log.
TEST(TrashTest, OnAFullDiskWhatIsDueIsStillRemoved) {
  SimulatedCluster cluster({.workers = 1, .trash_retention = 60 * kSecond});
  cluster.StoreFile("/file");
  const std::string place = Trash(cluster, "/file");
  cluster.Advance(10);
  cluster.SetSpare(1 << 20);
  cluster.SetFree(50 << 20);
  cluster.Advance(100);
  EXPECT_FALSE(cluster.control().files().names().Stat(place).ok());
}

}  // namespace
}  // namespace millrace
