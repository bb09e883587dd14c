// SPDX-License-Identifier: Apache-2.0
#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

using UsageTest = FsTest;

TEST_F(UsageTest, WrongUsageIsSeenBeforeAnythingIsAsked) {
  Refuses(2, {"nonsense"}, {"nonsense"});
  Refuses(2, {"lss"}, {"ls"});
  Refuses(2, {"ls", "--recursiv"}, {"--recursiv", "--recursive"});
  Refuses(2, {"put", "x"}, {"too few", "SOURCE... TARGET"});
  Refuses(2, {"cat"}, {"PATH"});
  Refuses(2, {"tail", "--bytes", "lots", "/a"}, {"--bytes", "lots"});
  Refuses(2, {"put", "--replication", "0", "a", "/a"}, {"--replication"});
  Refuses(2, {"put", "--block-size", "big", "a", "/a"}, {"--block-size", "big"});
  Refuses(2, {"put", "--progress", "loud", "a", "/a"}, {"loud"});
  Refuses(2, {"setrep", "many", "/a"}, {"many"});
  Refuses(2, {"setrep", "65", "/a"}, {"65"});
  Refuses(2, {"setrep", "1x", "/a"}, {"1x"});
  EXPECT_EQ(Run({}).status, 2);
  EXPECT_EQ(connects_, 0);
}

TEST_F(UsageTest, AnUnreachableMasterIsStatusThree) {
  reachable_ = false;
  Refuses(3, {"ls", "/"}, {"nowhere:1"});
  Refuses(3, {"put", MakeLocal("a", ""), "/a"}, {"nowhere:1"});
}

TEST_F(UsageTest, HelpGoesToStandardOutput) {
  const Ran all = Run({"--help"});
  EXPECT_EQ(all.status, 0);
  for (const FsVerb& verb : FsVerbs()) {
    EXPECT_NE(all.out.find(verb.name), std::string::npos);
    const Ran one = Run({verb.name, "--help"});
    EXPECT_EQ(one.status, 0);
    EXPECT_EQ(one.err, "");
    EXPECT_NE(one.out.find("millrace fs " + verb.name), std::string::npos);
  }
}

TEST_F(UsageTest, ADashedNameBehindTheMark) {
  tree_->MakeFile("/-dash", "data");
  EXPECT_EQ(Run({"cat", "/-dash"}).out, "data");
  const std::string text = MakeLocal("x", "1");
  EXPECT_EQ(Run({"put", "--", text, "/-y"}).status, 0);
  EXPECT_TRUE(tree_->Has("/-y"));
  Refuses(2, {"cat", "--", "-c"}, {"\"-c\""});
}

TEST_F(UsageTest, MkdirMvRmSetrep) {
  EXPECT_EQ(Run({"mkdir", "-p", "/m/n", "/o"}).status, 0);
  EXPECT_TRUE(tree_->Has("/m/n"));
  tree_->MakeFile("/a", "1");
  tree_->MakeFile("/b", "2");
  Refuses(1, {"mv", "/a", "/b", "/nowhere"}, {"/nowhere"});
  EXPECT_EQ(Run({"mv", "/a", "/b", "/m/n"}).status, 0);
  EXPECT_EQ(tree_->Files(), (std::map<std::string, std::string>{{"/m/n/a", "1"}, {"/m/n/b", "2"}}));
  EXPECT_EQ(Run({"setrep", "2", "/m"}).status, 0);
  EXPECT_EQ(tree_->entries.at("/m/n/b").options.replication, 2u);
  Refuses(1, {"rm", "/m"}, {"/m", "is a directory; -r removes it"});
  Refuses(1, {"rm", "-d", "/m"}, {"/m", "not empty"});
  Refuses(1, {"rm", "/missing"}, {"/missing"});
  EXPECT_EQ(Run({"rm", "-f", "/missing"}).status, 0);
  EXPECT_EQ(Run({"rm", "-r", "/m", "/o"}).status, 0);
  EXPECT_EQ(tree_->entries.size(), 1u);
}

TEST_F(UsageTest, OnePathThatFailsDoesNotKeepTheOthers) {
  tree_->MakeFile("/b", "2");
  Refuses(1, {"rm", "/missing", "/b"}, {"/missing"});
  EXPECT_FALSE(tree_->Has("/b"));
}

}  // namespace
}  // namespace millrace::dfs::testing
