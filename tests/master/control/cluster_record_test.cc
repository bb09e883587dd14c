// SPDX-License-Identifier: Apache-2.0
#include "master/control/cluster_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/cluster_id.h"
#include "base/file.h"
#include "master/control/master_config.h"

namespace millrace::master {
namespace {

using testing::HasSubstr;

const std::string kCluster = FormatClusterId(0x0123456789abcdef, 7);

class ClusterRecordTest : public testing::Test {
 protected:
  TempDir made_ = std::move(*TempDir::Make("cluster_record"));
  std::string directory_ = made_.path() + "/master";
};

TEST(ClusterIdTest, Is32Digits) {
  EXPECT_EQ(kCluster, "0123456789abcdef0000000000000007");
  EXPECT_TRUE(IsClusterId(kCluster));
  EXPECT_FALSE(IsClusterId(""));
  EXPECT_FALSE(IsClusterId(kCluster + "0"));
  EXPECT_FALSE(IsClusterId("0123456789ABCDEF0000000000000007"));
}

TEST_F(ClusterRecordTest, AClusterIsMadeOnceAndOpenedWithItsId) {
  ASSERT_TRUE(InitCluster(directory_, kCluster).ok());
  {
    const auto store = OpenCluster(directory_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ(*ReadClusterId(**store), kCluster);
  }
  const Status again = InitCluster(directory_, FormatClusterId(1, 1));
  EXPECT_EQ(again.code(), StatusCode::kExists);
  EXPECT_THAT(again.message(), HasSubstr(kCluster));
  EXPECT_EQ(*ReadClusterId(**OpenCluster(directory_)), kCluster);
}

TEST_F(ClusterRecordTest, ADirectoryWithoutAClusterIsRefusedAndStaysAsItWas) {
  const Status absent = OpenCluster(directory_).status();
  EXPECT_EQ(absent.code(), StatusCode::kNotFound);
  EXPECT_THAT(absent.message(), HasSubstr(directory_));
  EXPECT_THAT(absent.message(), HasSubstr("millrace master --init"));
  EXPECT_EQ(ListDirectory(directory_).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(MakeDirectories(directory_).ok());
  EXPECT_EQ(OpenCluster(directory_).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(ListDirectory(directory_)->empty());
}

TEST_F(ClusterRecordTest, ADatabaseWithoutAnIdIsNoClusterAndNotMadeOne) {
  {
    const auto store = OpenRocksStore(directory_ + "/database");
    WriteBatch batch;
    batch.Put("f/1", "something");
    ASSERT_TRUE((*store)->Write(batch, Durability::kSynced).ok());
  }
  EXPECT_EQ(OpenCluster(directory_).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(InitCluster(directory_, kCluster).code(), StatusCode::kExists);
}

TEST_F(ClusterRecordTest, AnInitThatEndedBeforeTheIdWasStoredIsRepeated) {
  ASSERT_TRUE(OpenRocksStore(directory_ + "/database").ok());
  EXPECT_EQ(OpenCluster(directory_).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(InitCluster(directory_, kCluster).ok());
}

TEST_F(ClusterRecordTest, ADatabaseIsInItsPlaceOnceItIsWhole) {
  const std::string begun = directory_ + "/database.making";
  ASSERT_TRUE(MakeDirectories(begun).ok());
  ASSERT_TRUE(WriteFileDurably(begun + "/MANIFEST-000001", "cut").ok());
  EXPECT_EQ(OpenCluster(directory_).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(MakeDirectories(directory_ + "/database").ok());
  ASSERT_TRUE(WriteFileDurably(directory_ + "/database/OWNER", "").ok());
  EXPECT_TRUE(InitCluster(directory_, kCluster).ok());
  EXPECT_TRUE(OpenCluster(directory_).ok());
  EXPECT_THAT(*ListDirectory(directory_), testing::UnorderedElementsAre("database", "database.committed", "init.lock"));
}

TEST_F(ClusterRecordTest, TheRemainsOfADatabaseAreNeitherOpenedNorWrittenOver) {
  ASSERT_TRUE(InitCluster(directory_, kCluster).ok());
  ASSERT_EQ(::remove((directory_ + "/database/CURRENT").c_str()), 0);
  const auto before = *ListDirectory(directory_ + "/database");
  EXPECT_EQ(OpenCluster(directory_).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(InitCluster(directory_, FormatClusterId(1, 1)).code(), StatusCode::kCorrupt);
  EXPECT_EQ(*ListDirectory(directory_ + "/database"), before);
}

TEST(MasterConfigTest, TheDirectoryMustBeSet) {
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  EXPECT_EQ(CheckMasterConfig(config).code(), StatusCode::kInvalid);
  EXPECT_THAT(CheckMasterConfig(config).message(), HasSubstr("master.directory"));
  ASSERT_TRUE(options.Set("master.directory", "/somewhere").ok());
  EXPECT_TRUE(CheckMasterConfig(config).ok());
}

TEST(MasterConfigTest, TheAddressHasAHostAndAPort) {
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  config.directory = "/somewhere";
  for (const char* bind : {"7700", ":7700", "0.0.0.0:", ""}) {
    config.bind = bind;
    EXPECT_THAT(CheckMasterConfig(config).message(), HasSubstr("master.bind")) << bind;
  }
  config.bind = "[::]:7700";
  EXPECT_TRUE(CheckMasterConfig(config).ok());
}

}  // namespace
}  // namespace millrace::master
