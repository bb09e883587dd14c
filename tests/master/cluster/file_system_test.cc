// SPDX-License-Identifier: Apache-2.0
// Tests what FileSystem refuses although the namespace and the block manager, each by itself, would accept it.
#include "master/cluster/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/kv/key_value_store.h"
#include "base/kv/spare_log.h"
#include "base/random.h"
#include "tests/fakes/memory_store.h"
#include "tests/node_ids.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FileSystemTest : public testing::Test {
 protected:
  FileSystemTest() {
    Start();
    for (const NodeId node : {1_n, 2_n, 3_n}) {
      files_->blocks().NodeUp(node, {"/rack", "/dc"});
      files_->blocks().NodeSpace(node, std::uint64_t{1} << 40);
    }
    dfs::CreateOptions options;
    options.replication = 2;
    file_ = *files_->Create("/f", options, 1, &batch_);
    block_ = *files_->AddBlock(file_, std::nullopt, {}, &batch_);
    for (const NodeId node : {1_n, 2_n, 3_n}) {
      if (node != block_.targets[0] && node != block_.targets[1]) other_ = node;
    }
  }
  void Start() {
    files_ = std::make_unique<FileSystem>(Random(7), [numbers = Random(8)]() mutable { return numbers.Next(); });
  }
  // Begins a new life of the master, in which no worker has come back yet.
  void Restart() {
    ASSERT_TRUE(store_->Write(batch_, Durability::kSynced).ok());
    batch_ = {};
    Start();
    ASSERT_TRUE(files_->Load(*store_).ok());
    for (const NodeId node : {1_n, 2_n, 3_n}) files_->blocks().NodeExists(node);
  }
  Status Complete(const std::vector<NodeId>& nodes) {
    return files_->Complete(file_, {}, {{block_.id, 10, nodes, 99}}, 2, &batch_);
  }

  const std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<FileSystem> files_;
  WriteBatch batch_;
  dfs::FileId file_ = 0;
  FileSystem::NewBlock block_;
  NodeId other_;
};

TEST_F(FileSystemTest, ADirectoryThatIsKeptIsNobodysAndHasItsModeWhateverItHad) {
  ASSERT_TRUE(files_->KeepDirectory("/x/y", 01777, 1, &batch_).ok());
  const auto who = [&] {
    const dfs::FileStatus status = *files_->names().Stat("/x/y");
    return status.owner + " " + dfs::OctalText(status.mode);
  };
  EXPECT_EQ(who(), " 1777");
  batch_ = {};
  ASSERT_TRUE(files_->KeepDirectory("/x/y", 01777, 1, &batch_).ok());
  EXPECT_TRUE(batch_.empty()) << "nothing was to do";
  ASSERT_TRUE(files_->SetOwner("/x/y", "ann", std::nullopt, &batch_).ok());
  ASSERT_TRUE(files_->SetMode("/x/y", 0755, &batch_).ok());
  ASSERT_TRUE(files_->KeepDirectory("/x/y", 01777, 1, &batch_).ok());
  EXPECT_EQ(who(), " 1777");
}

TEST_F(FileSystemTest, CompleteNamesOnlyNodesThatTheBlockWasGivenOutWith) {
  for (const std::vector<NodeId>& nodes : {std::vector<NodeId>{}, {77_n}, {block_.targets[0], 77_n}, {other_}}) {
    EXPECT_EQ(Complete(nodes).code(), StatusCode::kInvalid);
  }
  EXPECT_THAT(Complete({77_n}).message(), HasSubstr("worker 77 was not asked to hold it"));
  EXPECT_TRUE(files_->names().FindOpen(file_).has_value()) << "the writer may try again";
  ASSERT_TRUE(Complete({block_.targets[1]}).ok());
  EXPECT_THAT(files_->Holders(block_.id), ElementsAre(block_.targets[1]));
}

TEST_F(FileSystemTest, CompleteMayNameANodeThatReportsTheBlock) {
  files_->blocks().Received(other_, {block_.id, 10, 99});
  EXPECT_TRUE(Complete({other_}).ok());
}

