// SPDX-License-Identifier: Apache-2.0
// Tests the verbs rm, undelete, trash and quota.
#include <nlohmann/json.hpp>

#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

using Json = nlohmann::json;

class TrashVerbsTest : public FsTest {
 protected:
  // The deletions of the fake are made at 1, 2, ... microseconds after the epoch.
  static constexpr const char* kFirst = "19700101T000000.000001Z";
  static constexpr const char* kSecond = "19700101T000000.000002Z";
};

TEST_F(TrashVerbsTest, AtATerminalRmSaysWhereThingsAreAndHowToGetThemBack) {
  tree_->MakeFile("/d/f", "data");
  out_is_terminal_ = true;
  const Ran ran = Run({"rm", "/d/f"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out,
            "\"/d/f\" is in the trash until 1970-01-04 00:00:00 UTC, as "
            "\"/.trash/somebody/19700101T000000.000001Z/d/f\"; millrace fs undelete \"/d/f\" brings it back\n");
  EXPECT_FALSE(tree_->Has("/d/f"));
  EXPECT_EQ(Run({"undelete", "/d/f"}).out, "\"/d/f\" is back\n");
  EXPECT_TRUE(tree_->Has("/d/f"));
}

TEST_F(TrashVerbsTest, InAScriptRmRemovesAtOnceUnlessToldOtherwise) {
  tree_->MakeFile("/f", "data");
  tree_->MakeFile("/g", "data");
  EXPECT_EQ(Run({"rm", "/f"}).out, "");
  EXPECT_TRUE(tree_->deletions.empty());
  EXPECT_EQ(Run({"rm", "--trash", "/g"}).status, 0);
  EXPECT_EQ(tree_->deletions.size(), 1U);
  Refuses(2, {"rm", "--trash", "--skip-trash", "/g"}, {"--trash", "--skip-trash"});
}

TEST_F(TrashVerbsTest, NothingIsPutIntoTheTrashByHand) {
  tree_->MakeFile("/f", "data");
  tree_->MakeFile("/g", "data");
  MakeLocal("local", "data");
  for (const bool there : {false, true}) {
    for (const char* target : {"/.trash", "/.trash/", "/.trash/somebody/x"}) {
      for (const auto& args : {std::vector<std::string>{"mv", "/f", target},
                               {"mv", "/f", "/g", target},
                               {"cp", "/f", target},
                               {"put", Local("local"), target}})
        Refuses(1, args, {"fs rm --trash", "fs undelete"});
    }
    EXPECT_TRUE(tree_->Has("/f") && tree_->Has("/g"));
    if (!there) tree_->MakeFile("/.trash/somebody/19700101T000000.000001Z/h", "data");
  }
}

TEST_F(TrashVerbsTest, SkipTrashRemovesAtOnceAtATerminal) {
  tree_->MakeFile("/f", "data");
  out_is_terminal_ = true;
  EXPECT_EQ(Run({"rm", "--skip-trash", "/f"}).out, "");
  EXPECT_TRUE(tree_->deletions.empty());
  EXPECT_FALSE(tree_->Has("/f"));
}

TEST_F(TrashVerbsTest, WhatIsRemovedFromTheTrashOrWithoutOneIsGone) {
  tree_->MakeFile("/f", "data");
  tree_->MakeFile("/g", "data");
  out_is_terminal_ = true;
  EXPECT_EQ(Run({"rm", "/f"}).status, 0);
  EXPECT_EQ(Run({"rm", "-r", "/.trash/somebody/" + std::string(kFirst)}).out, "");
  EXPECT_TRUE(tree_->Files().size() == 1 && tree_->Has("/g"));
  tree_->trash_retention = 0;
  EXPECT_EQ(Run({"rm", "/g"}).out, "");
  EXPECT_TRUE(tree_->Files().empty());
}

TEST_F(TrashVerbsTest, ManyRemovedThingsAreToldInShort) {
  for (const char name : std::string("abcdefgh")) tree_->MakeFile(std::string("/d/") + name, "");
  const Ran ran = Run({"rm", "--trash", "/d/*"});
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 6) << ran.out;
  EXPECT_TRUE(ran.out.ends_with("3 more were moved to the trash; millrace fs trash lists them\n")) << ran.out;
  for (const char name : std::string("abcdef")) tree_->MakeFile(std::string("/e/") + name, "");
  const Ran one = Run({"rm", "--trash", "/e/*"});
  EXPECT_TRUE(one.out.ends_with("\n1 more was moved to the trash; millrace fs trash lists them\n")) << one.out;
}

