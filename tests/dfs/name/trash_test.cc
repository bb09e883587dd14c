// SPDX-License-Identifier: Apache-2.0
// Tests the rules of the trash (dfs/name/namespace.h), one at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dfs/name/namespace.h"
#include "dfs/wire/path.h"
#include "tests/dfs/name/block_numbers.h"
#include "tests/fakes/memory_store.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TrashTest : public testing::Test {
 protected:
  std::vector<Block> Write(std::string_view path, const std::string& owner = "ann") {
    const FileId file = *names_->Create(path, {.replication = 2, .owner = owner}, now_, &batch_);
    const std::vector<Block> blocks = {{*names_->AddBlock(file, &batch_), 100, 1}};
    EXPECT_TRUE(names_->Complete(file, blocks, now_, &batch_, &freed_).ok());
    return blocks;
  }
  std::string Trash(std::string_view path, const std::string& user = "ann") {
    const Result<std::string> place = names_->Trash(path, true, user, ++now_, &batch_);
    EXPECT_TRUE(place.ok()) << place.status().message();
    return place.ok() ? *place : std::string();
  }
  Status Undelete(std::string_view path, Micros deleted = 0) {
    MILLRACE_ASSIGN(const std::string place, names_->FindDeleted("ann", path, deleted));
    return names_->Undelete(place, path, "ann", ++now_, &batch_);
  }
  // Begins a new life, in which the Namespace is what the store says.
  void Reload() {
    ASSERT_TRUE(store_->Write(batch_, Durability::kSynced).ok());
    batch_ = {};
    names_ = std::make_unique<Namespace>(SeededNumbers(8));
    ASSERT_TRUE(names_->Load(*store_).ok());
  }
  std::vector<std::string> Places(const std::string& user = "ann") {
    std::vector<std::string> places;
    for (const Deletion& deletion : names_->Deletions(user, 0, 100)) places.push_back(deletion.place);
    return places;
  }

  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<Namespace> names_ = std::make_unique<Namespace>(SeededNumbers(7));
  Micros now_ = 1'795'844'762'000'000;  // 2026-11-28 05:46:02
  WriteBatch batch_;
  std::vector<BlockId> freed_;
};

TEST_F(TrashTest, WhatIsRemovedLiesWhereOnlyItsUserCanLook) {
  const std::vector<Block> blocks = Write("/data/in/log");
  const std::string place = Trash("/data/in/log");
  EXPECT_EQ(place, "/.trash/ann/20261128T054602.000001Z/data/in/log");
  EXPECT_FALSE(names_->Stat("/data/in/log").ok());
  EXPECT_TRUE(names_->Stat("/data/in").ok());
  EXPECT_EQ(*names_->Blocks(place), blocks);
  EXPECT_THAT(freed_, IsEmpty());
  const FileStatus trash = *names_->Stat("/.trash"), own = *names_->Stat("/.trash/ann");
  EXPECT_EQ(trash.owner, "");
  EXPECT_EQ(trash.mode, 0755);
  EXPECT_EQ(own.owner, "ann");
  EXPECT_EQ(own.mode, 0700);
  const Principal bob{.user = "bob", .groups = {}, .superuser = false},
      ann{.user = "ann", .groups = {}, .superuser = false};
  EXPECT_EQ(names_->Check(Wish::kRead, place, bob).code(), StatusCode::kDenied);
  EXPECT_TRUE(names_->Check(Wish::kRead, place, ann).ok());
  EXPECT_EQ(names_->Check(Wish::kCreate, "/.trash/x", ann).code(), StatusCode::kDenied);
  EXPECT_EQ(names_->Check(Wish::kRemove, "/.trash/ann", bob).code(), StatusCode::kDenied);
}

// A trash that a user has made first is taken into use with the rights that it should have.
TEST_F(TrashTest, RightsOfTheTrashAreSetWhoeverMadeIt) {
  ASSERT_TRUE(names_->MakeDirectory("/.trash/ann", "bob", now_, &batch_, 0777).ok());
  Write("/f");
  Trash("/f");
  Reload();
  EXPECT_EQ(names_->Stat("/.trash")->owner + ":" + names_->Stat("/.trash/ann")->owner, ":ann");
  EXPECT_EQ(names_->Stat("/.trash/ann")->mode, 0700);
}

