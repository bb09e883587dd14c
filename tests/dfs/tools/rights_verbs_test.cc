// SPDX-License-Identifier: Apache-2.0
// Tests the verbs chmod, chown and chgrp, and modes in mkdir, put, ls and stat.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

class RightsVerbsTest : public FsTest {
 protected:
  std::string ModeOf(const std::string& path) { return OctalText(tree_->entries.at(path).mode); }
  std::string OwnersOf(const std::string& path) {
    return tree_->entries.at(path).owner + ":" + tree_->entries.at(path).group;
  }
};

TEST_F(RightsVerbsTest, ChmodChangesWhatIsNamedAndWithRAllBelow) {
  tree_->MakeFile("/d/e/f", "");
  EXPECT_EQ(Run({"chmod", "700", "/d"}).status, 0);
  EXPECT_EQ(ModeOf("/d") + " " + ModeOf("/d/e") + " " + ModeOf("/d/e/f"), "700 755 644");
  EXPECT_EQ(Run({"chmod", "-R", "g+wX,o=", "/d"}).status, 0);
  EXPECT_EQ(ModeOf("/d") + " " + ModeOf("/d/e") + " " + ModeOf("/d/e/f"), "730 770 660");
  EXPECT_EQ(Run({"chmod", "u+x", "/d/e/f", "/d/e"}).status, 0);
  EXPECT_EQ(ModeOf("/d/e/f"), "760");
  Refuses(2, {"chmod", "rwx", "/d"}, {"\"rwx\" is not a mode"});
  Refuses(2, {"chmod", "755"}, {"MODE PATH..."});
  Refuses(1, {"chmod", "755", "/missing"}, {"/missing"});
}

// An owner who closes a directory for himself could not go in any more, and one who opens it could not before.
TEST_F(RightsVerbsTest, ADirectoryIsChangedAfterWhatIsInItUnlessThatOpensIt) {
  tree_->MakeFile("/d/f", "");
  std::vector<std::string> order;
  tree_->on_change = [&](const std::string& path) {
    order.push_back(path);
    return Status::Ok();
  };
  EXPECT_EQ(Run({"chmod", "-R", "0", "/d"}).status, 0);
  EXPECT_EQ(order, (std::vector<std::string>{"/d/f", "/d"}));
  order.clear();
  EXPECT_EQ(Run({"chmod", "-R", "u+rwX", "/d"}).status, 0);
  EXPECT_EQ(order, (std::vector<std::string>{"/d", "/d/f"}));
}

TEST_F(RightsVerbsTest, ChownAndChgrpGiveOwnersAndGroups) {
  tree_->MakeFile("/d/f", "");
  EXPECT_EQ(Run({"chown", "bob", "/d"}).status, 0);
  EXPECT_EQ(OwnersOf("/d") + " " + OwnersOf("/d/f"), "bob: somebody:");
  EXPECT_EQ(Run({"chown", "-R", "ann:team", "/d"}).status, 0);
  EXPECT_EQ(OwnersOf("/d") + " " + OwnersOf("/d/f"), "ann:team ann:team");
  EXPECT_EQ(Run({"chown", ":others", "/d/f"}).status, 0);
  EXPECT_EQ(OwnersOf("/d/f"), "ann:others");
  EXPECT_EQ(Run({"chgrp", "-R", "team", "/d"}).status, 0);
  EXPECT_EQ(OwnersOf("/d/f"), "ann:team");
  for (const char* wrong : {"", ":", "ann:"}) Refuses(2, {"chown", wrong, "/d"}, {"is not OWNER"});
  Refuses(2, {"chgrp", "", "/d"}, {"empty"});
}

TEST_F(RightsVerbsTest, ARefusalIsToldAndEndsTheTree) {
  tree_->MakeFile("/d/f", "");
  tree_->on_change = [](const std::string& path) {
    return path == "/d/f" ? Denied("eve may not change the mode of \"/d/f\"") : Status::Ok();
  };
  Refuses(1, {"chmod", "-R", "700", "/d"}, {"eve may not change the mode of"});
  EXPECT_EQ(ModeOf("/d"), "755");
}

TEST_F(RightsVerbsTest, WhatIsMadeHasTheModeThatIsAskedFor) {
  const std::string text = MakeLocal("x", "1");
  EXPECT_EQ(Run({"mkdir", "--mode", "1770", "/a/b"}).status, 0);
  EXPECT_EQ(ModeOf("/a") + " " + ModeOf("/a/b"), "755 1770");
  EXPECT_EQ(Run({"mkdir", "--mode", "o=", "/c"}).status, 0);
  EXPECT_EQ(ModeOf("/c"), "750");
  EXPECT_EQ(Run({"put", text, "/f"}).status, 0);
  EXPECT_EQ(Run({"put", "--mode", "go=", text, "/g"}).status, 0);
  EXPECT_EQ(ModeOf("/f") + " " + ModeOf("/g"), "644 600");
  Refuses(2, {"mkdir", "--mode", "9", "/x"}, {"--mode", "\"9\" is not a mode"});
  Refuses(2, {"put", "--mode", "9", text, "/x"}, {"--mode", "\"9\" is not a mode"});
}

TEST_F(RightsVerbsTest, LsShowsModeOwnerAndGroupInColumnsThatStay) {
  tree_->MakeFile("/d/f", "12345");
  tree_->MakeFile("/d/s/x", "");
  tree_->entries.at("/d/f").group = "team";
  tree_->entries.at("/d/s").mode = 01777;
  tree_->entries.at("/d/s").owner = "";
  EXPECT_EQ(Run({"ls", "/d"}).out,
            "-rw-r--r--  3  somebody team                 5  2023-11-14 22:13:20  /d/f\n"
            "drwxrwxrwt  -  -        -                    0  2023-11-14 22:13:20  /d/s\n");
  const auto json = nlohmann::json::parse(Run({"ls", "--json", "/d"}).out);
  EXPECT_EQ(json[0].at("mode"), "644");
  EXPECT_EQ(json[0].at("group"), "team");
  EXPECT_EQ(json[1].at("mode"), "1777");
  const std::string stat = Run({"stat", "/d/s"}).out;
  EXPECT_NE(stat.find("owner        -\ngroup        -\nmode         1777 (rwxrwxrwt)\n"), std::string::npos) << stat;
}

}  // namespace
}  // namespace millrace::dfs::testing
