// SPDX-License-Identifier: Apache-2.0
#include "master/control/access_file.h"

#include <gmock/gmock.h>

#include <deque>

#include "base/kv/key_value_store.h"
#include "tests/fakes/memory_store.h"
#include "tests/master/fake_watched_file.h"

namespace millrace::master {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Change = FakeWatchedFile::Change;

constexpr Micros kStart = 1769860800 * kSecond;  // 2026-01-31T12:00:00Z

class AccessFileTest : public ::testing::Test {
 protected:
  AccessFile Make(std::string text) {
    return AccessFile(std::make_unique<FakeWatchedFile>("access.toml", std::move(text), &changes_), MakeSilentLog());
  }
  std::deque<Change> changes_;
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
};

TEST_F(AccessFileTest, WithoutAFileThereAreTheDefaults) {
  AccessFile file(nullptr, MakeSilentLog());
  ASSERT_TRUE(file.Load(*store_, kStart, true).ok());
  file.Poll(kStart);
  EXPECT_TRUE(file.rules().IsAdministrator("admin"));
}

// Whatever rules were made up instead, they might let somebody do what the file would not.
TEST_F(AccessFileTest, AWrongFileAtTheFirstStartIsAFailureWhereRightsMeanSomething) {
  const Status refused = Make("administrators = 1\n").Load(*store_, kStart, true);
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(),
              StartsWith("access.toml:1: administrators: is not a list of names; write [\"ann\", \"@group\"]; none of "
                         "its earlier contents are known"));
  AccessFile without_tls = Make("administrators = 1\n");
  EXPECT_TRUE(without_tls.Load(*store_, kStart, false).ok()) << "everybody may do everything there";
  EXPECT_THAT(without_tls.Line(), HasSubstr("access.toml:1: administrators"));
}

TEST_F(AccessFileTest, AWrongFileAtALaterStartLeavesTheLastGoodRightsInForceAndNoMore) {
  AccessFile first =
      Make("administrators = [\"ann\"]\n[groups]\nops = [\"carl\"]\n[pools.\"*\"]\nsubmit = [\"@ops\"]\n");
  ASSERT_TRUE(first.Load(*store_, kStart, true).ok());
  WriteBatch batch;
  first.Keep(&batch);
  ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  AccessFile second = Make("administrators = [\"@opps\"]\n");
  ASSERT_TRUE(second.Load(*store_, kStart + kHour, true).ok());
  EXPECT_TRUE(second.rules() == first.rules());
  EXPECT_TRUE(second.rules().IsAdministrator("ann"));
  EXPECT_FALSE(second.rules().IsAdministrator("admin")) << "as without a file";
  EXPECT_FALSE(second.rules().MaySubmit("bob", "any"));
  EXPECT_THAT(
      second.Line(),
      AllOf(StartsWith("the access file has been refused since 2026-01-31T13:00:00Z: access.toml:1: administrators: "),
            HasSubstr("a copy is in force, of its contents on 2026-01-31T12:00:00Z")));
  changes_.push_back(std::optional<std::string>("administrators = [\"bob\"]\n"));
  second.Poll(kStart + 2 * kHour);
  EXPECT_EQ(second.Line(), "");
  EXPECT_TRUE(second.rules().IsAdministrator("bob"));
}

TEST_F(AccessFileTest, AChangeIsTakenByWhoeverHasTheRules) {
  AccessFile file = Make("administrators = [\"ann\"]\n");
  ASSERT_TRUE(file.Load(*store_, kStart, true).ok());
  const AccessRules& rules = file.rules();
  EXPECT_TRUE(rules.IsAdministrator("ann"));
  changes_.push_back(std::optional<std::string>("administrators = [\"bob\"]\n"));
  file.Poll(kStart);
  EXPECT_FALSE(rules.IsAdministrator("ann"));
  EXPECT_TRUE(rules.IsAdministrator("bob"));
}

TEST_F(AccessFileTest, AWrongFileChangesNothingAndIsToldUntilItIsRight) {
  AccessFile file = Make("administrators = [\"ann\"]\n");
  ASSERT_TRUE(file.Load(*store_, kStart, true).ok());
  changes_.push_back(std::optional<std::string>("administrators = [\"@none\"]\n"));
  file.Poll(kStart);
  EXPECT_TRUE(file.rules().IsAdministrator("ann"));
  EXPECT_EQ(file.problem(), "access.toml:1: administrators: \"@none\" is not a group; [groups] has none");
  file.Poll(kStart);
  EXPECT_NE(file.problem(), "") << "as long as the file is wrong";
  changes_.push_back(Invalid("access.toml: cannot be read"));
  file.Poll(kStart);
  EXPECT_EQ(file.problem(), "access.toml: cannot be read");
  EXPECT_TRUE(file.rules().IsAdministrator("ann"));
  changes_.push_back(std::optional<std::string>("administrators = [\"ann\"]\n"));
  file.Poll(kStart);
  EXPECT_EQ(file.problem(), "");
}

}  // namespace
}  // namespace millrace::master
