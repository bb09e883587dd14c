// SPDX-License-Identifier: Apache-2.0
// Tests the order in which a node of a pipeline forwards, reads and stores, as its store sees it, and a store that
// lies.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>

#include "base/net/bulk_handler.h"
#include "dfs/client/pipeline_writer.h"
#include "tests/dfs/data/nodes.h"
#include "tests/dfs/data/raw_writer.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {
namespace {

// A store in memory that notes what its files are asked for.
class WatchedStore final : public BlockStore {
 public:
  struct Watch {
    std::function<void()> storing = [] {};  // called before each packet is stored
    std::atomic<int> reads{0};
    std::uint32_t wrong = 0;  // how much its checksums differ from the right ones
  };
  explicit WatchedStore(Watch& watch) : watch_(watch) {}

  Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) override {
    MILLRACE_ASSIGN(std::unique_ptr<BlockFile> file, store_->Create(id));
    return std::unique_ptr<BlockFile>(std::make_unique<File>(watch_, std::move(file)));
  }
  Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) override {
    Result<StoredBlock> finished = store_->FinishAt(id, length);
    if (finished.ok()) finished->crc ^= watch_.wrong;
    return finished;
  }
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
  void RemoveTrashed(std::uint64_t id) override { store_->RemoveTrashed(id); }
  std::vector<StoredBlock> List() const override { return store_->List(); }
  std::vector<std::uint64_t> Damaged() const override { return store_->Damaged(); }
  std::optional<std::uint64_t> Length(std::uint64_t id) const override { return store_->Length(id); }
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
    std::uint32_t crc() const override { return file_->crc() ^ watch_.wrong; }

   private:
    Watch& watch_;
    const std::unique_ptr<BlockFile> file_;
  };

  Watch& watch_;
  const std::unique_ptr<BlockStore> store_ = MakeMemoryBlockStore(1 << 30);
};

class ForwardTest : public NodesTest, public testing::WithParamInterface<bool> {
 protected:
  void AddWatchedNode(WatchedStore::Watch& watch, Micros idle = 60 * kSecond) {
    nodes_.push_back(std::make_unique<Node>(NextId(), std::make_unique<WatchedStore>(watch), idle));
  }
  [[nodiscard]] std::vector<ReplicaHost> FromHereOrElsewhere() const {
    std::vector<ReplicaHost> pipeline = Pipeline();
    if (GetParam()) pipeline[0] = nodes_[0]->Local();
    return pipeline;
  }
};

// BlockWriter relies on this when it salvages. There is only one packet, so nothing but this order can bring it to the
// second node.
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

TEST_P(ForwardTest, ANodeThatKeepsSomethingElseIsNamedAndNotCountedOn) {
  for (const std::size_t liar : {std::size_t{0}, std::size_t{1}}) {
    WatchedStore::Watch honest, lying;
    lying.wrong = 1;
    for (std::size_t i = 0; i < 2; ++i) AddWatchedNode(i == liar ? lying : honest);
    const std::string data = RandomBytes(5 * kPacketBytes, 1);
    const auto writer = OpenWriter(1, FromHereOrElsewhere());
    ASSERT_TRUE(writer->Write(data).ok());
    EXPECT_EQ(writer->Finish().status().code(), StatusCode::kCorrupt);
    std::string rest;
    std::vector<NodeId> failed;
    const auto saved = writer->Salvage(&rest, &failed);
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_EQ(saved->length + rest.size(), data.size());
    EXPECT_EQ(saved->crc, StoredAs(1, std::string_view(data).substr(0, saved->length)).crc);
    EXPECT_EQ(saved->nodes, std::vector{liar == 0 ? 2_n : 1_n});
    EXPECT_NE(std::find(failed.begin(), failed.end(), liar == 0 ? 1_n : 2_n), failed.end());
    nodes_.clear();
  }
}

// A node whose writer is waiting says that it is alive, however long its disk takes.
TEST_P(ForwardTest, ASlowDiskIsNoSilence) {
  WatchedStore::Watch watch;
  std::promise<void> released;
  watch.storing = [&, stored = released.get_future().share()] { stored.wait(); };
  AddWatchedNode(watch, kSecond);
  RawWriter writer(1, FromHereOrElsewhere());
  const std::string data = RandomBytes(1000, 1);
  writer.Put(PacketOf(0, data, true), data);
  for (int i = 0; i < 2; ++i) {
    const Ack alive = writer.NextAck();
    EXPECT_TRUE(alive.failure.ok()) << alive.failure.message();
    EXPECT_EQ(alive.length, 0u);
  }
  released.set_value();
  Ack ack;
  while (ack.failure.ok() && !ack.finished) ack = writer.NextAck();
  EXPECT_EQ(ack.length, data.size());
}

// Accepts a block, and falls silent once the pipeline is set up.
class SilentHandler final : public net::BulkHandler {
 public:
  net::Awaitable<bool> Serve(std::shared_ptr<net::Wire> wire, std::string header) override {
    EXPECT_FALSE(header.empty());
    const std::string open = net::EncodeReply(StatusCode::kOk, {});
    const Ack standing;
    const std::string stands = net::EncodeReply(StatusCode::kOk, EncodeAck(standing));
    Status status = co_await wire->Write(open, stands);
    char byte = 0;
    while (status.ok()) status = co_await wire->Read(&byte, 1);
    co_return false;
  }
};

