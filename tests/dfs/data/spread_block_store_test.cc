// SPDX-License-Identifier: Apache-2.0
// Tests what can only happen to a store over several disks: disks that differ, one that fails, one that comes back.
#include "dfs/data/spread_block_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/dfs/data/block_bytes.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ChooseDiskTest, TheFreestForEachWriterGetsTheNextBlock) {
  const auto choose = [](const std::vector<DiskLoad>& disks) { return ChooseDisk(disks); };
  EXPECT_EQ(choose({{.free = 10}, {.free = 30}, {.free = 20}}), 1u);
  EXPECT_EQ(choose({{.free = 10}, {.free = 30, .writers = 2}, {.free = 20}}), 2u);
  EXPECT_EQ(choose({{.free = 1}, {.free = 1000, .writers = 998}}), 1u) << "an almost full disk is not flooded";
  EXPECT_EQ(choose({{.free = 10, .chosen = 3}, {.free = 10, .chosen = 1}, {.free = 10, .chosen = 2}}), 1u);
  EXPECT_EQ(choose({{.free = 0, .trashed = 100}, {.free = 1}}), 1u);
  EXPECT_EQ(choose({{.free = 0}, {.free = 0, .trashed = 100}}), 1u);
}

TEST(ChooseDiskTest, ManySmallBlocksFillADiskUntilTheyAreAlike) {
  std::vector<DiskLoad> disks = {{.free = 1'000}, {.free = 100'000}};
  std::uint64_t choices = 0;
  for (int i = 0; i < 99; ++i) {
    DiskLoad& disk = disks[ChooseDisk(disks)];
    disk.free -= 1'000;
    disk.chosen = ++choices;
  }
  EXPECT_EQ(disks[0].free, 1'000u);
  EXPECT_EQ(disks[1].free, 1'000u);
}

// A disk whose writes can be refused.
class FaultyStore final : public BlockStore {
 public:
  FaultyStore(const Status& fault, std::unique_ptr<BlockStore> store) : fault_(fault), store_(std::move(store)) {}
  Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) override {
    if (fault_.code() == StatusCode::kNotFound) return fault_;  // its directory is gone
    MILLRACE_ASSIGN(std::unique_ptr<BlockFile> file, store_->Create(id));
    return std::unique_ptr<BlockFile>(std::make_unique<File>(fault_, std::move(file)));
  }
  Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) override { return store_->FinishAt(id, length); }
  void Discard(std::uint64_t id) override { store_->Discard(id); }
  Swept SweepUnfinished(Micros now, Micros retention) override { return store_->SweepUnfinished(now, retention); }
  Result<OpenBlock> Open(std::uint64_t id) const override { return store_->Open(id); }
  Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const override {
    return store_->Read(id, offset, size);
  }
  Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) override {
    return store_->Verify(id, offset, size);
  }
  Status Relist(std::uint64_t id) override { return store_->Relist(id); }
  Status Remove(std::uint64_t id) override { return store_->Remove(id); }
  bool Spoiled(std::uint64_t id) const override { return store_->Spoiled(id); }
  bool Has(std::uint64_t id) const override { return store_->Has(id); }
  std::vector<StoredBlock> List() const override { return store_->List(); }
  std::vector<std::uint64_t> Damaged() const override { return store_->Damaged(); }
  std::optional<std::uint64_t> Length(std::uint64_t id) const override { return store_->Length(id); }
  Status Trash(std::uint64_t id, Micros now) override { return store_->Trash(id, now); }
  Result<StoredBlock> Restore(std::uint64_t id) override { return store_->Restore(id); }
  void RemoveTrashed(std::uint64_t id) override { store_->RemoveTrashed(id); }
  std::vector<StoredBlock> ListTrash() const override { return store_->ListTrash(); }
  Swept SweepTrash(Micros before, std::uint64_t least_free) override { return store_->SweepTrash(before, least_free); }
  Space space() const override { return store_->space(); }

 private:
  class File final : public BlockFile {
   public:
    File(const Status& fault, std::unique_ptr<BlockFile> file) : fault_(fault), file_(std::move(file)) {}
    Status Append(std::string_view data, const std::vector<std::uint32_t>& crcs) override {
      return fault_.ok() ? file_->Append(data, crcs) : fault_;
    }
    Result<Fd> Share() override { return file_->Share(); }
    Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& crcs,
                      char* out) const override {
      return file_->ReadShared(offset, size, crcs, out);
    }
    Status Adopt(std::string_view data, const std::vector<std::uint32_t>& crcs) override {
      return file_->Adopt(data, crcs);
    }
    Status Sync() override { return fault_.ok() ? file_->Sync() : fault_; }
    Status Finish() override { return file_->Finish(); }
    std::uint64_t length() const override { return file_->length(); }
    std::uint32_t crc() const override { return file_->crc(); }

   private:
    const Status& fault_;
    const std::unique_ptr<BlockFile> file_;
  };
  const Status& fault_;
  const std::unique_ptr<BlockStore> store_;
};