TEST_F(TrashVerbsTest, AnOlderDeletionComesBackByItsTime) {
  tree_->MakeFile("/f", "first");
  EXPECT_EQ(Run({"rm", "--trash", "/f"}).status, 0);
  tree_->MakeFile("/f", "second");
  EXPECT_EQ(Run({"rm", "--trash", "/f"}).status, 0);
  const Ran listed = Run({"undelete", "--list", "/f"});
  EXPECT_NE(listed.out.find(kFirst), std::string::npos) << listed.out;
  EXPECT_LT(listed.out.find(kFirst), listed.out.find(kSecond));
  EXPECT_FALSE(tree_->Has("/f"));
  EXPECT_EQ(Run({"undelete", "--at", kFirst, "/f"}).status, 0);
  EXPECT_EQ(tree_->Files().at("/f"), "first");
  Refuses(1, {"undelete", "/f"}, {"/f", "exists"});
  Refuses(1, {"undelete", "/g"}, {"/g", "not in the trash"});
  Refuses(2, {"undelete", "--at", "yesterday", "/f"}, {"yesterday", "--list"});
}

TEST_F(TrashVerbsTest, TrashListsWhatItHolds) {
  EXPECT_EQ(Run({"trash"}).out, "nothing is in the trash\n");
  EXPECT_EQ(Run({"trash", "--json"}).out, "[]\n");
  tree_->MakeFile("/d/f", std::string(1024, 'x'));
  EXPECT_EQ(Run({"rm", "-r", "--trash", "/d"}).status, 0);
  const Ran ran = Run({"trash"});
  EXPECT_NE(ran.out.find("19700101T000000.000001Z      3 KiB         2  1970-01-04 00:00:00 \"/d/\"\n"),
            std::string::npos)
      << ran.out;
  EXPECT_TRUE(ran.out.ends_with("3 KiB with all replicas in 1 deletion\n")) << ran.out;
  const Json json = Json::parse(Run({"trash", "--json"}).out);
  EXPECT_EQ(json, Json::parse(R"([{"path": "/d", "place": "/.trash/somebody/19700101T000000.000001Z/d",
      "stamp": "19700101T000000.000001Z", "deleted_at": 0.000001, "expires_at": 259200.000001, "type": "directory",
      "bytes_with_replicas": 3072, "files_and_directories": 2}])"));
  const Json all = Json::parse(Run({"trash", "--all", "--json"}).out);
  EXPECT_EQ(all.at(0).at("user"), "somebody");
}

TEST_F(TrashVerbsTest, EmptyRemovesForGoodWhatIsOldEnough) {
  tree_->MakeFile("/f", "data");
  EXPECT_EQ(Run({"rm", "--trash", "/f"}).status, 0);
  tree_->now = kHour;  // by this machine's clock it is from 1970
  EXPECT_EQ(Run({"trash", "--empty", "--older-than", "1h"}).out.find("0 files"), 0U);
  tree_->now.reset();
  Refuses(1, {"trash", "--empty", "--older-than", "1h"}, {"time"});
  EXPECT_FALSE(tree_->Files().empty());
  tree_->now = kHour + 2;
  EXPECT_EQ(Run({"trash", "--empty", "--older-than", "1h"}).out.find("1 file or directory removed"), 0U);
  EXPECT_TRUE(tree_->Files().empty());
  tree_->MakeFile("/g", "data");
  EXPECT_EQ(Run({"rm", "--trash", "/g"}).status, 0);
  EXPECT_EQ(Run({"trash", "--empty"}).out.find("1 file or directory removed"), 0U);
  EXPECT_TRUE(tree_->Files().empty());
  Refuses(2, {"trash", "--older-than", "1h"}, {"--empty"});
  Refuses(2, {"trash", "--empty", "--older-than", "soon"}, {"--older-than", "soon"});
  Refuses(2, {"trash", "--all", "--user", "ann"}, {"--all", "--user"});
}

