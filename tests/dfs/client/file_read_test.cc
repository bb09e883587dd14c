// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/random.h"
#include "tests/dfs/client/client_fixture.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;

class FileReadTest : public ClientTest {
 protected:
  void SetUp() override { WriteFile("/f", data_); }
  // With sockets of this machine, blocks are read by descriptor.
  void MakeLocal() {
    const std::lock_guard lock(master_.mutex);
    for (std::size_t i = 0; i < nodes_.size(); ++i) master_.places[i] = nodes_[i]->Local();
  }
  // Puts another cluster's block of the same number and length on the node in place of ours.
  void MakeForeign(std::size_t node, const WrittenBlock& block) {
    BlockStore& store = *nodes_[node]->store;
    Ok(store.Remove(block.id));
    const auto file = store.Create(block.id).value();
    const std::string bytes = RandomBytes(block.length, 99);
    for (std::size_t at = 0; at < bytes.size(); at += kPacketBytes) {
      const std::string_view piece = std::string_view(bytes).substr(at, kPacketBytes);
      Ok(file->Append(piece, ChunkCrcs(piece)));
    }
    Ok(file->Finish());
  }
  const std::string data_ = RandomBytes(5 * kBlockSize + 12345, 1);  // six blocks: three pages
};

TEST_F(FileReadTest, AllOfIt) {
  EXPECT_EQ(BlocksOf("/f").size(), 6u);
  EXPECT_TRUE(ReadFile("/f") == data_);
}

TEST_F(FileReadTest, AnyRange) {
  const std::uint64_t seed = 20260131;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto reader = client_->Open("/f").value();
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t offset = random.Below(data_.size() + 10), size = random.Below(3 * kBlockSize);
    std::string got = "before";
    Ok(reader->ReadAt(offset, size, &got));
    EXPECT_TRUE(got == "before" + (offset < data_.size() ? data_.substr(offset, size) : "")) << offset << " " << size;
  }
}

TEST_F(FileReadTest, RemoteAndLocalBytesAreCounted) {
  std::string got;
  const auto remote = client_->Open("/f").value();
  Ok(remote->ReadAt(0, data_.size(), &got));
  EXPECT_EQ(remote->bytes_remote(), data_.size());
  EXPECT_EQ(remote->bytes_local(), 0u);
  MakeLocal();
  got.clear();
  const auto local = client_->Open("/f").value();
  Ok(local->ReadAt(0, data_.size(), &got));
  EXPECT_TRUE(got == data_);
  EXPECT_EQ(local->bytes_local(), data_.size());
  EXPECT_EQ(local->bytes_remote(), 0u);
}

TEST_F(FileReadTest, ASinkMayStop) {
  const auto reader = client_->Open("/f").value();
  std::uint64_t got = 0;
  const Status stopped = reader->Stream(0, data_.size(), [&](std::string_view piece) {
    got += piece.size();
    return got < kBlockSize + 1;
  });
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
  EXPECT_LT(got, 3 * kBlockSize);
}

TEST_F(FileReadTest, AnAbsentReplicaIsReportedAndAnotherRead) {
  const std::uint64_t block = BlocksOf("/f")[1].id;
  const NodeId node = master_.places[0].node;
  Ok(nodes_[0]->store->Remove(block));
  EXPECT_TRUE(ReadFile("/f") == data_);
  master_.AwaitCall("bad " + std::to_string(block) + " on " + std::to_string(node.value));
}

TEST_F(FileReadTest, AForeignBlockOfTheSameNumberAndLengthIsNeverRead) {
  const WrittenBlock block = BlocksOf("/f")[1];
  for (const bool local : {false, true}) {
    if (local) MakeLocal();
    MakeForeign(0, block);
    ASSERT_TRUE(ReadFile("/f") == data_);
    master_.AwaitCall("bad " + std::to_string(block.id) + " on " + std::to_string(master_.places[0].node.value));
  }
  MakeForeign(1, block);
  MakeForeign(2, block);
  std::string got;
  const Status failed = client_->Open("/f").value()->ReadAt(0, data_.size(), &got);
  EXPECT_EQ(failed.code(), StatusCode::kCorrupt) << failed.message();
  EXPECT_TRUE(got == data_.substr(0, kBlockSize)) << "the block before it";
}

TEST_F(FileReadTest, WithoutAnyReplicaItFailsNamingTheFile) {
  const std::uint64_t block = BlocksOf("/f")[1].id;
  for (const auto& node : nodes_) Ok(node->store->Remove(block));
  std::string got;
  const Status failed = client_->Open("/f").value()->ReadAt(0, data_.size(), &got);
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(failed.message(), HasSubstr("\"/f\""));
  EXPECT_TRUE(data_.starts_with(got));
}

TEST_F(FileReadTest, KnownBlocksNeedNoLookUpAndOthersAreFound) {
  const auto whole = client_->Open("/f").value();
  std::vector<LocatedBlock> all = whole->Blocks().value();
  ASSERT_EQ(all.size(), 6u);
  const auto piece = client_->OpenKnown(whole->info(), {all[1]});
  std::string got;
  Ok(piece->ReadAt(kBlockSize + 5, 1000, &got));
  EXPECT_EQ(got, data_.substr(kBlockSize + 5, 1000));
  got.clear();
  Ok(piece->ReadAt(2 * kBlockSize - 5, 10, &got));  // a record that ends in the next block
  EXPECT_EQ(got, data_.substr(2 * kBlockSize - 5, 10));
}

TEST_F(FileReadTest, AFileThatWasReplacedIsNotMixedWithItsSuccessor) {
  const auto reader = client_->Open("/f").value();  // it knows one page of blocks
  {
    const std::lock_guard lock(master_.mutex);
    master_.files["/f"].id += 1000;
  }
  std::string got;
  const Status failed = reader->ReadAt(0, data_.size(), &got);
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(failed.message(), HasSubstr("replaced"));
}

}  // namespace
}  // namespace millrace::dfs
