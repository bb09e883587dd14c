// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tests/dfs/tools/fs_fixture.h"
#include "tests/node_ids.h"

namespace millrace::dfs::testing {
namespace {

using Json = nlohmann::json;

class ListTest : public FsTest {
 protected:
  Json RunJson(const std::vector<std::string>& args) {
    const Ran ran = Run(args);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return Json::parse(ran.out);
  }
  static std::vector<std::string> Paths(const Json& list) {
    std::vector<std::string> paths;
    for (const Json& entry : list) paths.push_back(entry.at("path"));
    return paths;
  }
};

TEST_F(ListTest, FindTakesAgesByTheMastersClock) {
  tree_->MakeFile("/a/x", "12345");  // modified 1.7e9 seconds after the epoch
  tree_->now = 1'700'000'000 * kSecond + 72 * kHour;
  EXPECT_EQ(Run({"find", "/", "-mtime", "3", "-type", "f"}).out, "/a/x\n");
  EXPECT_EQ(Run({"find", "/", "-mtime", "+3", "-type", "f"}).out, "");
  tree_->now.reset();  // a master that does not tell its time
  EXPECT_EQ(Run({"find", "/", "-mtime", "+300", "-type", "f"}).out, "/a/x\n");
}

TEST_F(ListTest, OneLevelOrAll) {
  tree_->MakeFile("/a/x", "12345");
  tree_->MakeFile("/a/s/y", "1");
  EXPECT_EQ(Paths(RunJson({"ls", "--json", "/a"})), (std::vector<std::string>{"/a/s", "/a/x"}));
  EXPECT_EQ(Paths(RunJson({"ls", "--json", "-R"})), (std::vector<std::string>{"/a", "/a/s", "/a/x", "/a/s/y"}));
  EXPECT_EQ(Paths(RunJson({"ls", "--json", "/a/x"})), std::vector<std::string>{"/a/x"});
  const Json file = RunJson({"ls", "--json", "/a/x"})[0];
  EXPECT_EQ(file.at("type"), "file");
  EXPECT_EQ(file.at("length"), 5);
  EXPECT_EQ(file.at("replication"), 3);
}

TEST_F(ListTest, AnEmptyListingIsAnEmptyList) { EXPECT_EQ(RunJson({"ls", "--json", "/"}), Json::array()); }

TEST_F(ListTest, AFailedListingIsNoJson) {
  const Ran ran = Run({"ls", "--json", "/missing"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "");
}

TEST_F(ListTest, NamesOfAnyBytes) {
  tree_->MakeFile("/d/a\nb \"c\"", "");
  tree_->MakeFile("/d/\xff%", "");
  const Json list = RunJson({"ls", "--json", "/d"});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].at("path"), "/d/a\nb \"c\"");
  EXPECT_FALSE(list[0].contains("path_encoding"));
  EXPECT_EQ(list[1].at("path"), "/d/%FF%25");
  EXPECT_EQ(list[1].at("path_encoding"), "percent");
}

TEST_F(ListTest, APipeGetsTheBytesATerminalAQuotedName) {
  tree_->MakeFile("/d/a\nb", "");
  EXPECT_NE(Run({"ls", "/d"}).out.find("/d/a\nb\n"), std::string::npos);
  out_is_terminal_ = true;
  EXPECT_NE(Run({"ls", "/d"}).out.find("\"/d/a\\nb\"\n"), std::string::npos);
}

TEST_F(ListTest, StatSaysWhatIsKnown) {
  tree_->MakeFile("/a", "12345");
  const Ran ran = Run({"stat", "/a"});
  EXPECT_NE(ran.out.find("length       5 (5 B)"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("replication  3"), std::string::npos);
  EXPECT_NE(ran.out.find("modified     2023-11-14 22:13:20 UTC"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("  0000000000000007 at 0"), std::string::npos) << ran.out;
  const Json json = RunJson({"stat", "--json", "/a"});
  ASSERT_EQ(json[0].at("blocks").size(), 1u);
  EXPECT_EQ(json[0].at("blocks")[0].at("block"), "0000000000000007");
  Refuses(1, {"stat", "/missing"}, {"/missing"});
}

TEST_F(ListTest, DuCountsWhatIsBelowEachEntry) {
  tree_->MakeFile("/a/s/x", std::string(600, 'x'));
  tree_->MakeFile("/a/s/y", std::string(400, 'x'));
  tree_->MakeFile("/a/z", "1");
  const Json list = RunJson({"du", "--json", "/a"});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].at("path"), "/a/s");
  EXPECT_EQ(list[0].at("bytes"), 1000);
  EXPECT_EQ(list[0].at("bytes_with_replicas"), 3000);
  EXPECT_EQ(RunJson({"du", "-s", "--json", "/a"})[0].at("bytes"), 1001);
}

TEST_F(ListTest, FsckFailsOnlyWhenSomethingIsLost) {
  tree_->health = {.blocks = 10, .under_replicated = 1, .live_workers = 2};
  tree_->unhealthy = {{.path = "/d/thin", .block = 0xfedcba9876543210, .length = 9, .live = 1, .wanted = 3}};
  EXPECT_EQ(Run({"fsck"}).status, 0);
  EXPECT_NE(Run({"fsck"}).out.find("/d/thin"), std::string::npos);
  EXPECT_NE(Run({"fsck"}).out.find("block fedcba9876543210"), std::string::npos);
  tree_->health.missing = 1;
  tree_->unhealthy.push_back({.path = "/dd/gone", .block = 4, .length = 9, .live = 0, .wanted = 3});
  Refuses(1, {"fsck"}, {"1 block has no live replica and 0 replicas are corrupt"});
  tree_->MakeFile("/d/thin", "");
  const Json json = Json::parse(Run({"fsck", "--json", "/d"}).out);
  EXPECT_EQ(json.at("healthy"), false);
  ASSERT_EQ(json.at("unhealthy").size(), 1u);  // "/dd" is not below "/d"
  EXPECT_EQ(json.at("unhealthy")[0].at("path"), "/d/thin");
  EXPECT_EQ(json.at("unhealthy")[0].at("block"), "fedcba9876543210") << "a number of this size would lose bits";
}

TEST_F(ListTest, FsckSaysThatBlocksHaveASingleReplicaByAStatusOfItsOwn) {
  tree_->health = {.blocks = 10, .live_workers = 1, .short_of_nodes = 7, .single_replica = 7};
  tree_->unhealthy = {{.path = "/d/thin", .block = 4, .length = 9, .live = 1, .wanted = 2}};
  const auto found = Run({"fsck"});
  EXPECT_EQ(found.status, 4);
  EXPECT_NE(found.out.find("single replica    7"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("single    block"), std::string::npos) << found.out;
  EXPECT_NE(found.err.find("millrace: fs fsck: 7 blocks have one replica, and their files want more; "),
            std::string::npos)
      << found.err;
  const Json json = Json::parse(Run({"fsck", "--json"}).out);
  EXPECT_EQ(json.at("healthy"), false);
  EXPECT_EQ(json.at("single_replica"), 7);
  tree_->health.single_replica = 1;
  Refuses(4, {"fsck"}, {"1 block has one replica, and its file wants more"});
  tree_->health.missing = 1;
  Refuses(1, {"fsck"}, {"1 block has no live replica and 0 replicas are corrupt"});
  tree_->health.corrupt_replicas = 1;
  Refuses(1, {"fsck"}, {"and 1 replica is corrupt"});
  tree_->health = {.blocks = 10, .missing = 1, .awaiting = "it waits for a:1"};
  Refuses(1, {"fsck"}, {"1 block has no live replica yet, but does not count as missing"});
  tree_->health = {.blocks = 10, .awaiting = "it waits for a:1", .single_replica = 3};
  EXPECT_EQ(Run({"fsck"}).status, 0) << "what the workers that are awaited have is not known yet";
}

TEST_F(ListTest, FsckOfAPathThatIsNotThereFindsNothingHealthy) {
  tree_->health = {.blocks = 10, .live_workers = 2};
  tree_->MakeFile("/d/thin", "");
  EXPECT_EQ(Run({"fsck", "/d"}).status, 0);
  EXPECT_EQ(Run({"fsck", "/d/thin"}).status, 0);
  Refuses(1, {"fsck", "/e"}, {"fs fsck: \"/e\": no such file or directory"});
  Refuses(2, {"fsck", "e"}, {"fs fsck: \"e\": a path of the file system begins with /"});
}

TEST_F(ListTest, FsckNamesNoBlockOverReplicatedWhoseReplicasAreOnNodesThatGo) {
  tree_->health = {.blocks = 10, .under_replicated = 2, .live_workers = 3};
  tree_->unhealthy = {{.path = "/d/two", .block = 4, .length = 9, .live = 2, .wanted = 2},
                      {.path = "/d/one", .block = 5, .length = 9, .live = 1, .wanted = 1}};
  const std::string out = Run({"fsck"}).out;
  EXPECT_NE(
      out.find("under     block 0000000000000004, 9 B, 2 of 2 replicas, too few of them on nodes that stay in use"),
      std::string::npos)
      << out;
  EXPECT_NE(out.find("under     block 0000000000000005, 9 B, 1 of 1 replica, too few"), std::string::npos) << out;
  EXPECT_EQ(out.find("over  "), std::string::npos) << out;
}

TEST_F(ListTest, NothingIsMissingWhileTheMasterWaitsForWorkers) {
  const std::string line = "the master has started 3 s ago and waits for the reports of 2 of 5 workers (a:1, b:2)";
  tree_->health = {.blocks = 10, .missing = 2, .awaiting = line};
  tree_->unhealthy = {{.path = "/d/there", .block = 4, .length = 9, .live = 0, .wanted = 3}};
  Refuses(1, {"fsck"}, {"2 blocks have no live replica yet, but do not count as missing: " + line, "safemode wait"});
  EXPECT_NE(Run({"fsck"}).out.find("awaited           2"), std::string::npos) << Run({"fsck"}).out;
  EXPECT_NE(Run({"fsck"}).out.find("awaited   block"), std::string::npos);
  EXPECT_NE(Run({"fsck"}).out.find(line + "\n"), std::string::npos);
  EXPECT_EQ(Json::parse(Run({"fsck", "--json"}).out).at("safe_mode_reason"), line);
}

TEST_F(ListTest, SafemodeSaysWhomTheMasterWaitsForAndWhyItIsReadOnly) {
  EXPECT_EQ(Run({"safemode", "get"}).out, "safe mode is off\n");
  tree_->health = {.awaiting = "it waits for a:1", .read_only = "its disk is full"};
  EXPECT_EQ(Run({"safemode", "get"}).out, "safe mode is on: it waits for a:1\nits disk is full\n");
  const Json both = Json::parse(
      R"({"safe_mode": true, "safe_mode_reason": "it waits for a:1", "read_only": true, "read_only_reason": "its disk is full"})");
  EXPECT_EQ(Json::parse(Run({"safemode", "--json", "get"}).out), both);
  const Json fsck = Json::parse(Run({"fsck", "--json"}).out);
  for (const auto& [key, value] : both.items()) EXPECT_EQ(fsck.at(key), value) << key;
  EXPECT_EQ(Run({"safemode", "wait"}).out, "safe mode is off\nits disk is full\n");
  tree_->health = {};
  EXPECT_EQ(
      Json::parse(Run({"safemode", "--json", "get"}).out),
      Json::parse(R"({"safe_mode": false, "safe_mode_reason": null, "read_only": false, "read_only_reason": null})"));
  EXPECT_EQ(Run({"safemode"}).status, 2);
  Refuses(2, {"safemode", "leave"}, {"\"leave\" is neither get nor wait"});
}

TEST_F(ListTest, VerifySaysWhichReplicasAreNotSound) {
  tree_->MakeFile("/d/a", "1");
  tree_->MakeFile("/d/e/b", "2");
  tree_->replicas["/d/a"] = {{.block = 1, .node = 4_n, .host = "h", .port = 7, .finding = ReplicaFinding::kSound}};
  EXPECT_EQ(Run({"verify", "--wait", "/d"}).status, 0);
  EXPECT_NE(Run({"verify", "--wait"}).out.find("checked 1 replica of 2 files: 1 sound"), std::string::npos);
  tree_->replicas["/d/e/b"] = {{.block = 2, .node = 5_n, .host = "i", .port = 8, .finding = ReplicaFinding::kCorrupt},
                               {.block = 2, .node = 6_n, .host = "j", .port = 9, .finding = ReplicaFinding::kAbsent}};
  const auto found = Run({"verify", "--wait", "/d"});
  EXPECT_EQ(found.status, 1);
  EXPECT_NE(found.out.find("corrupt     block 0000000000000002 on node 5 at i:8: \"/d/e/b\""), std::string::npos)
      << found.out;
  EXPECT_NE(found.out.find("absent      block 0000000000000002 on node 6 at j:9"), std::string::npos) << found.out;
  EXPECT_EQ(Run({"verify", "--wait", "/d/a"}).status, 0);
  const auto asked = Run({"verify", "/d"});
  EXPECT_EQ(asked.status, 0);
  EXPECT_NE(asked.out.find("3 replicas of 2 files are being checked"), std::string::npos) << asked.out;
}

}  // namespace
}  // namespace millrace::dfs::testing