TEST_F(TrashVerbsTest, DfTellsWhatTheTrashHolds) {
  tree_->health.trash = {.bytes = std::uint64_t{12} << 30, .entries = 7};
  EXPECT_NE(Run({"df"}).out.find("\n12 GiB of what is used are in the trash\n"), std::string::npos);
  EXPECT_EQ(Json::parse(Run({"df", "--json"}).out).at("trash"), std::uint64_t{12} << 30);
}

TEST_F(TrashVerbsTest, QuotasAreSetShownAndCleared) {
  EXPECT_EQ(Run({"quota", "show"}).out, "there is no quota\n");
  EXPECT_EQ(Run({"quota", "set", "/d", "--bytes", "1G", "--files", "10"}).status, 0);
  EXPECT_EQ(Run({"quota", "set", "--user", "ann", "--files", "5"}).status, 0);
  tree_->quotas[0].use = {.bytes = 2048, .entries = 3};
  tree_->quotas[0].reserved = {.bytes = 1024, .entries = 1};
  EXPECT_EQ(Run({"quota", "show"}).out,
            "     BYTES       USED   RESERVED     FILES      USED  RESERVED  OF\n"
            "     1 GiB      2 KiB      1 KiB        10         3         1  \"/d\"\n"
            "      none        0 B        0 B         5         0         0  user \"ann\"\n");
  EXPECT_EQ(Json::parse(Run({"quota", "show", "/d/e", "--json"}).out), Json::parse(R"([{"directory": "/d",
      "bytes_with_replicas": {"quota": 1073741824, "used": 2048, "reserved": 1024},
      "files_and_directories": {"quota": 10, "used": 3, "reserved": 1}}])"));
  EXPECT_EQ(
      Json::parse(Run({"quota", "show", "--user", "ann", "--json"}).out).at(0).at("bytes_with_replicas").at("quota"),
      Json());
  EXPECT_EQ(Run({"quota", "set", "/d", "--bytes", "none"}).status, 0);
  EXPECT_EQ(tree_->quotas[0].quota, (Quota{.bytes = kNoQuota, .entries = 10})) << "the other limit stays";
  EXPECT_EQ(Run({"quota", "clear", "/d"}).status, 0);
  EXPECT_EQ(Run({"quota", "clear", "--user", "ann"}).status, 0);
  EXPECT_TRUE(tree_->quotas.empty());
}

TEST_F(TrashVerbsTest, AQuotaCommandThatMakesNoSenseIsRefusedBeforeAnythingIsAsked) {
  Refuses(2, {"quota", "raise", "/d"}, {"\"raise\"", "show, set or clear"});
  Refuses(2, {"quota", "set", "/d"}, {"--bytes", "--files"});
  Refuses(2, {"quota", "set", "--bytes", "1G"}, {"whose"});
  Refuses(2, {"quota", "set", "/d", "--user", "ann", "--bytes", "1G"}, {"exclude"});
  Refuses(2, {"quota", "clear", "/d", "--bytes", "1G"}, {"belong to set"});
  Refuses(2, {"quota", "set", "/d", "--bytes", "much"}, {"--bytes", "much"});
  Refuses(2, {"quota", "set", "/d", "--files", "-1"}, {"--files", "-1"});
  Refuses(2, {"quota", "set", "d", "--files", "1"}, {"\"d\""});
  Refuses(2, {"quota", "clear", "/d", "--json"}, {"--json"});
  EXPECT_EQ(connects_, 0);
}

}  // namespace
}  // namespace millrace::dfs::testing
