// SPDX-License-Identifier: Apache-2.0
// Tests what becomes of a block when the disk refuses a step of writing it, on all stores: the calls of the store on
// disk fail as on a disk that does so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "tests/dfs/data/block_store_fixture.h"
#include "tests/power/forgetful_files.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Call = power::ForgetfulFiles::Call;

class RefusedWriteTest : public BlockStoreTest {
 protected:
  RefusedWriteTest() {
    refuse = [this](WriteStep step) { return ErrorOf(step); };
    files_ = std::make_unique<power::ForgetfulFiles>(std::filesystem::canonical(directory_.path()).string(), nullptr);
    const auto error = [this](Call call, const std::string&) {
      if (call == Call::kRead) return reads_fail_ ? EIO : 0;
      return ErrorOf(call == Call::kWrite  ? WriteStep::kWrite
                     : call == Call::kSync ? WriteStep::kSync
                                           : WriteStep::kRename);
    };
    files_->Refuse(error, true);
  }

  // The next but `later` such step fails, once.
  void Fail(WriteStep step, int later, int error) { failing_ = {step, later, error}; }
  [[nodiscard]] bool failed() const { return !failing_.has_value(); }

  // Returns the status of the first step that fails.
  static Status WriteAll(BlockFile& file, std::string_view data) {
    for (std::size_t at = 0; at < data.size(); at += kPacketBytes) {
      const std::string_view piece = data.substr(at, kPacketBytes);
      MILLRACE_TRY(file.Append(piece, ChunkCrcs(piece)));
    }
    MILLRACE_TRY(file.Sync());
    return file.Finish();
  }
  // Checks that nothing of the block is left, in the store or below its directory.
  void ExpectGone(std::uint64_t id) {
    EXPECT_FALSE(store_->Has(id));
    EXPECT_THAT(store_->List(), IsEmpty());
    EXPECT_EQ(store_->space().used, 0u);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      EXPECT_FALSE(entry.is_regular_file()) << entry.path();
    }
  }
  void ExpectWrittenAnew(std::uint64_t id, const std::string& data) {
    Store(id, data);
    EXPECT_EQ(*store_->Read(id, 0, data.size()), data);
    ASSERT_TRUE(store_->Remove(id).ok());
  }

  struct Failing {
    WriteStep step;
    int later;
    int error;
  };
  std::optional<Failing> failing_;
  bool reads_fail_ = false;
  std::unique_ptr<power::ForgetfulFiles> files_;
  const std::string data_ = RandomBytes(2 * kPacketBytes + 5, 1);

 private:
  int ErrorOf(WriteStep step) {
    if (!failing_ || failing_->step != step || failing_->later-- > 0) return 0;
    return std::exchange(failing_, std::nullopt)->error;
  }
};

struct Step {
  WriteStep step;
  int number;
};
constexpr Step kSteps[] = {
    {WriteStep::kWrite, 0},  {WriteStep::kWrite, 2},   // data
    {WriteStep::kSync, 0},   {WriteStep::kWrite, 3},   // its first sync; it is cut
    {WriteStep::kSync, 1},   {WriteStep::kWrite, 4},   // its last sync; the checksums
    {WriteStep::kSync, 2},   {WriteStep::kRename, 0},  // they are synced, and moved
    {WriteStep::kRename, 1}, {WriteStep::kSync, 3},    // the data is moved; the directory is synced
};

TEST_P(RefusedWriteTest, ABlockIsSpoiledForGood) {
  std::uint64_t id = 0;
  for (const auto& [step, number] : kSteps) {
    SCOPED_TRACE("step " + std::to_string(static_cast<int>(step)) + " " + std::to_string(number));
    auto file = std::move(*store_->Create(++id));
    Fail(step, number, EIO);
    EXPECT_EQ(WriteAll(*file, data_).code(), StatusCode::kIo);
    ASSERT_TRUE(failed());
    // The disk refuses nothing any more, and would seem to have everything.
    EXPECT_EQ(file->Sync().code(), StatusCode::kIo);
    EXPECT_EQ(file->Finish().code(), StatusCode::kIo);
    EXPECT_FALSE(store_->Spoiled(id)) << "it is being written";
    file.reset();
    EXPECT_TRUE(store_->Spoiled(id));
    EXPECT_THAT(store_->List(), IsEmpty());
    EXPECT_EQ(store_->Open(id).status().code(), StatusCode::kNotFound);
    const Status finished = store_->FinishAt(id, kPacketBytes).status();
    EXPECT_EQ(finished.code(), StatusCode::kIo);
    EXPECT_THAT(finished.message(), HasSubstr("spoiled"));
    ExpectGone(id);
    EXPECT_EQ(store_->FinishAt(id, kPacketBytes).status().code(), StatusCode::kNotFound);
    ExpectWrittenAnew(id, data_);
  }
}

