// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cluster_notes.h"

#include <gmock/gmock.h>

namespace millrace::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

dfs::QuotaState Quota(const std::string& directory, std::uint64_t most, std::uint64_t used, std::uint64_t reserved) {
  dfs::QuotaState state{.directory = directory};
  state.quota.bytes = most;
  state.use.bytes = used;
  state.reserved.bytes = reserved;
  return state;
}

std::vector<std::string> Texts(const dfs::Use& trash, const std::vector<dfs::QuotaState>& quotas) {
  std::vector<std::string> texts;
  for (const ClusterNote& note : NotesOf(trash, quotas)) texts.push_back(note.code + ": " + note.text);
  return texts;
}

TEST(ClusterNotesTest, NothingIsSaidOfAnEmptyTrashAndRoomyQuotas) {
  EXPECT_THAT(Texts({}, {}), IsEmpty());
  EXPECT_THAT(Texts({}, {Quota("/a", 100 * kMiB, 80 * kMiB, 9 * kMiB), Quota("/b", dfs::kNoQuota, 80 * kMiB, 0)}),
              IsEmpty());
}

TEST(ClusterNotesTest, TheTrashIsToldOf) {
  dfs::Use trash;
  trash.bytes = 3 * kMiB;
  trash.entries = 2;
  EXPECT_THAT(Texts(trash, {}), ElementsAre("trash: 3 MiB with replicas wait in the trash for their removal; `millrace "
                                            "fs trash --all` lists them"));
}

TEST(ClusterNotesTest, ATrashOfEmptyDirectoriesIsNotToldOf) {
  dfs::Use trash;
  trash.entries = 1;  // "/.trash/ann", which stays
  EXPECT_THAT(Texts(trash, {}), IsEmpty());
}

TEST(ClusterNotesTest, TheFullestQuotasComeFirstAndFewOfThem) {
  dfs::QuotaState user;
  user.user = "ann";
  user.quota.entries = 10;
  user.use.entries = 11;
  EXPECT_THAT(Texts({}, {Quota("/a", 100 * kMiB, 80 * kMiB, 10 * kMiB), user, Quota("/none", 0, 0, 0)}),
              ElementsAre("quota: the quota of the user \"ann\" is full: 11 of 10 files and directories",
                          "quota: the quota of \"/none\" is full: 0 B of 0 B with replicas",
                          "quota: the quota of \"/a\" is nearly full: 90 MiB of 100 MiB with replicas"));
  const std::vector<dfs::QuotaState> many(7, Quota("/a", 10, 10, 0));
  EXPECT_THAT(Texts({}, many), testing::SizeIs(4));
  EXPECT_EQ(Texts({}, many).back(), "quota: 4 more quotas are nearly full or full; `millrace fs quota show` lists all");
}

}  // namespace
}  // namespace millrace::cli
