// SPDX-License-Identifier: Apache-2.0
#include "master/access/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::master {
namespace {

AccessRules Rules(const std::string& text) {
  Result<AccessRules> rules = AccessRules::Parse(text, "access.toml");
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return rules.ok() ? *std::move(rules) : AccessRules();
}

std::string Mistake(const std::string& text) {
  const Result<AccessRules> rules = AccessRules::Parse(text, "access.toml");
  EXPECT_NE(rules.status().code(), StatusCode::kOk) << text;
  return rules.status().message();
}

constexpr const char* kExample = R"(
administrators = ["ann", "@ops"]
[groups]
ops = ["carl", "dora"]
web = ["eve", "carl"]
[pools.production]
submit = ["@web"]
administer = ["frank"]
[pools.night]
administer = ["eve"]
[pools.closed]
submit = []
)";

TEST(AccessRules, WithoutAFileAdminAdministersAndEverybodySubmits) {
  for (const AccessRules& rules : {AccessRules(), Rules("")}) {
    EXPECT_TRUE(rules.IsAdministrator("admin"));
    EXPECT_FALSE(rules.IsAdministrator("ann"));
    EXPECT_FALSE(rules.IsAdministrator(""));
    EXPECT_TRUE(rules.MaySubmit("ann", "any"));
    EXPECT_FALSE(rules.MayAdminister("ann", "any"));
    EXPECT_FALSE(rules.MayAdminister("ann", "ann"))
        << "a pool of one's own name gives no right over others' jobs there";
    EXPECT_TRUE(rules.MayAdminister("admin", "any"));
    EXPECT_TRUE(rules.GroupsOf("ann").empty());
    EXPECT_EQ(rules.Administrators(), "admin");
  }
}

TEST(AccessRules, GroupsAreInTheListsThatNameThem) {
  const AccessRules rules = Rules(kExample);
  std::string administrators;
  for (const char* user : {"admin", "ann", "bob", "carl", "dora", "eve", "ops", "@ops"}) {
    if (rules.IsAdministrator(user)) administrators += std::string(user) + " ";
  }
  EXPECT_EQ(administrators, "ann carl dora ");
  EXPECT_EQ(rules.GroupsOf("carl"), (AccessRules::Names{"ops", "web"}));
  EXPECT_EQ(rules.GroupsOf("bob"), AccessRules::Names{});
  EXPECT_EQ(rules.Administrators(), "ann, @ops");
  EXPECT_EQ(rules.SubmittersOf("production"), "@web");
  EXPECT_EQ(rules.AdministratorsOf("production"), "frank");
  EXPECT_EQ(rules.AdministratorsOf("other"), "nobody");
}

TEST(AccessRules, APoolSaysWhoSubmitsAndWhoAdministers) {
  const AccessRules rules = Rules(kExample);
  struct Case {
    const char* pool;
    const char* submit;
    const char* administer;
  };
  // Administrators (ann, carl, dora) may do both everywhere; who administers a pool may submit to it.
  for (const Case& c : {Case{"production", "ann carl dora eve frank ", "ann carl dora frank "},
                        Case{"night", "ann bob carl dora eve frank ", "ann carl dora eve "},
                        Case{"closed", "ann carl dora ", "ann carl dora "},
                        Case{"other", "ann bob carl dora eve frank ", "ann carl dora "}}) {
    std::string submit, administer;
    for (const char* user : {"ann", "bob", "carl", "dora", "eve", "frank"}) {
      if (rules.MaySubmit(user, c.pool)) submit += std::string(user) + " ";
      if (rules.MayAdminister(user, c.pool)) administer += std::string(user) + " ";
    }
    EXPECT_EQ(submit, c.submit) << c.pool;
    EXPECT_EQ(administer, c.administer) << c.pool;
  }
}