class SpreadTest : public testing::Test {
 protected:
  SpreadTest() { Open({1000, 1000}); }

  void Open(std::vector<std::uint64_t> capacities) {
    std::vector<SpreadBlockStore::Disk> disks;
    below_.clear();
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      auto store = MakeMemoryBlockStore(capacities[i]);
      below_.push_back(store.get());
      disks.push_back({"disk" + std::to_string(i), std::make_unique<FaultyStore>(faults_[i], std::move(store))});
    }
    store_ = std::move(*SpreadBlockStore::Over(std::move(disks), 0, Told()));
  }
  SpreadBlockStore::Events Told() {
    return {
        [this](std::size_t disk, const Status& why) { failing_.push_back(std::to_string(disk) + " " + why.message()); },
        [this](std::size_t disk, int strikes, const Status&) {
          refused_.push_back(std::to_string(disk) + ": " + std::to_string(strikes));
        }};
  }
  std::unique_ptr<BlockFile> Begin(std::uint64_t id) { return std::move(*store_->Create(id)); }
  void Store(std::uint64_t id, std::size_t size = 1) {
    const std::string data = RandomBytes(size, id);
    const auto file = Begin(id);
    ASSERT_TRUE(file->Append(data, ChunkCrcs(data)).ok());
    ASSERT_TRUE(file->Finish().ok());
  }
  static Status Write(BlockFile& file) { return file.Append("x", ChunkCrcs("x")); }
  [[nodiscard]] std::vector<std::size_t> Counts() const {
    std::vector<std::size_t> counts;
    for (const BlockStore* disk : below_) counts.push_back(disk->List().size());
    return counts;
  }

  Status faults_[3];
  std::vector<BlockStore*> below_;
  std::vector<std::string> failing_, refused_;
  std::unique_ptr<SpreadBlockStore> store_;
};

const Status kRefused(StatusCode::kIo, "Input/output error");

TEST_F(SpreadTest, SmallBlocksDoNotFloodADiskThatIsAlmostFull) {
  Open({10, 1000});
  for (std::uint64_t id = 1; id <= 90; ++id) Store(id, 10);
  EXPECT_THAT(Counts(), ElementsAre(0u, 90u));
}

TEST_F(SpreadTest, ConcurrentWritersAreSpread) {
  std::vector<std::unique_ptr<BlockFile>> files;
  for (std::uint64_t id = 1; id <= 6; ++id) files.push_back(Begin(id));
  for (const auto& file : files) ASSERT_TRUE(file->Finish().ok());
  EXPECT_THAT(Counts(), ElementsAre(3u, 3u));
}

TEST_F(SpreadTest, WhatADiskHadIsGoneWhenItFails) {
  for (std::uint64_t id = 1; id <= 4; ++id) Store(id);
  EXPECT_EQ(store_->space().capacity, 2000u);
  std::vector<std::uint64_t> expected;
  for (const StoredBlock& block : below_[1]->List()) expected.push_back(block.id);
  ASSERT_THAT(expected, SizeIs(2));
  EXPECT_EQ(store_->Fail(1), expected);
  EXPECT_THAT(store_->Fail(1), IsEmpty()) << "it fails once";
  EXPECT_EQ(store_->List(), below_[0]->List());
  EXPECT_EQ(store_->Length(expected[0]), std::nullopt);
  EXPECT_EQ(store_->Open(expected[0]).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->space().capacity, 1000u);
  EXPECT_EQ(store_->space().blocks, 2u);
  Store(expected[0]);  // it is copied again, to the other disk
  EXPECT_THAT(below_[0]->List(), SizeIs(3));
  EXPECT_THAT(below_[1]->List(), SizeIs(2));
}