TEST_P(RefusedWriteTest, FinishingABrokenBlockSpoilsItInTheSameWay) {
  std::uint64_t id = 0;
  for (const auto& [step, number] : {Step{WriteStep::kWrite, 0},
                                     {WriteStep::kSync, 0},
                                     {WriteStep::kWrite, 1},
                                     {WriteStep::kSync, 1},
                                     {WriteStep::kRename, 0},
                                     {WriteStep::kRename, 1},
                                     {WriteStep::kSync, 2}}) {
    SCOPED_TRACE("step " + std::to_string(static_cast<int>(step)) + " " + std::to_string(number));
    Write(++id, data_).reset();
    Fail(step, number, EIO);
    EXPECT_EQ(store_->FinishAt(id, data_.size()).status().code(), StatusCode::kIo);
    ASSERT_TRUE(failed());
    ExpectGone(id);
    ExpectWrittenAnew(id, data_);
  }
}

// What did not fit does not take back what was written before; but a sync that found no room has lost what it was to
// bring to the disk.
TEST_P(RefusedWriteTest, AFullDiskSpoilsABlockAtASyncOnly) {
  auto file = Write(1, data_.substr(0, kPacketBytes));
  Fail(WriteStep::kWrite, 0, ENOSPC);
  EXPECT_EQ(file->Append("more", ChunkCrcs("more")).code(), StatusCode::kNoSpace);
  file.reset();
  Fail(WriteStep::kWrite, 1, ENOSPC);  // of the checksums
  EXPECT_EQ(store_->FinishAt(1, kPacketBytes).status().code(), StatusCode::kNoSpace);
  EXPECT_FALSE(store_->Spoiled(1));
  ASSERT_TRUE(store_->FinishAt(1, kPacketBytes).ok());
  EXPECT_EQ(*store_->Read(1, 0, kPacketBytes), data_.substr(0, kPacketBytes));

  file = Write(2, data_);
  Fail(WriteStep::kSync, 0, ENOSPC);
  EXPECT_EQ(file->Sync().code(), StatusCode::kNoSpace);
  file.reset();
  EXPECT_EQ(store_->FinishAt(2, data_.size()).status().code(), StatusCode::kIo);
  EXPECT_FALSE(store_->Has(2));
}

TEST_P(RefusedWriteTest, ASpoiledBlockGoesAsEveryUnfinishedOne) {
  for (const std::uint64_t id : {1, 2, 3}) {
    auto file = Write(id, data_);
    Fail(WriteStep::kSync, 0, EIO);
    EXPECT_FALSE(file->Sync().ok());
  }
  store_->Discard(1);
  ASSERT_TRUE(store_->Remove(2).ok());
  EXPECT_EQ(store_->SweepUnfinished(1, 0).blocks, 1u);
  for (const std::uint64_t id : {1, 2, 3}) ExpectGone(id);
}

TEST_P(RefusedWriteTest, ABlockThatTheDiskCannotReadIsDamaged) {
  if (GetParam() == Twin::kMemory || GetParam() == Twin::kSpreadMemory) GTEST_SKIP() << "memory can be read";
  Store(1, data_);
  reads_fail_ = true;
  EXPECT_EQ(store_->Open(1).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(store_->Read(1, 0, 1).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(store_->Verify(1, 0, 1).code(), StatusCode::kCorrupt);
  if (GetParam() == Twin::kDisk) {
    store_.reset();
    store_ = std::move(*OpenDiskBlockStore(directory_.path(), 0));  // one block that cannot be read ends no worker
    EXPECT_THAT(store_->Damaged(), testing::ElementsAre(1u));
  }
  reads_fail_ = false;
  EXPECT_EQ(*store_->Read(1, 0, data_.size()), data_);
}

TEST_P(RefusedWriteTest, ABlockThatCannotLeaveTheTrashStaysThere) {
  if (GetParam() == Twin::kMemory || GetParam() == Twin::kSpreadMemory) GTEST_SKIP() << "nothing is moved in memory";
  for (const auto& [step, number] : {Step{WriteStep::kRename, 0}, {WriteStep::kRename, 1}, {WriteStep::kSync, 0}}) {
    SCOPED_TRACE("step " + std::to_string(static_cast<int>(step)) + " " + std::to_string(number));
    Store(1, data_);
    ASSERT_TRUE(store_->Trash(1, 10).ok());
    Fail(step, number, EIO);
    EXPECT_EQ(store_->Restore(1).status().code(), StatusCode::kIo);
    EXPECT_THAT(store_->List(), IsEmpty());
    EXPECT_THAT(store_->ListTrash(), testing::ElementsAre(StoredAs(1, data_)));
    ASSERT_TRUE(store_->Restore(1).ok());
    EXPECT_EQ(*store_->Read(1, 0, data_.size()), data_);
    ASSERT_TRUE(store_->Remove(1).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Twins, RefusedWriteTest, AllTwins(), NameOf);

}  // namespace
}  // namespace millrace::dfs
