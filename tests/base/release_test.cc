// SPDX-License-Identifier: Apache-2.0
// Programs of neighbouring protocol levels work together, others are told which of them to upgrade.
#include "base/release.h"

#include <gmock/gmock.h>

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(ReleaseTest, OneLevelApartWorksInBothDirections) {
  for (const std::uint32_t other : {6U, 7U, 8U}) {
    EXPECT_TRUE(CheckReleases("the worker", {"1.0.0", 7}, "the master", {"1.1.0", other}).ok()) << other;
    EXPECT_TRUE(CheckReleases("the worker", {"1.1.0", other}, "the master", {"1.0.0", 7}).ok()) << other;
  }
}

TEST(ReleaseTest, TwoLevelsApartIsRefusedAndTheOlderIsToBeUpgraded) {
  const Status old_worker = CheckReleases("the worker at ten", {"1.0.0", 7}, "the master", {"1.4.2", 9});
  EXPECT_EQ(old_worker.code(), StatusCode::kInvalid);
  EXPECT_THAT(old_worker.message(), HasSubstr("the worker at ten has version 1.0.0 (protocol 7)"));
  EXPECT_THAT(old_worker.message(), HasSubstr("the master has 1.4.2 (protocol 9)"));
  EXPECT_THAT(old_worker.message(), HasSubstr("upgrade the worker at ten"));
  const Status old_master = CheckReleases("this client", {"3.0.0", 9}, "the master", {"", 0});
  EXPECT_THAT(old_master.message(), HasSubstr("upgrade the master"));
  EXPECT_THAT(old_master.message(), HasSubstr("of before 0.1.0 (protocol 0)"));
}

TEST(ReleaseTest, AHostileVersionStaysOneShortLine) {
  const std::string line = ToText({std::string(5000, 'x') + "\n", 3});
  EXPECT_LT(line.size(), 100u);
  EXPECT_EQ(ToText({"a\nb", 3}).find('\n'), std::string::npos);
}

TEST(ReleaseTest, ThisProgramWorksWithItself) {
  EXPECT_TRUE(CheckReleases("a", ThisRelease(), "b", ThisRelease()).ok());
  EXPECT_FALSE(ThisRelease().version.empty());
}

}  // namespace
}  // namespace millrace
