// SPDX-License-Identifier: Apache-2.0
// Tests the directories of blocks: which ones a worker accepts, and what it does when the disk of one fails.
#include "worker/daemon/storage/block_disks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/fakes/memory_block_store.h"
#include "tests/worker/daemon/agent/agent_fixture.h"
#include "worker/daemon/storage/block_directories.h"

namespace millrace::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SplitDirectoriesTest, CutsAtCommas) {
  EXPECT_THAT(*SplitDirectories(""), IsEmpty());
  EXPECT_THAT(*SplitDirectories("/a, /b/c/,/d"), ElementsAre("/a", "/b/c", "/d"));
  for (const char* wrong : {"/a,,/b", "a", "/a, b", " "}) {
    EXPECT_EQ(SplitDirectories(wrong).status().code(), StatusCode::kInvalid) << wrong;
  }
}

class BlockDirectoriesTest : public testing::Test {
 protected:
  BlockDirectoriesTest() {
    for (const char* name : {"worker", "a", "b"}) std::filesystem::create_directory(Path(name));
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  Result<std::vector<std::string>> Take(const std::vector<std::string>& names, const std::string& storage = kStorage) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + Path(name);
    return AdoptBlockDirectories(Path("worker"), storage, list, random_);
  }
  void ExpectRefused(const std::vector<std::string>& names, const std::string& why, const std::string& advice) {
    const auto taken = Take(names);
    ASSERT_FALSE(taken.ok());
    EXPECT_THAT(taken.status().message(), HasSubstr(why));
    EXPECT_THAT(taken.status().message(), HasSubstr(advice));
  }
  static constexpr const char* kStorage = "00000000-0000-4000-8000-000000000001";
  static constexpr const char* kOther = "00000000-0000-4000-8000-000000000002";
  TempDir directory_ = std::move(*TempDir::Make("disks"));
  Random random_{1};
};

TEST_F(BlockDirectoriesTest, WithoutAListTheOwnDirectoryHoldsTheBlocks) {
  EXPECT_THAT(*Take({}), ElementsAre(Path("worker")));
  EXPECT_THAT(*ListDirectory(Path("worker")), IsEmpty());
}

TEST_F(BlockDirectoriesTest, NewEmptyOnesAreTakenInAndKnownAgain) {
  std::filesystem::create_directory(Path("a/lost+found"));
  EXPECT_THAT(*Take({"a"}), ElementsAre(Path("a")));
  EXPECT_THAT(*Take({"b", "worker", "a"}), ElementsAre(Path("b"), Path("worker"), Path("a")));
  const std::string mark = *ReadWholeFile(Path("a/block_directory"));
  EXPECT_THAT(mark, HasSubstr(kStorage));
  EXPECT_TRUE(Take({"a", "b"}).ok());
  EXPECT_EQ(*ReadWholeFile(Path("a/block_directory")), mark);
  EXPECT_NE(*ReadWholeFile(Path("b/block_directory")), mark);
  EXPECT_FALSE(std::filesystem::exists(Path("worker/block_directory")));
}

TEST_F(BlockDirectoriesTest, OneWithoutItsMarkIsRefused) {
  ASSERT_TRUE(Take({"a", "b"}).ok());
  std::filesystem::remove(Path("a/block_directory"));  // the mount point
  ExpectRefused({"a", "b"}, Path("a") + " of worker.block_directories lacks its mark", "mount its disk");
  EXPECT_FALSE(std::filesystem::exists(Path("a/block_directory")));
  EXPECT_TRUE(Take({"b"}).ok());
  ExpectRefused({"a", "b"}, "lacks its mark", "delete the line of this path in " + Path("worker/block_directories"));
  std::filesystem::remove(Path("worker/block_directories"));  // the other is known by its mark
  EXPECT_TRUE(Take({"a", "b"}).ok());
}

TEST_F(BlockDirectoriesTest, OneThatWasMovedIsKnownByItsMark) {
  ASSERT_TRUE(Take({"a", "b"}).ok());
  std::filesystem::rename(Path("a"), Path("c"));
  EXPECT_TRUE(Take({"c", "b"}).ok());
  std::filesystem::create_directory(Path("a"));
  EXPECT_TRUE(Take({"a", "b", "c"}).ok());
}

TEST_F(BlockDirectoriesTest, OneOfAnotherWorkerIsRefused) {
  ASSERT_TRUE(Take({"a"}, kOther).ok());
  ExpectRefused({"a"}, std::string("belongs to the worker with storage id ") + kOther, "give an empty directory");
}