// A node that does nothing but answer its writer.
struct ScriptedNode {
  ScriptedNode(NodeId id, std::shared_ptr<net::BulkHandler> handler) : server(Options(), MakeSilentLog()) {
    server.Register(net::Operation::kWriteBlock, std::move(handler));
    EXPECT_TRUE(server.Start().ok());
    place.node = id;
    place.host = "127.0.0.1";
    place.port = server.port();
  }
  ~ScriptedNode() { server.Stop(); }
  static net::BulkServerOptions Options() {
    net::BulkServerOptions options;
    options.bind = "127.0.0.1";
    return options;
  }
  net::BulkServer server;
  ReplicaHost place;
};

// Three nodes wait for the fourth. The failure names the fourth and none of the others.
TEST_F(NodesTest, TheNodeThatIsSilentIsTheOneThatIsLeftOut) {
  for (int i = 0; i < 3; ++i) AddNode(std::uint64_t{1} << 30, 2 * kSecond);
  ScriptedNode silent(4_n, std::make_shared<SilentHandler>());
  std::vector<ReplicaHost> pipeline = Pipeline();
  pipeline.push_back(silent.place);
  const auto writer = OpenWriter(1, pipeline);
  const std::string data = RandomBytes(3 * kPacketBytes, 1);
  ASSERT_TRUE(writer->Write(data).ok());
  EXPECT_FALSE(writer->Finish().ok());
  std::string rest;
  std::vector<NodeId> failed;
  const auto saved = writer->Salvage(&rest, &failed);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(failed, std::vector{4_n});
  EXPECT_EQ(saved->length, 0u) << "the fourth acknowledged nothing";
  EXPECT_TRUE(rest == data);
}

TEST_F(NodesTest, AFirstNodeThatIsSilentIsLeftOut) {
  ScriptedNode silent(1_n, std::make_shared<SilentHandler>());
  std::vector<NodeId> failed;
  const auto writer = BlockWriter::Open(1, {silent.place}, 300 * kMillisecond, &failed);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  EXPECT_EQ((*writer)->Write(RandomBytes(kPacketBytes, 1)).ok() && (*writer)->Finish().ok(), false);
  std::string rest;
  (void)(*writer)->Salvage(&rest, &failed);
  EXPECT_EQ(failed, std::vector{1_n});
}

// Takes a packet and the empty last one. Only then does it say that it is alive, together with what it has stored.
class LateHandler final : public net::BulkHandler {
 public:
  explicit LateHandler(std::optional<Ack> stored) : stored_(std::move(stored)) {}
  net::Awaitable<bool> Serve(std::shared_ptr<net::Wire> wire, std::string) override {
    const Ack nothing;
    const std::string alive = net::EncodeReply(StatusCode::kOk, EncodeAck(nothing));
    const std::string open = net::EncodeReply(StatusCode::kOk, {});
    Status status = co_await wire->Write(open, alive);
    std::string packets(2 * kPacketHeaderBytes + kPacketBytes, '\0');
    if (status.ok()) status = co_await wire->Read(packets.data(), packets.size());
    std::string said = alive;
    if (stored_.has_value()) said += net::EncodeReply(StatusCode::kOk, EncodeAck(*stored_));
    if (status.ok()) status = co_await wire->Write(said);
    char byte = 0;
    while (status.ok()) status = co_await wire->Read(&byte, 1);
    co_return false;
  }

 private:
  const std::optional<Ack> stored_;
};

// Sends a packet to a node with that handler, and finishes a minute later.
Result<WrittenBlock> WritePausing(const std::string& data, std::optional<Ack> stored) {
  ScriptedNode node(1_n, std::make_shared<LateHandler>(std::move(stored)));
  PipelineWriter::TimePoint now{};
  PipelineWriter writer(1, {node.place}, 30 * kSecond, {}, [&now] { return now; });
  MILLRACE_TRY(writer.Begin());
  MILLRACE_TRY(writer.Write(data));
  now += std::chrono::seconds(60);
  Result<WrittenBlock> written = writer.Finish();
  EXPECT_TRUE(writer.failed_nodes().empty());
  return written;
}

// Messages that the node sent while nobody was reading are older than later ones.
TEST(PausingWriterTest, APauseOfTheWriterIsNoStallOfThePipeline) {
  const std::string data = RandomBytes(kPacketBytes, 1);
  Ack stored;
  stored.length = data.size();
  stored.finished = true;
  stored.crc = StoredAs(1, data).crc;
  const Result<WrittenBlock> written = WritePausing(data, stored);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->length, data.size());
}

TEST(PausingWriterTest, ADiskThatHangsIsFoundOutAfterIt) {
  const Status failed = WritePausing(RandomBytes(kPacketBytes, 1), {}).status();
  EXPECT_EQ(failed.code(), StatusCode::kTimeout);
  EXPECT_NE(failed.message().find("no node stored anything within 30000 ms"), std::string::npos) << failed.message();
}

INSTANTIATE_TEST_SUITE_P(From, ForwardTest, testing::Values(false, true),
                         [](const auto& from) { return from.param ? "Local" : "Remote"; });

}  // namespace
}  // namespace millrace::dfs
