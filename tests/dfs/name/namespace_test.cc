// SPDX-License-Identifier: Apache-2.0
// Tests every rule of dfs/name/namespace.h, one at a time.
#include "dfs/name/namespace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dfs/wire/path.h"
#include "tests/dfs/name/block_numbers.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class NamespaceTest : public testing::Test {
 protected:
  // Writes a whole file with blocks of these lengths. Returns the ids of its blocks.
  std::vector<Block> Write(std::string_view path, const std::vector<std::uint64_t>& lengths, bool overwrite = false) {
    const Result<FileId> id = names_.Create(path, Options(overwrite), 5, &batch_);
    EXPECT_TRUE(id.ok()) << id.status().message();
    const std::vector<Block> blocks = AddBlocks(*id, lengths);
    const Status done = names_.Complete(*id, blocks, 7, &batch_, &freed_);
    EXPECT_TRUE(done.ok()) << done.message();
    return blocks;
  }
  std::vector<Block> AddBlocks(FileId file, const std::vector<std::uint64_t>& lengths) {
    std::vector<Block> blocks;
    for (const std::uint64_t length : lengths) blocks.push_back({*names_.AddBlock(file, &batch_), length});
    return blocks;
  }
  static CreateOptions Options(bool overwrite = false) {
    return {.replication = 2, .block_size = 4 * kMiB, .overwrite = overwrite, .owner = "ann", .writer = "host:1"};
  }
  std::vector<std::string> Names(std::string_view path, std::string_view after = {}, std::size_t limit = 100) {
    std::vector<std::string> names;
    const auto list = names_.List(path, after, limit);
    EXPECT_TRUE(list.ok());
    for (const FileStatus& s : *list) names.push_back(s.path);
    return names;
  }
  // A failed call must add nothing to the batch.
  void ExpectFails(StatusCode code, const std::function<Status()>& call) {
    batch_ = {};
    const Status status = call();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_TRUE(batch_.empty());
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }

  Namespace names_{SeededNumbers(7)};
  WriteBatch batch_;
  std::vector<BlockId> freed_;
};

TEST_F(NamespaceTest, BeginsWithARoot) {
  const auto root = names_.Stat("/");
  ASSERT_TRUE(root.ok());
  EXPECT_TRUE(root->directory);
  EXPECT_EQ(root->path, "/");
  EXPECT_THAT(Names("/"), IsEmpty());
  EXPECT_EQ(names_.Total().directories, 1u);
  EXPECT_EQ(names_.Total().files, 0u);
}

TEST_F(NamespaceTest, MakesDirectoriesWithParents) {
  ASSERT_TRUE(names_.MakeDirectory("/a/b/c", "ann", 9, &batch_).ok());
  const auto made = names_.Stat("/a/b");
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->directory);
  EXPECT_EQ(made->owner, "ann");
  EXPECT_EQ(made->modified, 9);
  EXPECT_EQ(made->id, 0u);
  batch_ = {};
  EXPECT_TRUE(names_.MakeDirectory("/a/b", "bob", 10, &batch_).ok());
  EXPECT_TRUE(names_.MakeDirectory("/", "bob", 10, &batch_).ok());
  EXPECT_TRUE(batch_.empty());
  EXPECT_EQ(names_.Stat("/a/b")->owner, "ann");
  Write("/f", {});
  ExpectFails(StatusCode::kExists, [&] { return names_.MakeDirectory("/f", "ann", 9, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.MakeDirectory("/f/x/y", "ann", 9, &batch_); });
}