TEST_F(FileSystemTest, CompleteDoesNotMakeAReplicaGoodThatItsNodeFoundBad) {
  files_->blocks().Received(block_.targets[0], {block_.id, 10, 99});
  files_->blocks().Corrupt(block_.targets[0], block_.id);
  ASSERT_TRUE(Complete({block_.targets[0], block_.targets[1]}).ok());
  EXPECT_THAT(files_->Holders(block_.id), ElementsAre(block_.targets[1]));
}

TEST_F(FileSystemTest, FilesAreCompletedTogetherOrNotAtAll) {
  const dfs::FileId second = *files_->Create("/g", {}, 1, &batch_);
  const dfs::FileId third = *files_->Create("/h", {}, 1, &batch_);
  const FileSystem::Completion good{file_, "/out/a", {{block_.id, 10, {block_.targets[0]}, 99}}};
  const std::vector<std::vector<FileSystem::Completion>> wrong = {
      {good, {second, "/out/a", {}}},                                              // one path
      {good, {file_, "/out/b", {}}},                                               // one file
      {good, {second, "/h", {}}},                                                  // is being written
      {good, {77, "/out/b", {}}},                                                  // no such file
      {good, {second, "/out/b", {{block_.id, 10, {block_.targets[0]}}}}},          // the block of another file
      {{second, "/out/b", {}}, {file_, "/out/a", {{block_.id, 10, {77_n}, 99}}}},  // a node that was not asked
  };
  for (const auto& files : wrong) {
    EXPECT_FALSE(files_->CompleteAll(files, 2, &batch_).ok());
    EXPECT_FALSE(files_->names().Stat("/out").ok());
    EXPECT_THAT(files_->names().OpenFiles(), ElementsAre(file_, second, third));
  }
  EXPECT_TRUE(files_->CompleteAll({good, {second, "/out/b", {}}}, 2, &batch_).ok());
  EXPECT_TRUE(files_->CompleteAll({}, 2, &batch_).ok());
  Restart();
  EXPECT_EQ(files_->names().Stat("/out/a")->length, 10U);
  EXPECT_TRUE(files_->names().Stat("/out/b").ok());
  EXPECT_THAT(files_->names().OpenFiles(), ElementsAre(third));
}

TEST_F(FileSystemTest, AfterARestartCompleteNamesNodesThatExist) {
  Restart();
  EXPECT_EQ(Complete({77_n}).code(), StatusCode::kInvalid);
  const Status completed = Complete(block_.targets);
  EXPECT_TRUE(completed.ok()) << completed.message();
}

// These are more than a tenth of what the worker holds: if the master did not know them, it would hold them back.
TEST_F(FileSystemTest, WhatWasRemovedIsDeletedAfterARestart) {
  std::vector<dfs::Block> held;
  for (int i = 0; i < 30; ++i) {
    const std::string path = "/file" + std::to_string(i);
    const dfs::FileId file = *files_->Create(path, {.replication = 1}, 1, &batch_);
    const FileSystem::NewBlock block = *files_->AddBlock(file, 1_n, {}, &batch_);
    ASSERT_TRUE(files_->Complete(file, {}, {{block.id, 10, {block.targets}, 99}}, 2, &batch_).ok());
    ASSERT_TRUE(files_->Remove(path, false, &batch_).ok());
    held.push_back({block.id, 10, 99});
  }
  const FileSystem::NewBlock dropped = *files_->AddBlock(file_, 1_n, {}, &batch_);
  ASSERT_TRUE(files_->DropBlock(file_, dropped.id, &batch_).ok());
  ASSERT_TRUE(files_->Abandon(file_, 2, &batch_).ok());
  held.push_back({dropped.id, 10, 99});
  held.push_back({block_.id, 10, 99});
  Restart();
  dfs::BlockManager& blocks = files_->blocks();
  blocks.NodeUp(1_n, {"/rack", "/dc"});
  blocks.ReportBegin(1_n);
  blocks.ReportPart(1_n, held);
  blocks.ReportEnd(1_n);
  EXPECT_EQ(blocks.UnknownOn(1_n).count, 0U);
  const dfs::BlockWork work = blocks.NextWork(3, 2, kSecond);
  ASSERT_EQ(work.remove.size(), 1U);
  EXPECT_EQ(work.remove.front().blocks.size(), held.size());
}

