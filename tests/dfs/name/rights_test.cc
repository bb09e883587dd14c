// SPDX-License-Identifier: Apache-2.0
// Tests what each call takes (Namespace::Check and its like), both ways, and what a refusal says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dfs/name/namespace.h"
#include "tests/dfs/name/block_numbers.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;

class RightsTest : public testing::Test {
 protected:
  void MakeDirectory(const std::string& path, const std::string& owner, const std::string& group, Mode mode) {
    ASSERT_TRUE(names_.MakeDirectory(path, owner, 1, &batch_, mode).ok());
    ASSERT_TRUE(names_.SetOwner(path, owner, group, &batch_).ok());
  }
  void MakeFile(const std::string& path, const std::string& owner, const std::string& group, Mode mode) {
    const Result<FileId> file = names_.Create(path, {.mode = mode, .owner = owner}, 1, &batch_);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(names_.Complete(*file, {}, 1, &batch_, &freed_).ok());
    ASSERT_TRUE(names_.SetOwner(path, owner, group, &batch_).ok());
  }
  void SetMode(const std::string& path, Mode mode) { ASSERT_TRUE(names_.SetMode(path, mode, &batch_).ok()); }

  [[nodiscard]] bool May(Wish wish, const std::string& path, const Principal& who) const {
    return Allowed(names_.Check(wish, path, who));
  }
  [[nodiscard]] bool MayRename(const std::string& from, const std::string& to, const Principal& who) const {
    return Allowed(names_.CheckRename(from, to, who));
  }
  static bool Allowed(const Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kDenied) << status.message();
    return status.ok();
  }

  const Principal ann_{.user = "ann", .groups = {"team"}, .superuser = false};
  const Principal bob_{.user = "bob", .groups = {"team", "other"}, .superuser = false};
  const Principal eve_{.user = "eve", .groups = {}, .superuser = false};
  Namespace names_{SeededNumbers(7)};
  WriteBatch batch_;
  std::vector<BlockId> freed_;
};

TEST_F(RightsTest, TheOwnersBitsSpeakForTheOwnerTheGroupsForTheGroupTheRestForTheRest) {
  const std::string ann = "ann", team = "team", none;
  EXPECT_TRUE(Grants(ann, team, 0400, ann_, kMayRead));
  EXPECT_FALSE(Grants(ann, team, 0077, ann_, kMayRead)) << "the owner is not one of the group or the others";
  EXPECT_TRUE(Grants(ann, team, 0040, bob_, kMayRead));
  EXPECT_FALSE(Grants(ann, team, 0707, bob_, kMayRead)) << "who is of the group is not one of the others";
  EXPECT_TRUE(Grants(ann, team, 0004, eve_, kMayRead));
  EXPECT_FALSE(Grants(ann, team, 0770, eve_, kMayRead));
  EXPECT_FALSE(Grants(ann, team, 0600, ann_, kMayRead | kMayTraverse)) << "all that is asked";
  EXPECT_FALSE(Grants(none, none, 0770, {.user = "", .groups = {""}, .superuser = false}, kMayRead))
      << "no name is nobody's";
  EXPECT_TRUE(Grants(ann, team, 0, Everybody(), kMayRead | kMayWrite | kMayTraverse));
}

TEST_F(RightsTest, LookingTakesAWayThere) {
  MakeDirectory("/d", "ann", "", 0711);
  MakeFile("/d/f", "ann", "", 0600);
  EXPECT_TRUE(May(Wish::kLook, "/d/f", eve_));
  EXPECT_TRUE(May(Wish::kList, "/d/f", eve_)) << "of a file, itself";
  EXPECT_FALSE(May(Wish::kList, "/d", eve_));
  EXPECT_FALSE(May(Wish::kRead, "/d/f", eve_));
  SetMode("/d", 0744);
  EXPECT_FALSE(May(Wish::kLook, "/d/f", eve_));
  EXPECT_FALSE(May(Wish::kList, "/d", eve_)) << "a list shows more than names";
  EXPECT_TRUE(May(Wish::kLook, "/d", eve_));
  SetMode("/d", 0755);
  EXPECT_TRUE(May(Wish::kList, "/d", eve_));
  SetMode("/d/f", 0604);
  EXPECT_TRUE(May(Wish::kRead, "/d/f", eve_));
}

TEST_F(RightsTest, BehindAClosedDirectoryNothingIsToldNotEvenWhatExists) {
  MakeDirectory("/d/e", "ann", "", 0755);
  MakeFile("/d/f", "ann", "", 0644);
  SetMode("/d", 0700);
  for (const char* path : {"/d/f", "/d/e/x", "/d/none", "/d/none/x", "/d/f/x"}) {
    for (const Wish wish : {Wish::kLook, Wish::kList, Wish::kRead, Wish::kChange, Wish::kMakeDirectory, Wish::kCreate,
                            Wish::kReplace, Wish::kRemove, Wish::kMeasure, Wish::kSetMode}) {
      const Status denied = names_.Check(wish, path, eve_);
      EXPECT_EQ(denied.code(), StatusCode::kDenied) << path;
      EXPECT_EQ(denied.message(), "eve may not traverse \"/d\" (ann, -, rwx------)");
    }
    EXPECT_FALSE(MayRename(path, "/y", eve_));
    EXPECT_FALSE(MayRename("/x", path, eve_));
    EXPECT_EQ(names_.CheckSetOwner(path, std::nullopt, "team", eve_).code(), StatusCode::kDenied);
  }
  EXPECT_TRUE(May(Wish::kLook, "/none/x", eve_)) << "what is not there is for the call to say";
}