TEST_F(NamespaceTest, WhatIsMadeIsItsMakersAndHasTheGroupOfItsDirectory) {
  ASSERT_TRUE(names_.MakeDirectory("/team", "ann", 9, &batch_, 01770).ok());
  ASSERT_TRUE(names_.SetOwner("/team", std::nullopt, "analysts", &batch_).ok());
  ASSERT_TRUE(names_.MakeDirectory("/team/a/b", "bob", 9, &batch_, 0700).ok());
  CreateOptions options = Options();
  options.mode = 0600;
  const FileId file = *names_.Create("/team/c/f", options, 9, &batch_);
  ASSERT_TRUE(names_.Complete(file, {}, 9, &batch_, &freed_).ok());
  const auto who = [&](std::string_view path) {
    const FileStatus status = *names_.Stat(path);
    return status.owner + " " + status.group + " " + OctalText(status.mode);
  };
  EXPECT_EQ(who("/"), "  1777");
  EXPECT_EQ(who("/team"), "ann analysts 1770");
  EXPECT_EQ(who("/team/a"), "bob analysts 755") << "made on the way";
  EXPECT_EQ(who("/team/a/b"), "bob analysts 700");
  EXPECT_EQ(who("/team/c"), "ann analysts 755");
  EXPECT_EQ(who("/team/c/f"), "ann analysts 600");
  // A rename changes nothing of what is renamed; its new parents are the renamer's.
  ASSERT_TRUE(names_.Rename("/team/a/b", "/other/place", 9, &batch_, "carl").ok());
  EXPECT_EQ(who("/other/place"), "bob analysts 700");
  EXPECT_EQ(who("/other"), "carl  755");
  // Replacing a file makes a new one.
  options.owner = "bob";
  options.overwrite = true;
  options.mode = kFileMode;
  const FileId again = *names_.Create("/team/c/f", options, 9, &batch_);
  ASSERT_TRUE(names_.Complete(again, {}, 9, &batch_, &freed_).ok());
  EXPECT_EQ(who("/team/c/f"), "bob analysts 644");
}

TEST_F(NamespaceTest, ModesAndOwnersAreSetAndOfThePossibleOnes) {
  Write("/d/f", {});
  ASSERT_TRUE(names_.SetMode("/d/f", 0, &batch_).ok());
  EXPECT_EQ(names_.Stat("/d/f")->mode, 0);
  ASSERT_TRUE(names_.SetMode("/d/f", kAllModeBits, &batch_).ok());
  EXPECT_EQ(names_.Stat("/d/f")->mode, 01777);
  ASSERT_TRUE(names_.SetOwner("/d", "bob", "team", &batch_).ok());
  ASSERT_TRUE(names_.SetOwner("/d", std::nullopt, "", &batch_).ok());
  EXPECT_EQ(names_.Stat("/d")->owner, "bob");
  EXPECT_EQ(names_.Stat("/d")->group, "");
  ExpectFails(StatusCode::kInvalid, [&] { return names_.SetMode("/d/f", 04755, &batch_); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.SetMode("/none", 0755, &batch_); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.SetOwner("/none", "ann", std::nullopt, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.MakeDirectory("/x", "ann", 9, &batch_, 010000); });
  CreateOptions options = Options();
  options.mode = 010000;
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Create("/x", options, 9, &batch_).status(); });
}

TEST_F(NamespaceTest, WhatWasSyncedIsKeptOnlyIfItsWriterMayStillWriteThere) {
  const Principal ann{.user = "ann", .groups = {}, .superuser = false};
  for (const Mode mode : {Mode{0777}, Mode{0755}}) {
    ASSERT_TRUE(names_.MakeDirectory("/shared", "bob", 9, &batch_, 0777).ok());
    const FileId file = *names_.Create("/shared/f", Options(), 9, &batch_);
    const std::vector<Block> blocks = AddBlocks(file, {7});
    ASSERT_TRUE(names_.Sync(file, 0, blocks, &batch_).ok());
    ASSERT_TRUE(names_.SetMode("/shared", mode, &batch_).ok());
    EXPECT_EQ(names_.CheckWriter(file, ann).code(), mode == 0777 ? StatusCode::kOk : StatusCode::kDenied);
    const Result<Namespace::Abandoned> abandoned = names_.Abandon(file, 9, &batch_, &freed_, ann);
    ASSERT_TRUE(abandoned.ok());
    EXPECT_EQ(abandoned->kept, mode == 0777);
    EXPECT_EQ(names_.Stat("/shared/f").ok(), mode == 0777);
    if (!abandoned->kept) {
      EXPECT_THAT(abandoned->not_kept, HasSubstr("ann may not write in"));
    }
    ASSERT_TRUE(names_.Remove("/shared", true, &batch_, &freed_).ok());
  }
}