TEST_F(BlockDirectoriesTest, WhatIsAbsentNotEmptyTwiceOrBrokenIsRefused) {
  ExpectRefused({"absent"}, "is not an existing directory", "mount its disk");
  EXPECT_FALSE(std::filesystem::exists(Path("absent")));
  std::ofstream(Path("b/photo")) << "x";
  ExpectRefused({"a", "b"}, "not empty: it holds \"photo\"", "give an empty directory");
  std::filesystem::create_directory_symlink(Path("a"), Path("link"));
  ExpectRefused({"a", "link"}, "occurs twice in", "take one");
  std::filesystem::create_directory(Path("copy"));
  std::filesystem::copy(Path("a"), Path("copy"));
  ExpectRefused({"a", "copy"}, "is a copy", "take one");
  std::ofstream(Path("copy/block_directory")) << "rubbish";
  ExpectRefused({"copy"}, "is not a mark", "restore it");
}

TEST_F(BlockDirectoriesTest, BlocksInTheOwnDirectoryAreNotForgotten) {
  std::filesystem::create_directories(Path("worker/blocks/05"));
  EXPECT_TRUE(Take({"a"}).ok()) << "there is none";
  std::ofstream(Path("worker/blocks/05/0000000000000005")) << "x";
  ExpectRefused({"a"}, "blocks lie in " + Path("worker"), "add it to the list");
  EXPECT_TRUE(Take({"a", "worker"}).ok());
}

class BlockDisksTest : public testing::Test {
 protected:
  void Open(std::int64_t may_fail, const std::string& own = "/own") {
    std::vector<dfs::SpreadBlockStore::Disk> disks;
    const std::vector<std::string> names = {"/a", "/b", "/c"};
    for (const std::string& name : names) disks.push_back({name, dfs::MakeMemoryBlockStore(1000)});
    store_ = std::move(*dfs::SpreadBlockStore::Over(std::move(disks), 0, {[](std::size_t, const Status&) {}}));
    for (std::uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE((*store_->Create(id))->Finish().ok());  // they take turns
    const BlockDisks::Events events{[this](const std::vector<std::uint64_t>& ids) {
                                      for (const std::uint64_t id : ids) told_.push_back("lost " + std::to_string(id));
                                    },
                                    [this](const Status& why) { told_.push_back(why.message()); }};
    disks_.emplace(*store_, names, own, may_fail, events, MakeSilentLog());
  }
  void Fail(std::size_t disk) { disks_->Failed(disk, Status(StatusCode::kIo, "no answer")); }

  std::vector<std::string> told_;
  std::unique_ptr<dfs::SpreadBlockStore> store_;
  std::optional<BlockDisks> disks_;
};

TEST_F(BlockDisksTest, AllButOneMayFail) {
  Open(-1);
  Fail(1);
  Fail(1);
  EXPECT_THAT(told_, ElementsAre(testing::StartsWith("lost ")));
  Fail(0);
  EXPECT_THAT(told_, testing::SizeIs(2));
  EXPECT_THAT(store_->List(), testing::SizeIs(1));
  Fail(2);
  Fail(2);
  EXPECT_THAT(told_, testing::SizeIs(3));
  EXPECT_EQ(told_.back(), "the storage in /c is gone: no answer");
}

TEST_F(BlockDisksTest, AsManyMayFailAsTheOptionSays) {
  Open(1);
  Fail(2);
  Fail(0);
  Fail(1);
  EXPECT_THAT(told_, ElementsAre(testing::StartsWith("lost "), "the storage in /a is gone: no answer"));
  Open(0);
  told_.clear();
  Fail(1);
  EXPECT_THAT(told_, ElementsAre("the storage in /b is gone: no answer"));
  Open(7);
  told_.clear();
  for (const std::size_t disk : {0, 1, 2}) Fail(disk);
  EXPECT_THAT(told_, testing::Contains("the storage in /c is gone: no answer"));
}

TEST_F(BlockDisksTest, WithoutItsOwnDirectoryAWorkerDoesNotGoOn) {
  Open(-1, "/b");
  Fail(1);
  EXPECT_THAT(told_, ElementsAre("the storage in /b is gone: no answer"));
}

TEST_F(AgentTest, TheMasterHearsOfTheBlocksOfAFailedDisk) {
  StartAgent();
  record_.log.clear();
  agent_->LostBlocks({3, 5});
  RunReady();
  EXPECT_THAT(record_.log, ElementsAre("deleted 3 5"));
}

}  // namespace
}  // namespace millrace::worker