TEST_F(RightsTest, MakingTakesWriteInTheDeepestDirectoryThatThereIs) {
  MakeDirectory("/d", "ann", "team", 0775);
  for (const Wish wish : {Wish::kMakeDirectory, Wish::kCreate, Wish::kReplace}) {
    for (const char* path : {"/d/x", "/d/x/y/z"}) {
      EXPECT_TRUE(May(wish, path, ann_));
      EXPECT_TRUE(May(wish, path, bob_));
      EXPECT_FALSE(May(wish, path, eve_));
    }
    EXPECT_TRUE(May(wish, "/x/y", eve_)) << "everybody may write in the root";
  }
  EXPECT_EQ(names_.Check(Wish::kCreate, "/d/x/y", eve_).message(),
            "eve may not write in \"/d\" (ann, team, rwxrwxr-x)");
  EXPECT_TRUE(May(Wish::kMakeDirectory, "/d", eve_)) << "it is there";
}

TEST_F(RightsTest, ReplacingTakesTheFileToo) {
  MakeDirectory("/d", "ann", "team", 0770);
  MakeFile("/d/f", "ann", "team", 0660);
  EXPECT_TRUE(May(Wish::kReplace, "/d/f", bob_));
  SetMode("/d/f", 0640);
  EXPECT_FALSE(May(Wish::kReplace, "/d/f", bob_));
  EXPECT_TRUE(May(Wish::kCreate, "/d/f", bob_)) << "it is refused since it exists";
  SetMode("/d/f", 0660);
  SetMode("/d", 01770);
  EXPECT_FALSE(May(Wish::kReplace, "/d/f", bob_)) << "a new file takes the place of another's";
  EXPECT_TRUE(May(Wish::kReplace, "/d/f", ann_));
  SetMode("/d", 0750);
  EXPECT_FALSE(May(Wish::kReplace, "/d/f", bob_));
}

TEST_F(RightsTest, TheReplicationIsChangedByWhoMayWriteTheFile) {
  MakeDirectory("/d", "ann", "team", 0755);
  MakeFile("/d/f", "ann", "team", 0664);
  EXPECT_TRUE(May(Wish::kChange, "/d/f", bob_));
  EXPECT_FALSE(May(Wish::kChange, "/d/f", eve_));
}

TEST_F(RightsTest, RemovingTakesWriteInTheDirectoryAndAllRightsBelow) {
  MakeDirectory("/d", "ann", "team", 0770);
  MakeFile("/d/f", "ann", "", 0400);
  EXPECT_TRUE(May(Wish::kRemove, "/d/f", bob_)) << "the file's mode does not matter";
  EXPECT_FALSE(May(Wish::kRemove, "/d/f", eve_));
  MakeDirectory("/d/e", "ann", "", 0755);
  EXPECT_TRUE(May(Wish::kRemove, "/d/e", bob_)) << "it is empty";
  MakeFile("/d/e/f", "ann", "", 0666);
  EXPECT_FALSE(May(Wish::kRemove, "/d/e", bob_));
  EXPECT_EQ(names_.Check(Wish::kRemove, "/d/e", bob_).message(), "bob may not empty \"/d/e\" (ann, -, rwxr-xr-x)");
  SetMode("/d/e", 0757);
  EXPECT_TRUE(May(Wish::kRemove, "/d/e", bob_));
  MakeDirectory("/d/e/g/h", "ann", "", 0700);
  SetMode("/d/e/g", 0777);
  EXPECT_TRUE(May(Wish::kRemove, "/d/e", bob_)) << "h is empty";
  MakeFile("/d/e/g/h/f", "ann", "", 0644);
  EXPECT_FALSE(May(Wish::kRemove, "/d/e", bob_));
  EXPECT_TRUE(May(Wish::kRemove, "/d/e", ann_));
  EXPECT_TRUE(May(Wish::kRemove, "/d/e", Everybody()));
  EXPECT_TRUE(May(Wish::kRemove, "/", eve_)) << "the call itself refuses";
}