class DoubtfulFileSystemTest : public FileSystemTest {
 protected:
  static constexpr dfs::BlockId kOthers = 1'000'000;  // from there on: blocks of a file that stays
  // Lets node 1 hold these blocks, and so many of the file that stays that a few unknown ones are not too many.
  void Report(std::vector<dfs::Block> held) {
    dfs::BlockManager& blocks = files_->blocks();
    for (dfs::BlockId id = kOthers; id < kOthers + 100; ++id) {
      blocks.Want({id, 10, 1}, 1);
      held.push_back({id, 10, 1});
    }
    blocks.NodeUp(1_n, {"/rack", "/dc"});
    blocks.ReportBegin(1_n);
    blocks.ReportPart(1_n, held);
    blocks.ReportEnd(1_n);
  }
  // Returns the blocks that node 1 is to delete, and those that it is to put aside.
  std::pair<std::vector<dfs::BlockId>, std::vector<dfs::BlockId>> Orders() {
    const dfs::BlockWork work = files_->blocks().NextWork(3, 2, kSecond);
    const auto of_one = [](const std::vector<dfs::DeleteWork>& works) {
      for (const dfs::DeleteWork& of_node : works) {
        if (of_node.node == 1_n) return of_node.blocks;
      }
      return std::vector<dfs::BlockId>();
    };
    return {of_one(work.remove), of_one(work.aside)};
  }
};

// The writer may have ended it, with a database that was set back to this one.
TEST_F(DoubtfulFileSystemTest, WhatAFileHadThatWasOpenWhenThisWasLoadedAndIsGivenUpIsNotDeleted) {
  for (const bool doubt : {false, true}) {
    SCOPED_TRACE(doubt);
    Restart();
    if (doubt) files_->SetDoubt(true);
    Report({{block_.id, 10, 99}});
    ASSERT_TRUE(files_->Abandon(file_, 2, &batch_).ok());
    const auto [removed, aside] = Orders();
    EXPECT_THAT(removed, testing::IsEmpty());
    EXPECT_THAT(aside, ElementsAre(block_.id));
    EXPECT_EQ(files_->blocks().UnknownOn(1_n).count, doubt ? 1u : 0u);
    EXPECT_EQ(files_->TakeLeftovers().size(), 0u);
    batch_ = {};  // the file is open again at the next start
  }
}

TEST_F(DoubtfulFileSystemTest, WhatAFileHadThatWasBegunSinceAndIsGivenUpIsDeleted) {
  Restart();
  Report({});
  files_->blocks().NodeSpace(1_n, 1 << 30);
  const dfs::FileId other = *files_->Create("/other", {.replication = 1}, 1, &batch_);
  const dfs::BlockId block = files_->AddBlock(other, 1_n, {}, &batch_)->id;
  files_->blocks().Received(1_n, {block, 10, 99});
  ASSERT_TRUE(files_->Abandon(other, 2, &batch_).ok());
  const auto [removed, aside] = Orders();
  EXPECT_THAT(removed, ElementsAre(block));
  EXPECT_THAT(aside, testing::IsEmpty());
}

TEST_F(DoubtfulFileSystemTest, FilesThatWereRemovedOrReplacedAreNotDeletedAndLaterOnesAre) {
  ASSERT_TRUE(Complete(block_.targets).ok());
  const dfs::FileId other = *files_->Create("/other", {.replication = 1}, 1, &batch_);
  const dfs::BlockId replaced = files_->AddBlock(other, 1_n, {}, &batch_)->id;
  ASSERT_TRUE(files_->Complete(other, {}, {{replaced, 10, {1_n}, 99}}, 2, &batch_).ok());
  files_->SetDoubt(true);
  const dfs::FileId late = *files_->Create("/other", {.replication = 1, .overwrite = true}, 3, &batch_);
  const dfs::BlockId young = files_->AddBlock(late, 1_n, {}, &batch_)->id;
  ASSERT_TRUE(files_->Complete(late, {}, {{young, 10, {1_n}, 99}}, 3, &batch_).ok());
  Report({{block_.id, 10, 99}, {replaced, 10, 99}, {young, 10, 99}});
  ASSERT_TRUE(files_->Remove("/f", false, &batch_).ok());
  ASSERT_TRUE(files_->Remove("/other", false, &batch_).ok());
  const auto [removed, aside] = Orders();
  EXPECT_THAT(removed, ElementsAre(young)) << "nobody was promised it before";
  EXPECT_THAT(aside, testing::UnorderedElementsAre(block_.id, replaced));
  files_->SetDoubt(false);
}