TEST_F(SpreadTest, AWriteUnderWayOnAFailedDiskFails) {
  const auto on_the_first = Begin(1), on_the_second = Begin(2);
  ASSERT_TRUE(Write(*on_the_second).ok());
  ASSERT_TRUE(store_->FinishAt(2, 1).status().code() == StatusCode::kBusy);
  (void)store_->Fail(below_[1]->Has(2) ? 1 : 0);
  EXPECT_EQ(Write(*on_the_second).code(), StatusCode::kIo);
  EXPECT_EQ(on_the_second->Sync().code(), StatusCode::kIo);
  EXPECT_THAT(on_the_second->Finish().message(), HasSubstr("has failed"));
  EXPECT_EQ(store_->FinishAt(2, 1).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(Write(*on_the_first).ok() && on_the_first->Finish().ok());
  Store(2);
}

TEST_F(SpreadTest, BlocksThatADiskRefusesInARowAreTold) {
  Open({1000});
  const auto refuse = [this](std::uint64_t id, bool at_the_sync) {
    const auto file = Begin(id);
    if (!at_the_sync) faults_[0] = kRefused;
    EXPECT_EQ(Write(*file).ok(), at_the_sync);
    faults_[0] = kRefused;
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(file->Sync().ok());  // a block is refused once
    faults_[0] = Status::Ok();
  };
  refuse(1, true);
  refuse(2, false);
  EXPECT_THAT(failing_, IsEmpty());
  const auto sound = Begin(3);
  ASSERT_TRUE(Write(*sound).ok() && sound->Sync().ok());
  refuse(4, true);
  ASSERT_TRUE(Write(*Begin(5)).ok()) << "it gets no further than memory, and ends no row";
  refuse(6, false);
  EXPECT_THAT(failing_, IsEmpty());
  refuse(7, true);
  refuse(8, true);
  EXPECT_THAT(failing_, ElementsAre("0 Input/output error"));
  EXPECT_THAT(refused_, ElementsAre("0: 1", "0: 2", "0: 1", "0: 2", "0: 3", "0: 4"));
}

TEST_F(SpreadTest, TheDisksDoNotShareTheirRows) {
  std::vector<std::unique_ptr<BlockFile>> files;
  for (std::uint64_t id = 1; id <= 4; ++id) files.push_back(Begin(id));
  faults_[0] = faults_[1] = kRefused;
  for (const auto& file : files) EXPECT_FALSE(Write(*file).ok());
  EXPECT_THAT(failing_, IsEmpty()) << "two of each";
  EXPECT_THAT(refused_, SizeIs(4));
}

TEST_F(SpreadTest, WhatFailsWhenABlockIsFinishedCounts) {
  Status fault;
  const auto refuses = [&fault](WriteStep) { return fault; };
  std::vector<SpreadBlockStore::Disk> disks;
  disks.push_back({"disk", MakeMemoryBlockStore(1000, refuses)});
  store_ = std::move(*SpreadBlockStore::Over(std::move(disks), 0, Told()));
  auto finished = Begin(1), left = Begin(2), spoiled = Begin(3), lacks = Begin(4);
  for (const auto* file : {&finished, &left, &spoiled, &lacks}) ASSERT_TRUE(Write(**file).ok());
  fault = Busy("Too many open files");
  EXPECT_FALSE(lacks->Finish().ok());
  EXPECT_THAT(refused_, IsEmpty()) << "it says nothing about the disk";
  fault = kRefused;
  EXPECT_FALSE(spoiled->Sync().ok());
  fault = Status::Ok();
  for (auto* file : {&left, &spoiled}) file->reset();
  EXPECT_EQ(store_->FinishAt(3, 1).status().code(), StatusCode::kIo);
  EXPECT_THAT(refused_, ElementsAre("0: 1")) << "it was counted at the sync";
  fault = kRefused;
  EXPECT_EQ(store_->FinishAt(2, 1).status().code(), StatusCode::kIo);
  EXPECT_EQ(finished->Finish().code(), StatusCode::kIo);
  EXPECT_THAT(refused_, ElementsAre("0: 1", "0: 2", "0: 3"));
  EXPECT_THAT(failing_, SizeIs(1));
}

TEST_F(SpreadTest, AFullDiskIsNotAFailingOne) {
  const auto file = Begin(1);
  faults_[0] = faults_[1] = NoSpace("full");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Write(*file).code(), StatusCode::kNoSpace);
  EXPECT_THAT(failing_, IsEmpty());
}

