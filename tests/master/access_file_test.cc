#include "master/control/access_file.h"

#include <gmock/gmock.h>

#include <deque>

#include "tests/master/fake_watched_file.h"

namespace millrace::master {
namespace {

using Change = FakeWatchedFile::Change;

class AccessFileTest : public ::testing::Test {
 protected:
  AccessFile Make(std::string text) {
    return AccessFile(std::make_unique<FakeWatchedFile>("access.toml", std::move(text), &changes_), MakeSilentLog());
  }
  std::deque<Change> changes_;
};

TEST_F(AccessFileTest, WithoutAFileThereAreTheDefaults) {
  AccessFile file(nullptr, MakeSilentLog());
  ASSERT_TRUE(file.Load().ok());
  file.Poll();
  EXPECT_TRUE(file.rules().IsAdministrator("admin"));
}

TEST_F(AccessFileTest, AWrongFileAtTheStartIsAFailure) {
  EXPECT_EQ(Make("administrators = 1\n").Load().message(),
            "access.toml:1: administrators: is no list of names; write [\"ann\", \"@group\"]");
}

TEST_F(AccessFileTest, AChangeIsTakenByWhoeverHasTheRules) {
  AccessFile file = Make("administrators = [\"ann\"]\n");
  ASSERT_TRUE(file.Load().ok());
  const AccessRules& rules = file.rules();
  EXPECT_TRUE(rules.IsAdministrator("ann"));
  changes_.push_back(std::optional<std::string>("administrators = [\"bob\"]\n"));
  file.Poll();
  EXPECT_FALSE(rules.IsAdministrator("ann"));
  EXPECT_TRUE(rules.IsAdministrator("bob"));
}

TEST_F(AccessFileTest, AWrongFileChangesNothingAndIsToldUntilItIsRight) {
  AccessFile file = Make("administrators = [\"ann\"]\n");
  ASSERT_TRUE(file.Load().ok());
  changes_.push_back(std::optional<std::string>("administrators = [\"@none\"]\n"));
  file.Poll();
  EXPECT_TRUE(file.rules().IsAdministrator("ann"));
  EXPECT_EQ(file.problem(), "access.toml:1: administrators: \"@none\" is no group; [groups] has none");
  file.Poll();
  EXPECT_NE(file.problem(), "") << "as long as the file is wrong";
  changes_.push_back(Invalid("access.toml: cannot be read"));
  file.Poll();
  EXPECT_EQ(file.problem(), "access.toml: cannot be read");
  EXPECT_TRUE(file.rules().IsAdministrator("ann"));
  changes_.push_back(std::optional<std::string>("administrators = [\"ann\"]\n"));
  file.Poll();
  EXPECT_EQ(file.problem(), "");
}

}  // namespace
}  // namespace millrace::master