TEST(BlockNumbersTest, AreThoseOfTheSourceButNeither0NorInUse) {
  std::vector<std::uint64_t> source = {0, 9, 9, 5, 0, 9, 5, ~std::uint64_t{0}, 7};
  Namespace names([&, next = std::size_t{0}]() mutable { return source.at(next++); });
  WriteBatch batch;
  std::vector<BlockId> freed;
  const FileId file = *names.Create("/f", {}, 1, &batch);
  const BlockId first = *names.AddBlock(file, &batch), second = *names.AddBlock(file, &batch);
  EXPECT_EQ(first, 9u);
  EXPECT_EQ(second, 5u);
  ASSERT_TRUE(names.DropBlock(file, second, &batch).ok());
  ASSERT_TRUE(names.Complete(file, {{first, 1, 2}}, 1, &batch, &freed).ok());
  const FileId other = *names.Create("/g", {}, 1, &batch);
  EXPECT_EQ(*names.AddBlock(other, &batch), 5u) << "9 is in a file, 5 was dropped";
  EXPECT_EQ(*names.AddBlock(other, &batch), ~std::uint64_t{0});
  EXPECT_EQ(names.OwnerOf(~std::uint64_t{0})->path, "/g");
}

TEST_F(NamespaceTest, AFileAppearsWholeAtComplete) {
  const FileId id = *names_.Create("/d/f", Options(), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {4 * kMiB, 3});
  EXPECT_EQ(names_.Stat("/d").status().code(), StatusCode::kNotFound);
  const auto open = names_.FindOpen(id);
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->path, "/d/f");
  EXPECT_EQ(open->options.writer, "host:1");
  EXPECT_THAT(open->blocks, UnorderedElementsAre(blocks[0].id, blocks[1].id));
  EXPECT_THAT(names_.OpenFiles(), ElementsAre(id));

  ASSERT_TRUE(names_.Complete(id, blocks, 7, &batch_, &freed_).ok());
  const auto status = names_.Stat("/d/f");
  ASSERT_TRUE(status.ok());
  EXPECT_FALSE(status->directory);
  EXPECT_EQ(status->length, 4 * kMiB + 3);
  EXPECT_EQ(status->replication, 2u);
  EXPECT_EQ(status->block_size, 4 * kMiB);
  EXPECT_EQ(status->modified, 7);
  EXPECT_EQ(status->owner, "ann");
  EXPECT_EQ(status->id, id);
  EXPECT_EQ(*names_.Blocks("/d/f"), blocks);
  EXPECT_EQ(names_.Stat("/d")->owner, "ann");
  EXPECT_THAT(freed_, IsEmpty());
  EXPECT_THAT(names_.OpenFiles(), IsEmpty());
  ExpectFails(StatusCode::kNotFound, [&] { return names_.Complete(id, blocks, 8, &batch_, &freed_); });
}

TEST_F(NamespaceTest, CompleteTakesTheOrderOfTheWriterAndFreesTheRest) {
  const FileId id = *names_.Create("/f", Options(), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {1, 2, 3});
  const std::vector<Block> named = {blocks[2], blocks[0]};
  ASSERT_TRUE(names_.Complete(id, named, 7, &batch_, &freed_).ok());
  EXPECT_EQ(*names_.Blocks("/f"), named);
  EXPECT_THAT(freed_, ElementsAre(blocks[1].id));
  EXPECT_FALSE(names_.OwnerOf(blocks[1].id).has_value());
}

TEST_F(NamespaceTest, CompleteRefusesForeignRepeatedAndOverlongBlocks) {
  const std::vector<Block> foreign = Write("/other", {1});
  const FileId id = *names_.Create("/f", Options(), 5, &batch_);
  const Block own = AddBlocks(id, {1})[0];
  const FileId second = *names_.Create("/g", Options(), 5, &batch_);
  const Block of_second = AddBlocks(second, {1})[0];
  for (const std::vector<Block>& blocks : std::vector<std::vector<Block>>{
           foreign, {own, own}, {of_second}, {{own.id, 4 * kMiB + 1}}, {{own.id + 1000, 1}}}) {
    ExpectFails(StatusCode::kInvalid, [&] { return names_.Complete(id, blocks, 7, &batch_, &freed_); });
  }
  EXPECT_TRUE(names_.Complete(id, {own}, 7, &batch_, &freed_).ok());
}