TEST_F(SpreadTest, ADiskThatIsGoneAndNotFoundSoYetIsPassedOver) {
  faults_[0] = NotFound("no such directory");
  for (std::uint64_t id = 1; id <= 4; ++id) Store(id);
  EXPECT_THAT(Counts(), ElementsAre(0u, 4u));
  faults_[1] = faults_[0];
  EXPECT_EQ(store_->Create(9).status().message(), "no such directory");
}

TEST_F(SpreadTest, NoDiskIsLeft) {
  (void)store_->Fail(0);
  (void)store_->Fail(1);
  EXPECT_THAT(store_->Create(1).status().message(), HasSubstr("no disk is left"));
}

class SpreadDiskTest : public testing::Test {
 protected:
  [[nodiscard]] std::string Path(int disk) const { return directory_.path() + "/" + std::to_string(disk); }
  static void Store(BlockStore& store, std::uint64_t id, std::string_view data) {
    const auto file = std::move(*store.Create(id));
    ASSERT_TRUE(file->Append(data, ChunkCrcs(data)).ok() && file->Finish().ok());
  }
  std::unique_ptr<SpreadBlockStore> Open() {
    std::vector<SpreadBlockStore::Disk> disks;
    for (int i = 0; i < 2; ++i) disks.push_back({Path(i), std::move(*OpenDiskBlockStore(Path(i), 0))});
    return std::move(*SpreadBlockStore::Over(std::move(disks), 100, {[](std::size_t, const Status&) {}}));
  }
  TempDir directory_ = std::move(*TempDir::Make("disks"));
};

// The disk had failed, and its blocks were copied to the other disk of this worker.
TEST_F(SpreadDiskTest, ABlockThatIsOnTwoDisksStaysOnOne) {
  for (int i = 0; i < 2; ++i) {
    const auto disk = std::move(*OpenDiskBlockStore(Path(i), 0));
    Store(*disk, 5, "first");
    ASSERT_TRUE(disk->Trash(5, 10 + i).ok());
    Store(*disk, 5, "both");
    Store(*disk, 7 + static_cast<std::uint64_t>(i), "single");
  }
  const auto store = Open();
  EXPECT_THAT(store->List(), ElementsAre(StoredAs(5, "both"), StoredAs(7, "single"), StoredAs(8, "single")));
  EXPECT_THAT(store->ListTrash(), ElementsAre(StoredAs(5, "both")));
  ASSERT_TRUE(store->Remove(5).ok());
  EXPECT_EQ(store->Length(5), std::nullopt);
  ASSERT_TRUE(store->Restore(5).ok());
  EXPECT_EQ(*store->Read(5, 0, 4), "both");
}

TEST_F(SpreadDiskTest, ADamagedBlockGivesWayToAGoodOneOfAnotherDisk) {
  for (int i = 0; i < 2; ++i) Store(*std::move(*OpenDiskBlockStore(Path(i), 0)), 5, "both");
  std::filesystem::remove(Path(0) + "/blocks/05/0000000000000005.crc");
  const auto store = Open();
  EXPECT_THAT(store->Damaged(), IsEmpty());
  EXPECT_EQ(*store->Read(5, 0, 4), "both");
}

TEST_F(SpreadDiskTest, ARestoredBlockTakesThePlaceOfADamagedOneOfAnotherDisk) {
  Store(*std::move(*OpenDiskBlockStore(Path(0), 0)), 5, "rotten");
  std::filesystem::remove(Path(0) + "/blocks/05/0000000000000005.crc");
  {
    const auto disk = std::move(*OpenDiskBlockStore(Path(1), 0));
    Store(*disk, 5, "good");
    ASSERT_TRUE(disk->Trash(5, 10).ok());
  }
  const auto store = Open();
  EXPECT_THAT(store->Damaged(), ElementsAre(5u));
  const auto restored = store->Restore(5);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_THAT(store->Damaged(), IsEmpty());
  EXPECT_EQ(*store->Read(5, 0, 4), "good");
}

}  // namespace
}  // namespace millrace::dfs