TEST_F(RightsTest, InAStickyDirectoryOnlyTheOwnersRemoveAndRename) {
  MakeDirectory("/tmp", "ann", "", 01777);
  MakeFile("/tmp/f", "bob", "", 0666);
  MakeDirectory("/tmp/d", "bob", "", 0777);
  for (const char* path : {"/tmp/f", "/tmp/d"}) {
    EXPECT_TRUE(May(Wish::kRemove, path, bob_)) << "whose it is";
    EXPECT_TRUE(May(Wish::kRemove, path, ann_)) << "whose the directory is";
    EXPECT_FALSE(May(Wish::kRemove, path, eve_));
    EXPECT_TRUE(MayRename(path, "/x", bob_));
    EXPECT_TRUE(MayRename(path, "/x", ann_));
    EXPECT_FALSE(MayRename(path, "/x", eve_));
  }
  EXPECT_TRUE(May(Wish::kCreate, "/tmp/new", eve_));
  EXPECT_TRUE(MayRename("/x", "/tmp/new", eve_));
  EXPECT_THAT(names_.Check(Wish::kRemove, "/tmp/f", eve_).message(),
              testing::AllOf(HasSubstr("eve may not remove"), HasSubstr("\"/tmp/f\" (bob, -, rw-rw-rw-)")));
  SetMode("/tmp", 0777);
  EXPECT_TRUE(May(Wish::kRemove, "/tmp/f", eve_));
  // A sticky directory keeps what is in it when somebody removes a tree around it.
  MakeDirectory("/t/s", "eve", "", 01777);
  SetMode("/t", 0777);
  MakeFile("/t/s/f", "bob", "", 0666);
  EXPECT_TRUE(May(Wish::kRemove, "/t/s", eve_));
  EXPECT_FALSE(May(Wish::kRemove, "/t/s", ann_));
}

TEST_F(RightsTest, RenamingTakesWriteInBothDirectories) {
  MakeDirectory("/a", "ann", "team", 0775);
  MakeDirectory("/b", "ann", "team", 0755);
  MakeFile("/a/f", "ann", "", 0600);
  EXPECT_FALSE(MayRename("/a/f", "/b/f", bob_));
  EXPECT_FALSE(MayRename("/a/f", "/b", bob_)) << "into it";
  EXPECT_FALSE(MayRename("/a/f", "/b/x/y", bob_)) << "its parents are made";
  EXPECT_FALSE(MayRename("/b/f", "/a/x", eve_));
  SetMode("/b", 0775);
  for (const char* to : {"/b/f", "/b", "/b/x/y"}) {
    EXPECT_TRUE(MayRename("/a/f", to, bob_));
    EXPECT_FALSE(MayRename("/a/f", to, eve_));
  }
  SetMode("/a", 0755);
  EXPECT_FALSE(MayRename("/a/f", "/b/f", bob_));
}

TEST_F(RightsTest, ModesAreChangedByTheOwner) {
  MakeFile("/f", "ann", "team", 0777);
  EXPECT_TRUE(May(Wish::kSetMode, "/f", ann_));
  EXPECT_FALSE(May(Wish::kSetMode, "/f", bob_));
  EXPECT_FALSE(May(Wish::kSetMode, "/", ann_));
  EXPECT_TRUE(May(Wish::kSetMode, "/", Everybody()));
  EXPECT_FALSE(May(Wish::kSetMode, "/", {.user = "", .groups = {}, .superuser = false})) << "the root is nobody's";
}

TEST_F(RightsTest, OwnersAreGivenBySuperusersAndGroupsByTheOwnersWhoAreInThem) {
  MakeFile("/f", "ann", "", 0777);
  const auto may = [&](std::optional<std::string_view> owner, std::optional<std::string_view> group,
                       const Principal& who) { return Allowed(names_.CheckSetOwner("/f", owner, group, who)); };
  EXPECT_FALSE(may("bob", std::nullopt, ann_)) << "who gave files away would give away what they count";
  EXPECT_FALSE(may("bob", std::nullopt, bob_));
  EXPECT_TRUE(may("ann", std::nullopt, ann_)) << "nothing changes";
  EXPECT_TRUE(may(std::nullopt, "team", ann_));
  EXPECT_FALSE(may(std::nullopt, "other", ann_));
  EXPECT_FALSE(may(std::nullopt, "other", bob_));
  EXPECT_TRUE(may("bob", "other", Everybody()));
  EXPECT_EQ(names_.CheckSetOwner("/f", std::nullopt, "other", ann_).message(),
            "ann is not of the group \"other\", and may not give it \"/f\" (ann, -, rwxrwxrwx)");
}

TEST_F(RightsTest, MeasuringTakesToListEachDirectoryBelow) {
  MakeDirectory("/d/e", "ann", "", 0755);
  MakeFile("/d/e/f", "ann", "", 0);
  EXPECT_TRUE(May(Wish::kMeasure, "/d", eve_));
  EXPECT_TRUE(May(Wish::kMeasure, "/d/e/f", eve_));
  SetMode("/d/e", 0711);
  EXPECT_FALSE(May(Wish::kMeasure, "/d", eve_));
  EXPECT_TRUE(May(Wish::kMeasure, "/d/e/f", eve_));
  EXPECT_TRUE(May(Wish::kMeasure, "/d", ann_));
}

TEST_F(RightsTest, ARefusalIsOneLineWhateverTheNames) {
  MakeDirectory("/d\n", "a\nb", "", 0700);
  const std::string said = names_.Check(Wish::kList, "/d\n", eve_).message();
  EXPECT_EQ(said, "eve may not list \"/d\\n\" (a\\nb, -, rwx------)");
}

}  // namespace
}  // namespace millrace::dfs