// The node that has the blocks may come when the file was given up, and the master be started again before that.
TEST_F(DoubtfulFileSystemTest, WhatWasGivenUpIsNotDeletedWhereItTurnsUpLater) {
  Restart();
  ASSERT_TRUE(files_->Abandon(file_, 2, &batch_).ok());
  Report({{block_.id, 10, 99}});
  const auto [removed, aside] = Orders();
  EXPECT_THAT(removed, testing::IsEmpty());
  EXPECT_THAT(aside, ElementsAre(block_.id));
  Restart();
  Report({{block_.id, 10, 99}});
  EXPECT_THAT(Orders().first, testing::IsEmpty()) << "it is not among the removed blocks that are stored";
}

// A node may be getting blocks that it has not said to have.
// A master on a full disk must not find out when memory has changed.
TEST_F(FileSystemTest, HowMuchAChangeThatMakesRoomWritesIsKnownBefore) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto name = [&random](int n) { return std::to_string(n) + std::string(random.Below(200), 'x'); };
  const auto bytes_of = [this](const WriteBatch& batch) {
    EXPECT_TRUE(store_->Write(batch, Durability::kSynced).ok());
    return SpareLog::BytesOf(batch);
  };
  for (int round = 0; round < 20; ++round) {
    const std::string top = "/" + name(round);
    WriteBatch made;
    ASSERT_TRUE(files_->MakeDirectory(top, "ann", 1, &made).ok());
    for (int n = 0; n < 30; ++n) {
      const std::string path = top + (random.Below(2) == 0 ? "/" + name(n) : "") + "/" + name(n);
      const dfs::FileId file = *files_->Create(path, {.replication = 3}, 1, &made);
      std::vector<dfs::WrittenBlock> blocks;
      for (std::uint64_t b = random.Below(20); b > 0; --b) {
        const FileSystem::NewBlock block = *files_->AddBlock(file, 1_n, {}, &made);
        blocks.push_back({block.id, 10, {block.targets}, 99});
      }
      if (random.Below(4) == 0) {  // it stays open
        if (random.Below(2) == 0) continue;
        const std::uint64_t known = files_->BytesToAbandon(file);
        WriteBatch batch;
        ASSERT_TRUE(files_->Abandon(file, 2, &batch).ok());
        EXPECT_GE(known, bytes_of(batch));
        continue;
      }
      ASSERT_TRUE(files_->Complete(file, {}, blocks, 2, &made).ok());
      const std::uint64_t known = files_->BytesToSetReplication(path);
      WriteBatch batch;
      ASSERT_TRUE(files_->SetReplication(path, 1, &batch).ok());
      EXPECT_EQ(known, bytes_of(batch));
    }
    const std::uint64_t known = files_->BytesToRemove(top);
    WriteBatch batch;
    ASSERT_TRUE(files_->Remove(top, true, &batch).ok());
    EXPECT_GE(known, bytes_of(batch));
    EXPECT_LE(known, bytes_of(batch) + 64) << "no more than that is refused";
  }
  EXPECT_EQ(files_->BytesToRemove("/none"), 0u);
  (void)files_->BytesToRemove("/");
}

TEST_F(FileSystemTest, ABlockThatIsBeingWrittenIsOnTheNodesOfItsPipelineUntilItsFileEnds) {
  const NodeId target = block_.targets[0];
  EXPECT_EQ(files_->WritesTo(target), 1u);
  EXPECT_EQ(files_->WritesTo(other_), 0u);
  files_->blocks().ReportBegin(target);
  files_->blocks().ReportEnd(target);
  files_->blocks().Received(target, {block_.id, 10, 99});
  EXPECT_EQ(files_->WritesTo(target), 0u) << "it has said so: it is among those to copy";
  EXPECT_EQ(files_->WritesTo(block_.targets[1]), 1u) << "the pipeline goes through it";
  ASSERT_TRUE(Complete(block_.targets).ok());
  EXPECT_EQ(files_->WritesTo(block_.targets[1]), 0u);
}

