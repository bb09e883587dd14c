// SPDX-License-Identifier: Apache-2.0
#include "client/cli/known_clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/file.h"

namespace millrace::cli {
namespace {

const std::string kOne(32, '1'), kTwo(32, '2');

class KnownClustersTest : public testing::Test {
 protected:
  void Write(const std::string& text) {
    ASSERT_TRUE(MakeDirectories(made_.path() + "/state/millrace").ok());
    std::ofstream(file_) << text;
  }
  TempDir made_ = std::move(*TempDir::Make("known_clusters"));
  std::string file_ = KnownClustersFile(made_.path() + "/state", "");
};

TEST_F(KnownClustersTest, NothingIsKnownAtFirst) {
  const auto known = FindKnownCluster(file_, "one:7700");
  ASSERT_TRUE(known.ok()) << known.status().message();
  EXPECT_FALSE(known->cluster.has_value());
  EXPECT_EQ(known->unknown, "one:7700");
}

TEST_F(KnownClustersTest, RemembersByAddress) {
  ASSERT_TRUE(RememberCluster(file_, "one:7700", kOne).ok());
  ASSERT_TRUE(RememberCluster(file_, "one:77", kTwo).ok());
  EXPECT_EQ(FindKnownCluster(file_, "one:7700")->cluster->cluster, kOne);
  EXPECT_EQ(FindKnownCluster(file_, "one:77")->cluster->cluster, kTwo);
  EXPECT_EQ(FindKnownCluster(file_, "one:77")->cluster->line, 2u);
  EXPECT_EQ(FindKnownCluster(file_, "one:77")->unknown, "");
  EXPECT_FALSE(FindKnownCluster(file_, "one:7")->cluster.has_value());
  struct stat info = {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ListDirectory(made_.path() + "/state/millrace")->size(), 1u) << "nothing is left beside it";
}

// A master and its standbys belong to one cluster, whichever of them is named, in whatever order.
TEST_F(KnownClustersTest, AListIsKnownByEachOfItsMasters) {
  const std::string list = FindKnownCluster(file_, "two:2,one:1,two:2")->unknown;
  EXPECT_EQ(list, "one:1,two:2");
  ASSERT_TRUE(RememberCluster(file_, list, kOne).ok());
  for (const char* asked : {"one:1,two:2", "two:2,one:1", "one:1", "two:2", "three:3,two:2"}) {
    const auto known = FindKnownCluster(file_, asked);
    ASSERT_TRUE(known.ok() && known->cluster.has_value()) << asked;
    EXPECT_EQ(known->cluster->cluster, kOne) << asked;
    EXPECT_EQ(known->cluster->line, 1u) << asked;
  }
  EXPECT_EQ(FindKnownCluster(file_, "two:2,one:1")->unknown, "");
  EXPECT_EQ(FindKnownCluster(file_, "three:3,two:2")->unknown, "three:3");
  EXPECT_FALSE(FindKnownCluster(file_, "two:22")->cluster.has_value());
}

TEST_F(KnownClustersTest, LoopbackMastersOfAListAreLeftOut) {
  EXPECT_EQ(FindKnownCluster(file_, "127.0.0.1:7700,one:1")->unknown, "one:1");
  Write("127.0.0.1:7700,two:2 " + kTwo + "\n");
  EXPECT_FALSE(FindKnownCluster(file_, "127.0.0.1:7700,one:1")->cluster.has_value());
}

TEST_F(KnownClustersTest, MastersOfDifferentClustersAreNoList) {
  Write("one:1 " + kOne + "\ntwo:2 " + kTwo + "\n");
  const Status refused = FindKnownCluster(file_, "two:2,one:1").status();
  EXPECT_EQ(refused.code(), StatusCode::kCorrupt);
  EXPECT_THAT(refused.message(), testing::HasSubstr("lines 1 and 2"));
}

TEST_F(KnownClustersTest, KeepsNotesAndALineWithoutAnEnd) {
  Write("# mine\none:1 " + kOne);
  ASSERT_TRUE(RememberCluster(file_, "two:2", kTwo).ok());
  EXPECT_EQ(*ReadWholeFile(file_), "# mine\none:1 " + kOne + "\ntwo:2 " + kTwo + "\n");
  EXPECT_EQ(FindKnownCluster(file_, "one:1")->cluster->line, 2u);
}

TEST_F(KnownClustersTest, ABrokenLineIsNotTakenForNone) {
  Write("one:1\ntwo:2 something\n");
  EXPECT_EQ(FindKnownCluster(file_, "one:1").status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(FindKnownCluster(file_, "two:2").status().message(), testing::HasSubstr("line 2"));
}

TEST(KnownClustersFileTest, LiesWhereStateIsKept) {
  EXPECT_EQ(KnownClustersFile("/state", "/home/me"), "/state/millrace/known_clusters");
  EXPECT_EQ(KnownClustersFile("", "/home/me"), "/home/me/.local/state/millrace/known_clusters");
  EXPECT_EQ(KnownClustersFile("", ""), "");
}

TEST(IsLoopbackTest, TellsThisMachineFromOthers) {
  for (const char* address :
       {"127.0.0.1:7700", "127.1.2.3:1", "localhost:7700", "[::1]:7700", "127.0.0.1:1,localhost:2"})
    EXPECT_TRUE(IsLoopback(address)) << address;
  for (const char* address : {"10.0.0.1:7700", "localhost.example:7700", "one:7700", "127.0.0.1:1,one:7700"})
    EXPECT_FALSE(IsLoopback(address)) << address;
}

}  // namespace
}  // namespace millrace::cli