TEST_F(TrashTest, TheNewestDeletionComesBackAndAnOlderOneByItsTime) {
  const std::vector<Block> first = Write("/f");
  Trash("/f");
  const Micros earlier = now_;
  const std::vector<Block> second = Write("/f");
  Trash("/f");
  Reload();
  ASSERT_TRUE(Undelete("/f").ok());
  EXPECT_EQ(*names_->Blocks("/f"), second);
  EXPECT_EQ(Undelete("/f").code(), StatusCode::kExists);
  EXPECT_EQ(*names_->Blocks("/f"), second);
  ASSERT_TRUE(names_->Rename("/f", "/g", now_, &batch_).ok());
  ASSERT_TRUE(Undelete("/f", earlier).ok());
  EXPECT_EQ(*names_->Blocks("/f"), first);
  EXPECT_THAT(Places(), IsEmpty());
  EXPECT_FALSE(names_->Stat("/.trash/ann/20261128T054602.000001Z").ok()) << "an empty deletion ends";
  EXPECT_EQ(Undelete("/f").code(), StatusCode::kNotFound);
  EXPECT_EQ(Undelete("/h").code(), StatusCode::kNotFound);
}

TEST_F(TrashTest, ParentsAreMadeAgainAndADirectoryComesBackWhole) {
  Write("/a/b/c/f", "bob");
  Trash("/a/b");
  ASSERT_TRUE(names_->Remove("/a", true, &batch_, &freed_).ok());
  Reload();
  EXPECT_EQ(names_->FindDeleted("ann", "/a").status().code(), StatusCode::kNotFound)
      << "it was not removed into the trash";
  ASSERT_TRUE(Undelete("/a/b").ok());
  EXPECT_EQ(names_->Stat("/a/b/c/f")->owner, "bob");
  EXPECT_EQ(names_->Stat("/a")->owner, "ann");
}

TEST_F(TrashTest, APartOfWhatWasRemovedComesBackAlone) {
  Write("/a/f");
  Write("/a/g");
  Trash("/a");
  ASSERT_TRUE(Undelete("/a/f").ok());
  EXPECT_TRUE(names_->Stat("/a/f").ok());
  EXPECT_FALSE(names_->Stat("/a/g").ok());
  EXPECT_THAT(Places(), ElementsAre("/.trash/ann/20261128T054602.000001Z/a"));
  ASSERT_TRUE(Undelete("/a/g").ok());
  EXPECT_THAT(Places(), ElementsAre(HasSubstr("Z/a"))) << "the directory itself was removed, too";
}

TEST_F(TrashTest, TwoDeletionsAtOneTimeHaveTwoPlaces) {
  Write("/f");
  Write("/g");
  const std::string f = *names_->Trash("/f", false, "ann", now_, &batch_);
  const std::string g = *names_->Trash("/g", false, "ann", now_, &batch_);
  EXPECT_EQ(f, "/.trash/ann/20261128T054602.000000Z/f");
  EXPECT_EQ(g, "/.trash/ann/20261128T054602.000001Z/g");
  EXPECT_THAT(Places(), ElementsAre(f, g));
  EXPECT_EQ(names_->Deletions("ann", now_, 100).size(), 1U) << "after a time, exclusive";
  EXPECT_EQ(names_->Deletions("ann", 0, 1).size(), 1U);
  EXPECT_EQ(names_->Deletions("ann", std::numeric_limits<Micros>::min(), 100).size(), 2U);
  EXPECT_EQ(names_->Deletions("ann", std::numeric_limits<Micros>::max(), 100).size(), 0U);
}