TEST_F(FileSystemTest, NobodyKnowsWhereABlockOfAnEarlierLifeIsWrittenUntilANodeSaysToHaveIt) {
  Restart();
  for (const NodeId node : {1_n, 2_n, 3_n}) EXPECT_EQ(files_->WritesTo(node), 1u);
  for (const NodeId node : {1_n, 2_n, 3_n}) {
    files_->blocks().NodeUp(node, {"/rack", "/dc"});
    files_->blocks().ReportBegin(node);
    files_->blocks().ReportEnd(node);
  }
  EXPECT_EQ(files_->WritesTo(1_n), 1u);
  files_->blocks().Received(2_n, {block_.id, 10, 99});
  EXPECT_EQ(files_->WritesTo(1_n), 0u) << "what it may have is elsewhere, too";
  files_->blocks().SetDraining(2_n, true);
  EXPECT_EQ(files_->WritesTo(1_n), 1u) << "both may leave";
  ASSERT_TRUE(files_->Abandon(file_, 2, &batch_).ok());
  EXPECT_EQ(files_->WritesTo(1_n), 0u);
}

// The block is treated like that of a complete file: it is copied, and it is known after a restart.
TEST_F(FileSystemTest, ASyncedBlockIsABlockOfAFile) {
  const dfs::WrittenBlock written{block_.id, 10, {block_.targets[0]}, 99};
  ASSERT_TRUE(files_->Sync(file_, 0, {written}, &batch_).ok());
  EXPECT_THAT(files_->Holders(block_.id), ElementsAre(block_.targets[0]));
  for (const NodeId node : {1_n, 2_n, 3_n}) {
    files_->blocks().ReportBegin(node);
    files_->blocks().ReportPart(
        node, node == block_.targets[0] ? std::vector<dfs::Block>{{block_.id, 10, 99}} : std::vector<dfs::Block>{});
    files_->blocks().ReportEnd(node);
  }
  const dfs::BlockWork work = files_->blocks().NextWork(3, 2, kSecond);
  ASSERT_EQ(work.replicate.size(), 1U) << "of two replicas there is one";
  EXPECT_EQ(work.replicate[0].block.id, block_.id);
  EXPECT_EQ(files_->CheckNotSynced(file_).code(), StatusCode::kInvalid);
  Restart();
  EXPECT_EQ(files_->blocks().Find(block_.id), (dfs::Block{block_.id, 10, 99}));
  ASSERT_TRUE(files_->Abandon(file_, 4, &batch_).ok());
  EXPECT_EQ(files_->names().Stat("/f")->length, 10U);
}

TEST_F(FileSystemTest, ASyncedBlockIsNotAmongWhatItsWriterLeftUnfinished) {
  const dfs::WrittenBlock written{block_.id, 10, block_.targets, 99};
  ASSERT_TRUE(files_->Sync(file_, 0, {written}, &batch_).ok());
  ASSERT_TRUE(files_->Abandon(file_, 4, &batch_).ok());
  EXPECT_TRUE(files_->TakeLeftovers().empty());
}

TEST_F(FileSystemTest, SyncNamesOnlyNodesThatTheBlockWasGivenOutWith) {
  EXPECT_EQ(files_->Sync(file_, 0, {{block_.id, 10, {77_n}, 99}}, &batch_).code(), StatusCode::kInvalid);
  EXPECT_TRUE(files_->CheckNotSynced(file_).ok());
}

// Its replica may be gone by now: what the writer knew of it when it synced is out of date.
TEST_F(FileSystemTest, CompleteTellsNothingOfSyncedBlocks) {
  const dfs::WrittenBlock written{block_.id, 10, block_.targets, 99};
  ASSERT_TRUE(files_->Sync(file_, 0, {written}, &batch_).ok());
  files_->blocks().Deleted(block_.targets[0], block_.id);
  ASSERT_TRUE(files_->Complete(file_, {}, {written}, 2, &batch_).ok());
  EXPECT_THAT(files_->Holders(block_.id), ElementsAre(block_.targets[1]));
}

TEST_F(FileSystemTest, TheChecksumOfABlockOutlivesARestart) {
  ASSERT_TRUE(Complete(block_.targets).ok());
  Restart();
  EXPECT_EQ(files_->blocks().Find(block_.id), (dfs::Block{block_.id, 10, 99}));
  EXPECT_EQ((*files_->Locate("/f", 0, 10)).at(0).block.crc, 99u);
}

}  // namespace
}  // namespace millrace::master