TEST_F(NamespaceTest, CompleteAsTakesAnotherPath) {
  const FileId id = *names_.Create("/tmp/attempt", Options(), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {1});
  Write("/taken", {});
  const FileId other = *names_.Create("/held", Options(), 5, &batch_);
  ExpectFails(StatusCode::kExists, [&] { return names_.CompleteAs(id, "/taken", blocks, 7, &batch_, &freed_); });
  ExpectFails(StatusCode::kBusy, [&] { return names_.CompleteAs(id, "/held", blocks, 7, &batch_, &freed_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.CompleteAs(id, "/taken/x", blocks, 7, &batch_, &freed_); });
  EXPECT_EQ(names_.CheckComplete(id, "/taken", blocks, 7).code(), StatusCode::kExists);
  EXPECT_TRUE(names_.CheckComplete(id, "/out/part-0", blocks, 7).ok());
  EXPECT_EQ(names_.Stat("/out").status().code(), StatusCode::kNotFound) << "asking changes nothing";
  ASSERT_TRUE(names_.CompleteAs(id, "/out/part-0", blocks, 7, &batch_, &freed_).ok());
  EXPECT_EQ(names_.Stat("/out/part-0")->id, id);
  EXPECT_EQ(names_.Stat("/tmp").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(names_.OpenFiles(), ElementsAre(other));
  EXPECT_TRUE(names_.Create("/tmp/attempt", Options(), 5, &batch_).ok());
}

TEST_F(NamespaceTest, CreateRefusesWhatStandsInTheWay) {
  Write("/f", {1});
  ASSERT_TRUE(names_.MakeDirectory("/d", "ann", 1, &batch_).ok());
  const auto create = [&](std::string_view path, const CreateOptions& options) {
    return names_.Create(path, options, 35 * kSecond, &batch_).status();
  };
  ExpectFails(StatusCode::kExists, [&] { return create("/f", Options()); });
  ExpectFails(StatusCode::kExists, [&] { return create("/d", Options(true)); });
  ExpectFails(StatusCode::kExists, [&] { return create("/", Options(true)); });
  ExpectFails(StatusCode::kInvalid, [&] { return create("/f/x", Options()); });
  CreateOptions bad = Options();
  for (const std::uint32_t replication : {0u, kMaxReplication + 1}) {
    bad.replication = replication;
    ExpectFails(StatusCode::kInvalid, [&] { return create("/new", bad); });
  }
  bad = Options();
  for (const std::uint64_t size : {kMinBlockSize - 1, kMaxBlockSize + 1}) {
    bad.block_size = size;
    ExpectFails(StatusCode::kInvalid, [&] { return create("/new", bad); });
  }
}

TEST_F(NamespaceTest, ASecondWriterIsToldWhoHoldsThePath) {
  ASSERT_TRUE(names_.Create("/f", Options(), 5 * kSecond, &batch_).ok());
  batch_ = {};
  const auto second = names_.Create("/f", Options(true), 40 * kSecond, &batch_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kBusy);
  EXPECT_THAT(second.status().message(), HasSubstr("host:1"));
  EXPECT_THAT(second.status().message(), HasSubstr("35 s"));
  EXPECT_TRUE(batch_.empty());
}

TEST_F(NamespaceTest, OverwritingReplacesAtComplete) {
  const std::vector<Block> old = Write("/f", {1, 2});
  const FileId id = *names_.Create("/f", Options(true), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {3});
  EXPECT_EQ(*names_.Blocks("/f"), old);
  ASSERT_TRUE(names_.Complete(id, blocks, 7, &batch_, &freed_).ok());
  EXPECT_EQ(*names_.Blocks("/f"), blocks);
  EXPECT_THAT(freed_, ElementsAre(old[0].id, old[1].id));
  EXPECT_EQ(names_.Total().files, 1u);
  EXPECT_EQ(names_.Total().bytes, 3u);
}

TEST_F(NamespaceTest, CompleteChecksThePathAgain) {
  const FileId over_file = *names_.Create("/a", Options(), 5, &batch_);
  const FileId under_file = *names_.Create("/b/c", Options(), 5, &batch_);
  const FileId over_directory = *names_.Create("/d", Options(true), 5, &batch_);
  const FileId mover = *names_.Create("/m", Options(), 5, &batch_);
  ASSERT_TRUE(names_.CompleteAs(mover, "/b", {}, 6, &batch_, &freed_).ok());
  ASSERT_TRUE(names_.Rename("/b", "/a", 6, &batch_).ok());
  ASSERT_TRUE(names_.MakeDirectory("/d", "ann", 6, &batch_).ok());
  ExpectFails(StatusCode::kExists, [&] { return names_.Complete(over_file, {}, 7, &batch_, &freed_); });
  ExpectFails(StatusCode::kExists, [&] { return names_.Complete(over_directory, {}, 7, &batch_, &freed_); });
  EXPECT_TRUE(names_.Complete(under_file, {}, 7, &batch_, &freed_).ok());
}

TEST_F(NamespaceTest, DropBlockForgetsAndAbandonFrees) {
  const FileId id = *names_.Create("/f", Options(), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {1, 1, 1});
  ASSERT_TRUE(names_.DropBlock(id, blocks[1].id, &batch_).ok());
  EXPECT_FALSE(names_.OwnerOf(blocks[1].id).has_value());
  ExpectFails(StatusCode::kNotFound, [&] { return names_.DropBlock(id, blocks[1].id, &batch_); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.DropBlock(id + 1000, blocks[0].id, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Complete(id, {blocks[1]}, 7, &batch_, &freed_); });
  ASSERT_TRUE(names_.Abandon(id, 8, &batch_, &freed_).ok());
  EXPECT_THAT(freed_, UnorderedElementsAre(blocks[0].id, blocks[2].id));
  ExpectFails(StatusCode::kNotFound, [&] { return names_.Abandon(id, 8, &batch_, &freed_).status(); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.AddBlock(id, &batch_).status(); });
  EXPECT_FALSE(names_.FindOpen(id).has_value());
  EXPECT_TRUE(names_.Create("/f", Options(), 5, &batch_).ok());
}

TEST_F(NamespaceTest, WhatWasSyncedStaysWhenTheFileIsGivenUp) {
  const FileId id = *names_.Create("/d/f", Options(), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {3, 1, 2});
  ASSERT_TRUE(names_.Sync(id, 0, {blocks[1]}, &batch_).ok());
  EXPECT_FALSE(names_.Stat("/d/f").ok()) << "it is still being written";
  ASSERT_TRUE(names_.Sync(id, 1, {blocks[0]}, &batch_).ok());
  const Result<Namespace::Abandoned> given_up = names_.Abandon(id, 8, &batch_, &freed_);
  ASSERT_TRUE(given_up.ok());
  EXPECT_TRUE(given_up->kept);
  EXPECT_EQ(given_up->path, "/d/f");
  EXPECT_EQ(*names_.Blocks("/d/f"), (std::vector{blocks[1], blocks[0]}));
  EXPECT_THAT(freed_, ElementsAre(blocks[2].id));
  EXPECT_TRUE(names_.OpenFiles().empty());
}

TEST_F(NamespaceTest, WhatWasSyncedGoesWhereTheFileCouldNotBeCompleted) {
  const FileId id = *names_.Create("/d/f", Options(), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {3, 1});
  ASSERT_TRUE(names_.Sync(id, 0, {blocks[0]}, &batch_).ok());
  ASSERT_TRUE(names_.MakeDirectory("/d", "ann", 6, &batch_).ok());
  ASSERT_TRUE(names_.Remove("/d", true, &batch_, &freed_).ok());
  const Result<Namespace::Abandoned> given_up = names_.Abandon(id, 8, &batch_, &freed_);
  ASSERT_TRUE(given_up.ok());
  EXPECT_FALSE(given_up->kept);
  EXPECT_THAT(given_up->not_kept, HasSubstr("its directory was removed"));
  EXPECT_THAT(freed_, UnorderedElementsAre(blocks[0].id, blocks[1].id));
}

TEST_F(NamespaceTest, ASyncMayBeRepeatedAndTakesNothingBack) {
  const FileId id = *names_.Create("/f", Options(), 5, &batch_);
  const std::vector<Block> blocks = AddBlocks(id, {3, 1, 2, 5 * kMiB});
  ASSERT_TRUE(names_.Sync(id, 0, {blocks[0], blocks[1]}, &batch_).ok());
  batch_ = {};
  EXPECT_TRUE(names_.Sync(id, 0, {blocks[0], blocks[1]}, &batch_).ok()) << "its answer may have been lost";
  EXPECT_TRUE(names_.Sync(id, 1, {blocks[1]}, &batch_).ok());
  EXPECT_TRUE(batch_.empty());
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Sync(id, 0, {blocks[1]}, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Sync(id, 2, {blocks[1]}, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Sync(id, 2, {blocks[3]}, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Sync(id, 3, {blocks[2]}, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Sync(id, 2, {{77, 1}}, &batch_); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.Sync(id + 1000, 0, {}, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.DropBlock(id, blocks[0].id, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Complete(id, {blocks[0]}, 7, &batch_, &freed_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Complete(id, {blocks[1], blocks[0]}, 7, &batch_, &freed_); });
  ASSERT_TRUE(names_.Complete(id, {blocks[0], blocks[1], blocks[2]}, 7, &batch_, &freed_).ok());
  EXPECT_EQ(names_.Stat("/f")->length, 6u);
}

TEST_F(NamespaceTest, KnowsTheOwnerOfABlock) {
  const Block visible = Write("/d/f", {1})[0];
  const FileId id = *names_.Create("/open", Options(), 5, &batch_);
  const BlockId open = *names_.AddBlock(id, &batch_);
  ASSERT_TRUE(names_.Rename("/d", "/e", 6, &batch_).ok());
  EXPECT_EQ(names_.OwnerOf(visible.id)->path, "/e/f");
  EXPECT_EQ(names_.OwnerOf(visible.id)->replication, 2u);
  EXPECT_FALSE(names_.OwnerOf(visible.id)->open);
  EXPECT_EQ(names_.OwnerOf(open)->path, "/open");
  EXPECT_TRUE(names_.OwnerOf(open)->open);
  EXPECT_FALSE(names_.OwnerOf(open + 1).has_value());
}

TEST_F(NamespaceTest, ListsInOrderInPages) {
  for (const char* path : {"/d/b", "/d/a", "/d/c", "/d/a-b", "/d/\xff", "/d/a/x"}) {
    if (std::string_view(path) == "/d/a") {
      ASSERT_TRUE(names_.MakeDirectory(path, "ann", 1, &batch_).ok());
    } else {
      Write(path, {});
    }
  }
  EXPECT_THAT(Names("/d"), ElementsAre("/d/a", "/d/a-b", "/d/b", "/d/c", "/d/\xff"));
  EXPECT_THAT(Names("/d", "a", 2), ElementsAre("/d/a-b", "/d/b"));
  EXPECT_THAT(Names("/d", "aa"), ElementsAre("/d/b", "/d/c", "/d/\xff"));
  EXPECT_THAT(Names("/d", "", 0), IsEmpty());
  EXPECT_THAT(Names("/d", "\xff"), IsEmpty());
  EXPECT_THAT(Names("/"), ElementsAre("/d"));
  EXPECT_THAT(Names("/d/b"), ElementsAre("/d/b"));
  EXPECT_THAT(Names("/d/b", "b"), IsEmpty());
  EXPECT_EQ(names_.List("/x", "", 1).status().code(), StatusCode::kNotFound);
}

TEST_F(NamespaceTest, WalksFilesComponentByComponent) {
  for (const char* path : {"/a-b", "/a/z", "/a/b/c", "/b"}) Write(path, {});
  ASSERT_TRUE(names_.MakeDirectory("/empty", "ann", 1, &batch_).ok());
  std::vector<std::string> seen;
  ASSERT_TRUE(names_.Walk("/", [&](const FileStatus& s) { return seen.push_back(s.path), true; }).ok());
  EXPECT_THAT(seen, ElementsAre("/a/b/c", "/a/z", "/a-b", "/b"));
  seen.clear();
  ASSERT_TRUE(names_.Walk("/", [&](const FileStatus& s) { return seen.push_back(s.path), seen.size() < 2; }).ok());
  EXPECT_THAT(seen, ElementsAre("/a/b/c", "/a/z"));
  seen.clear();
  ASSERT_TRUE(names_.Walk("/a/z", [&](const FileStatus& s) { return seen.push_back(s.path), true; }).ok());
  EXPECT_THAT(seen, ElementsAre("/a/z"));
  EXPECT_EQ(names_.Walk("/no", [](const FileStatus&) { return true; }).code(), StatusCode::kNotFound);
}

TEST_F(NamespaceTest, MeasuresASubtree) {
  Write("/d/f", {10, 5});
  Write("/d/e/g", {1});
  Write("/h", {100});
  const auto usage = names_.Measure("/d");
  ASSERT_TRUE(usage.ok());
  EXPECT_EQ(usage->files, 2u);
  EXPECT_EQ(usage->directories, 2u);
  EXPECT_EQ(usage->bytes, 16u);
  EXPECT_EQ(usage->bytes_with_replicas, 32u);
  EXPECT_EQ(usage->blocks, 3u);
  EXPECT_EQ(names_.Measure("/h")->bytes, 100u);
  EXPECT_EQ(names_.Measure("/h")->directories, 0u);
  ASSERT_TRUE(names_.SetReplication("/h", 5, &batch_).ok());
  EXPECT_EQ(names_.Total().bytes_with_replicas, 532u);
  EXPECT_EQ(names_.Total().directories, 3u);
  EXPECT_EQ(names_.Measure("/x").status().code(), StatusCode::kNotFound);
}

TEST_F(NamespaceTest, RemovesFilesAndDirectories) {
  const Block f = Write("/d/f", {1})[0];
  const Block g = Write("/d/e/g", {1})[0];
  ASSERT_TRUE(names_.MakeDirectory("/empty", "ann", 1, &batch_).ok());
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Remove("/d", false, &batch_, &freed_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Remove("/", true, &batch_, &freed_); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.Remove("/d/x", true, &batch_, &freed_); });
  EXPECT_TRUE(names_.Remove("/empty", false, &batch_, &freed_).ok());
  EXPECT_TRUE(names_.Remove("/d/f", false, &batch_, &freed_).ok());
  EXPECT_THAT(freed_, ElementsAre(f.id));
  EXPECT_TRUE(names_.Remove("/d", true, &batch_, &freed_).ok());
  EXPECT_THAT(freed_, ElementsAre(f.id, g.id));
  EXPECT_THAT(Names("/"), IsEmpty());
  EXPECT_EQ(names_.Total().directories, 1u);
}

TEST_F(NamespaceTest, OpenFilesBelowARemovedDirectoryFailAtComplete) {
  ASSERT_TRUE(names_.MakeDirectory("/d", "ann", 1, &batch_).ok());
  ASSERT_TRUE(names_.MakeDirectory("/d2", "ann", 1, &batch_).ok());
  const FileId below = *names_.Create("/d/x/f", Options(), 5, &batch_);
  const FileId beside = *names_.Create("/d2/f", Options(), 5, &batch_);
  ASSERT_TRUE(names_.Remove("/d", true, &batch_, &freed_).ok());
  ASSERT_TRUE(names_.MakeDirectory("/d", "ann", 1, &batch_).ok());
  const BlockId late = *names_.AddBlock(below, &batch_);
  ExpectFails(StatusCode::kNotFound, [&] { return names_.Complete(below, {{late, 1}}, 7, &batch_, &freed_); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.CompleteAs(below, "/z", {}, 7, &batch_, &freed_); });
  const auto next = names_.Create("/d/x/f", Options(), 5, &batch_);
  ASSERT_TRUE(next.ok()) << next.status().message();
  ASSERT_TRUE(names_.Abandon(below, 8, &batch_, &freed_).ok());
  EXPECT_THAT(freed_, ElementsAre(late));
  EXPECT_EQ(names_.Create("/d/x/f", Options(), 5, &batch_).status().code(), StatusCode::kBusy);
  EXPECT_TRUE(names_.Complete(*next, {}, 7, &batch_, &freed_).ok());
  EXPECT_TRUE(names_.Complete(beside, {}, 7, &batch_, &freed_).ok());
}

TEST_F(NamespaceTest, RenamesAsMvDoes) {
  const std::vector<Block> f = Write("/d/f", {1});
  Write("/g", {});
  ASSERT_TRUE(names_.MakeDirectory("/e/d", "ann", 1, &batch_).ok());
  ExpectFails(StatusCode::kNotFound, [&] { return names_.Rename("/x", "/y", 6, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Rename("/", "/e", 6, &batch_); });
  ExpectFails(StatusCode::kExists, [&] { return names_.Rename("/d/f", "/g", 6, &batch_); });
  ExpectFails(StatusCode::kExists, [&] { return names_.Rename("/g", "/g", 6, &batch_); });
  ExpectFails(StatusCode::kExists, [&] { return names_.Rename("/d", "/e", 6, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Rename("/d", "/d", 6, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Rename("/d", "/d/x/y", 6, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Rename("/d", "/g/x", 6, &batch_); });
  batch_ = {};
  ASSERT_TRUE(names_.Rename("/d", "/e/d", 6, &batch_).ok());
  EXPECT_EQ(batch_.changes().size(), 2u) << "a renamed directory is one entry moved";
  EXPECT_EQ(*names_.Blocks("/e/d/d/f"), f);
  ASSERT_TRUE(names_.Rename("/e/d/d/f", "/", 6, &batch_).ok());
  ASSERT_TRUE(names_.Rename("/f", "/new/deep/h", 6, &batch_).ok());
  EXPECT_EQ(names_.Stat("/new/deep/h")->modified, 7);
  EXPECT_EQ(names_.Stat("/new")->modified, 6);
  EXPECT_EQ(names_.Stat("/new")->owner, "ann");
  EXPECT_TRUE(names_.Rename("/e", "/ee", 6, &batch_).ok());
  EXPECT_EQ(names_.Stat("/f").status().code(), StatusCode::kNotFound);
}

TEST_F(NamespaceTest, RenameKeepsPathsShortEnough) {
  std::string deep = "/d";
  while (deep.size() + 256 <= kMaxPathBytes) deep += "/" + std::string(255, 'x');
  const std::size_t room = kMaxPathBytes - deep.size();
  Write(deep, {});
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Rename("/d", "/" + std::string(room + 2, 'y'), 6, &batch_); });
  const std::string longest = "/" + std::string(room + 1, 'y');
  ASSERT_TRUE(names_.Rename("/d", longest, 6, &batch_).ok());
  EXPECT_TRUE(CanonicalPath(longest + deep.substr(2)).ok());
  EXPECT_TRUE(names_.Stat(longest + deep.substr(2)).ok());
}

TEST_F(NamespaceTest, OpenFilesKeepTheirPathWhenADirectoryIsRenamed) {
  ASSERT_TRUE(names_.MakeDirectory("/d", "ann", 1, &batch_).ok());
  const FileId id = *names_.Create("/d/f", Options(), 5, &batch_);
  ASSERT_TRUE(names_.Rename("/d", "/e", 6, &batch_).ok());
  ASSERT_TRUE(names_.Complete(id, {}, 7, &batch_, &freed_).ok());
  EXPECT_TRUE(names_.Stat("/d/f").ok());
  EXPECT_THAT(Names("/e"), IsEmpty());
}

TEST_F(NamespaceTest, SetsReplicationOfFiles) {
  Write("/d/f", {1});
  ASSERT_TRUE(names_.SetReplication("/d/f", 1, &batch_).ok());
  EXPECT_EQ(names_.Stat("/d/f")->replication, 1u);
  ExpectFails(StatusCode::kInvalid, [&] { return names_.SetReplication("/d", 1, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.SetReplication("/d/f", 0, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.SetReplication("/d/f", kMaxReplication + 1, &batch_); });
  ExpectFails(StatusCode::kNotFound, [&] { return names_.SetReplication("/x", 1, &batch_); });
  ExpectFails(StatusCode::kInvalid, [&] { return names_.Blocks("/d").status(); });
}

}  // namespace
}  // namespace millrace::dfs