TEST_F(TrashTest, OnlyDeletionsOfThatAgeExpire) {
  Write("/f");
  const std::string old = Trash("/f");
  const Micros then = now_;
  now_ += kHour;
  Write("/f");
  Trash("/f", "bob");
  EXPECT_THAT(names_->ExpiredTrash(then - 1, 100), IsEmpty());
  EXPECT_THAT(names_->ExpiredTrash(then, 100), ElementsAre(ParentPath(old)));
  EXPECT_EQ(names_->ExpiredTrash(now_, 100).size(), 2U);
  EXPECT_EQ(names_->ExpiredTrash(now_, 1).size(), 1U);
  // What an administrator has moved in by hand is no deletion, and stays.
  ASSERT_TRUE(names_->MakeDirectory("/.trash/ann/kept", "ann", now_, &batch_).ok());
  EXPECT_EQ(names_->ExpiredTrash(now_, 100).size(), 2U);
}

TEST_F(TrashTest, AWriterBelowARemovedDirectoryFaresAsWithRemove) {
  Write("/d/f");
  const FileId file = *names_->Create("/d/g", {.owner = "ann"}, now_, &batch_);
  Trash("/d");
  Reload();
  EXPECT_EQ(names_->Complete(file, {}, now_, &batch_, &freed_).code(), StatusCode::kNotFound);
  EXPECT_FALSE(names_->Stat("/d").ok());
}

TEST_F(TrashTest, WhatCannotGoThereIsRefusedAndChangesNothing) {
  Write("/d/f");
  Write("/g");
  const std::string there = Trash("/g");
  Reload();
  const auto refuses = [&](StatusCode code, std::string_view path, bool recursive, std::string_view user,
                           const std::string& mention) {
    const Status status = names_->Trash(path, recursive, user, now_, &batch_).status();
    EXPECT_EQ(status.code(), code) << path.substr(0, 20);
    EXPECT_THAT(status.message(), HasSubstr(mention));
    EXPECT_TRUE(batch_.empty()) << path.substr(0, 20);
  };
  refuses(StatusCode::kInvalid, "/", true, "ann", "cannot be removed");
  refuses(StatusCode::kNotFound, "/x", true, "ann", "no such file");
  refuses(StatusCode::kInvalid, "/d", false, "ann", "not empty");
  refuses(StatusCode::kInvalid, "/.trash", true, "ann", "in the trash already");
  refuses(StatusCode::kInvalid, there, true, "ann", "in the trash already");
  refuses(StatusCode::kInvalid, "/d", true, "a/b", "--skip-trash");
  refuses(StatusCode::kInvalid, "/d", true, "..", "--skip-trash");
  refuses(StatusCode::kInvalid, "/d", true, "", "--skip-trash");
  const std::string deep = "/" + std::string(250, 'x');
  std::string path;
  while (path.size() + deep.size() + 20 < kMaxPathBytes) path += deep;
  path += "/" + std::string(kMaxPathBytes - path.size() - 10, 'y');
  Write(path);
  batch_ = {};
  refuses(StatusCode::kInvalid, path, true, "ann", "--skip-trash");
}

TEST_F(TrashTest, NothingElsePutsAnythingThere) {
  Write("/f");
  const std::string there = Trash("/f");
  Write("/f");
  EXPECT_EQ(names_->CheckRoomForFile("/.trash/ann/x", {}).code(), StatusCode::kInvalid);
  EXPECT_EQ(names_->CheckRoomForDirectory("/.trash/ann/x", "ann").code(), StatusCode::kInvalid);
  EXPECT_EQ(names_->CheckRoomForRename("/f", "/.trash/ann", "ann").code(), StatusCode::kInvalid);
  EXPECT_TRUE(names_->CheckRoomForRename(there, "/g", "ann").ok());
}

TEST_F(TrashTest, AFileInItsPlaceIsNamed) {
  Write("/.trash");
  Write("/f");
  const Status status = names_->Trash("/f", false, "ann", now_, &batch_).status();
  EXPECT_THAT(status.message(), HasSubstr("\"/.trash\" is a file"));
  EXPECT_THAT(names_->ExpiredTrash(now_, 10), IsEmpty());
  EXPECT_EQ(names_->TrashUse(), Use());
}

}  // namespace
}  // namespace millrace::dfs