TEST(AccessRules, TheStarSpeaksForWhatPoolsDoNotSay) {
  const AccessRules rules = Rules(
      "[pools.\"*\"]\nsubmit = [\"bob\"]\nadminister = [\"carl\"]\n[pools.open]\nsubmit = "
      "[\"*\"]\n[pools.own]\nadminister "
      "= []\n");
  EXPECT_FALSE(rules.MaySubmit("ann", "any"));
  EXPECT_TRUE(rules.MaySubmit("bob", "any"));
  EXPECT_TRUE(rules.MaySubmit("ann", "open"));
  EXPECT_TRUE(rules.MayAdminister("carl", "open")) << "its section does not say";
  EXPECT_FALSE(rules.MayAdminister("carl", "own"));
  EXPECT_FALSE(rules.MaySubmit("ann", "own"));
  EXPECT_EQ(rules.SubmittersOf("open"), "everybody");
  EXPECT_EQ(rules.Pools(), (std::vector<std::string>{"open", "own"}));
}

TEST(AccessRules, ListsMayBeEmptyOrNameEverybody) {
  EXPECT_FALSE(Rules("administrators = []\n").IsAdministrator("admin"));
  EXPECT_EQ(Rules("administrators = []\n").Administrators(), "nobody");
  EXPECT_TRUE(Rules("administrators = [\"*\"]\n").IsAdministrator("bob"));
}

TEST(AccessRules, EveryMistakeIsToldWithItsLine) {
  EXPECT_EQ(Mistake("\nadministrators = [\"@opps\"]\n[groups]\nops = [\"ann\"]\n"),
            "access.toml:2: administrators: \"@opps\" is not a group; [groups] has ops");
  EXPECT_EQ(Mistake("administrators = [\"@ops\"]\n"),
            "access.toml:1: administrators: \"@ops\" is not a group; [groups] has none");
  EXPECT_EQ(Mistake("administrators = \"ann\"\n"),
            "access.toml:1: administrators: is not a list of names; write [\"ann\", \"@group\"]");
  EXPECT_EQ(Mistake("administrators = [[\"ann\"]]\n"),
            "access.toml:1: administrators: is not a list of names; write [\"ann\", \"@group\"]");
  EXPECT_EQ(Mistake("administrator = [\"ann\"]\n"),
            "access.toml:1: administrator: no such setting; did you mean administrators?");
  EXPECT_EQ(Mistake("[pools.a]\nsubmitt = [\"ann\"]\n"),
            "access.toml:2: pools.a.submitt: no such setting; did you mean submit?");
  EXPECT_EQ(Mistake("[pools.a.b]\n"),
            "access.toml:1: pools.a.b: no such setting; docs/operate/security.md says what an access file may have");
  EXPECT_EQ(Mistake("[pools]\na = [\"ann\"]\n"), "access.toml:2: pools.a: is not a section; write [pools.a]");
  EXPECT_EQ(Mistake("pools = 1\n"), "access.toml:1: pools: is not a section; write [pools.NAME]");
  EXPECT_EQ(Mistake("groups = [\"a\"]\n"), "access.toml:1: groups: is not a section; write [groups]");
  EXPECT_EQ(Mistake("[groups]\nops = [\"@web\"]\n"),
            "access.toml:2: groups.ops: \"@web\" is not a user: a group has users alone");
  EXPECT_EQ(Mistake("[groups]\nops = [\"*\"]\n"),
            "access.toml:2: groups.ops: \"*\" is not a user: a group has users alone");
  EXPECT_EQ(Mistake("[groups.ops]\n"),
            "access.toml:1: groups.ops: is not a list of names; write [\"ann\", \"@group\"]");
  for (const char* wrong : {"client:ann", "an n", "", ".ann"}) {
    EXPECT_THAT(
        Mistake(std::string("[pools.p]\nsubmit = [\"") + wrong + "\"]\n"),
        testing::StartsWith(std::string("access.toml:2: pools.p.submit: \"") + wrong + "\" is not a name: names"));
  }
  EXPECT_THAT(Mistake("[groups]\n\"@ops\" = []\n"), testing::HasSubstr("\"@ops\" is not a name"));
  EXPECT_THAT(Mistake("administrators = [\n"), testing::StartsWith("access.toml:1: not TOML: "));
  EXPECT_THAT(Mistake("[pools.\"\"]\n"), testing::HasSubstr("the name of a pool has 1 to 255 bytes"));
}

}  // namespace
}  // namespace millrace::master
