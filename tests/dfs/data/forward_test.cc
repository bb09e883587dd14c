// In which order a node of a pipeline forwards, reads and stores, seen from its store.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>

#include "tests/dfs/data/nodes.h"

namespace millrace::dfs {
namespace {

// A store in memory that says what its files are asked for.
class WatchedStore final : public BlockStore {
 public:
  struct Watch {
    std::function<void()> storing = [] {};  // called before each packet is stored
    std::atomic<int> reads{0};
  };
  explicit WatchedStore(Watch& watch) : watch_(watch) {}

  Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) override {
    MILLRACE_ASSIGN(std::unique_ptr<BlockFile> file, store_->Create(id));
    return std::unique_ptr<BlockFile>(std::make_unique<File>(watch_, std::move(file)));
  }
  Status FinishAt(std::uint64_t id, std::uint64_t length) override { return store_->FinishAt(id, length); }
  void Discard(std::uint64_t id) override { store_->Discard(id); }
  Result<OpenBlock> Open(std::uint64_t id) const override { return store_->Open(id); }
  Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const override {
    return store_->Read(id, offset, size);
  }
  Status Remove(std::uint64_t id) override { return store_->Remove(id); }
  std::vector<StoredBlock> List() const override { return store_->List(); }
  Status Trash(std::uint64_t id, Micros now) override { return store_->Trash(id, now); }
  Result<StoredBlock> Restore(std::uint64_t id) override { return store_->Restore(id); }
  std::vector<StoredBlock> ListTrash() const override { return store_->ListTrash(); }
  Swept SweepTrash(Micros before, std::uint64_t least_free) override { return store_->SweepTrash(before, least_free); }
  Space space() const override { return store_->space(); }

 private:
  class File final : public BlockFile {
   public:
    File(Watch& watch, std::unique_ptr<BlockFile> file) : watch_(watch), file_(std::move(file)) {}
    Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
      watch_.storing();
      return file_->Append(data, chunk_crcs);
    }
    Result<Fd> Share() override { return file_->Share(); }
    Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& chunk_crcs,
                      char* out) const override {
      ++watch_.reads;
      return file_->ReadShared(offset, size, chunk_crcs, out);
    }
    Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
      watch_.storing();
      return file_->Adopt(data, chunk_crcs);
    }
    Status Sync() override { return file_->Sync(); }
    Status Finish() override { return file_->Finish(); }
    std::uint64_t length() const override { return file_->length(); }

   private:
    Watch& watch_;
    const std::unique_ptr<BlockFile> file_;
  };

  Watch& watch_;
  const std::unique_ptr<BlockStore> store_ = MakeMemoryBlockStore(1 << 30);
};

class ForwardTest : public NodesTest, public testing::WithParamInterface<bool> {
 protected:
  void AddWatchedNode(WatchedStore::Watch& watch) {
    const auto number = static_cast<std::uint32_t>(nodes_.size() + 1);
    nodes_.push_back(std::make_unique<Node>(number, std::make_unique<WatchedStore>(watch), 60 * kSecond));
  }
  [[nodiscard]] std::vector<Place> FromHereOrElsewhere() const {
    std::vector<Place> pipeline = Pipeline();
    if (GetParam()) pipeline[0] = nodes_[0]->Local();
    return pipeline;
  }
};

// What BlockWriter relies on when it salvages. One packet: nothing but this order can bring it to the second node.
TEST_P(ForwardTest, ANodeForwardsBeforeItStores) {
  WatchedStore::Watch first, second;
  std::promise<void> forwarded;
  std::future_status waited = std::future_status::deferred;
  first.storing = [&] { waited = forwarded.get_future().wait_for(std::chrono::microseconds(kStall)); };
  second.storing = [&] { forwarded.set_value(); };
  AddWatchedNode(first);
  AddWatchedNode(second);
  WriteBlock(1, FromHereOrElsewhere(), "one packet");
  nodes_.clear();  // and their threads with them
  EXPECT_EQ(waited, std::future_status::ready);
}

TEST_P(ForwardTest, WhatAWriterPutIntoTheFileIsReadOnce) {
  for (const std::size_t nodes : {std::size_t{1}, std::size_t{2}}) {
    WatchedStore::Watch first;
    AddWatchedNode(first);
    if (nodes == 2) AddNode();
    WriteBlock(1, FromHereOrElsewhere(), RandomBytes(40 * kPacketBytes + 1, 1));
    nodes_.clear();
    EXPECT_EQ(first.reads, GetParam() ? 41 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(From, ForwardTest, testing::Values(false, true),
                         [](const auto& from) { return from.param ? "Local" : "Remote"; });

}  // namespace
}  // namespace millrace::dfs
