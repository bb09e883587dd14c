// SPDX-License-Identifier: Apache-2.0
// Tests writing through pipelines of real servers, and what happens when one of them fails, both from another machine
// and from the first node's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/net/blocking_stream.h"
#include "dfs/wire/transfer.h"
#include "tests/dfs/data/nodes.h"
#include "tests/dfs/data/raw_writer.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Writer { kRemote, kLocal };

class BlockWriteTest : public NodesTest, public testing::WithParamInterface<Writer> {
 protected:
  [[nodiscard]] static bool Local() { return GetParam() == Writer::kLocal; }
  [[nodiscard]] ReplicaHost PlaceOf(std::size_t node) const {
    return Local() ? nodes_[node]->Local() : nodes_[node]->place;
  }
  [[nodiscard]] std::vector<ReplicaHost> Pipeline() const {
    std::vector<ReplicaHost> places;
    for (std::size_t i = 0; i < nodes_.size(); ++i) places.push_back(PlaceOf(i));
    return places;
  }
  // Returns the failure that writing all of `data` ends with.
  static Status WriteAll(BlockWriter& writer, std::string_view data) {
    const Status status = writer.Write(data);
    return status.ok() ? writer.Finish().status() : status;
  }
  [[nodiscard]] RawWriter OpenRaw(std::uint64_t block, std::size_t nodes = 1) const {
    std::vector<ReplicaHost> pipeline = Pipeline();
    pipeline.resize(nodes);
    return RawWriter(block, pipeline);
  }
};

TEST_P(BlockWriteTest, EveryNodeHoldsTheSameBytes) {
  for (int i = 0; i < 3; ++i) AddDiskNode();
  std::uint64_t block = 0;
  for (const std::size_t nodes : {std::size_t{1}, std::size_t{3}}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, kPacketBytes, 20 * kPacketBytes + 12345}) {
      const std::string data = RandomBytes(size, size);
      std::vector<ReplicaHost> pipeline = Pipeline();
      pipeline.resize(nodes);
      const auto writer = OpenWriter(++block, pipeline);
      const std::size_t step = 100'003;
      for (std::size_t at = 0; at < size; at += step)
        ASSERT_TRUE(writer->Write(std::string_view(data).substr(at, step)).ok());
      const auto written = writer->Finish();
      ASSERT_TRUE(written.ok()) << written.status().message();
      EXPECT_EQ(written->length, size);
      EXPECT_EQ(written->crc, StoredAs(block, data).crc);
      EXPECT_EQ(written->nodes.size(), nodes);
      for (std::size_t i = 0; i < nodes; ++i) {
        const auto stored = nodes_[i]->store->Read(block, 0, size);
        ASSERT_TRUE(stored.ok()) << stored.status().message();
        EXPECT_EQ(*stored, data);
        EXPECT_EQ(nodes_[i]->store->Open(block)->chunk_crcs, ChunkCrcs(data));
      }
    }
  }
}

TEST_P(BlockWriteTest, TellsTheObserverOfEveryNode) {
  for (int i = 0; i < 3; ++i) AddNode();
  WriteBlock(5, Pipeline(), "hello");
  for (const auto& node : nodes_) EXPECT_EQ(node->told.Received(), StoredAs(5, "hello"));
}

TEST_P(BlockWriteTest, ANodeThatDiesInTheMiddleCostsNothingButItself) {
  for (int i = 0; i < 3; ++i) AddNode();
  for (std::uint32_t victim = 0; victim < 3; ++victim) {
    const std::uint64_t block = 10 + victim;
    const std::string data = RandomBytes(30 * kPacketBytes + 777, victim);
    const auto writer = OpenWriter(block, Pipeline());
    ASSERT_TRUE(writer->Write(std::string_view(data).substr(0, 20 * kPacketBytes + 5)).ok());
    nodes_[victim]->server->Stop();
    ASSERT_FALSE(WriteAll(*writer, std::string_view(data).substr(20 * kPacketBytes + 5)).ok());
    std::string rest;
    std::vector<NodeId> failed;
    const auto saved = writer->Salvage(&rest, &failed);
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_THAT(failed, ElementsAre(NodeId{victim + 1}));
    EXPECT_EQ(saved->length + rest.size(), data.size());
    EXPECT_GE(saved->length, 4 * kPacketBytes);  // at most 16 packets were under way
    std::vector<ReplicaHost> survivors;
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (i == victim) continue;
      survivors.push_back(PlaceOf(i));
      const auto prefix = nodes_[i]->store->Read(block, 0, saved->length);
      ASSERT_TRUE(prefix.ok()) << prefix.status().message();
      EXPECT_EQ(*prefix + rest, data);
    }
    WriteBlock(block + 1000, survivors, rest);
    EXPECT_EQ(saved->crc, StoredAs(block, std::string_view(data).substr(0, saved->length)).crc);
    const StoredBlock next = StoredAs(block + 1000, rest);
    const auto whole = ReadAll({next.id, next.length, saved->length, survivors, next.crc}, 0, rest.size());
    EXPECT_EQ(data.substr(0, saved->length) + whole.bytes, data);
    nodes_[victim] = std::make_unique<Node>(NodeId{victim + 1}, MakeMemoryBlockStore(1 << 30), kStall);
  }
}

TEST_P(BlockWriteTest, AcknowledgedBytesWithoutAnyNodeAreLost) {
  AddNode();
  const auto writer = OpenWriter(1, Pipeline());
  ASSERT_TRUE(writer->Write(RandomBytes(20 * kPacketBytes, 1)).ok());
  nodes_[0]->server->Stop();
  ASSERT_FALSE(writer->Finish().ok());
  std::string rest;
  std::vector<NodeId> failed;
  EXPECT_EQ(writer->Salvage(&rest, &failed).status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed, ElementsAre(1_n));
}

TEST_P(BlockWriteTest, NothingAcknowledgedIsNothingLost) {
  AddNode();
  const auto writer = OpenWriter(1, Pipeline());
  ASSERT_TRUE(writer->Write("abc").ok());
  nodes_[0]->server->Stop();
  ASSERT_FALSE(writer->Finish().ok());
  std::string rest;
  std::vector<NodeId> failed;
  const auto saved = writer->Salvage(&rest, &failed);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->length, 0u);
  EXPECT_TRUE(saved->nodes.empty());
  EXPECT_EQ(rest, "abc");
}

TEST_P(BlockWriteTest, AFullDiskNamesItsNode) {
  for (const auto& [full, nodes] : {std::pair{1u, 1u}, {1u, 3u}, {2u, 3u}}) {
    SCOPED_TRACE(std::to_string(full) + " of " + std::to_string(nodes));
    nodes_.clear();
    for (std::uint32_t node = 1; node <= nodes; ++node) AddNode(node == full ? 5 * kPacketBytes : 1 << 30);
    const std::string data = RandomBytes(30 * kPacketBytes, 3);
    const auto writer = OpenWriter(1, Pipeline());
    const Status status = WriteAll(*writer, data);
    EXPECT_EQ(status.code(), StatusCode::kNoSpace);
    EXPECT_THAT(status.message(), HasSubstr("node " + std::to_string(full)));
    std::string rest;
    std::vector<NodeId> failed;
    const auto saved = writer->Salvage(&rest, &failed);
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_THAT(failed, ElementsAre(NodeId{full}));
    // Bytes that all had acknowledged stay on all; the full one can hold them.
    EXPECT_LE(saved->length, 5 * kPacketBytes);
    for (const NodeId node : saved->nodes) {
      EXPECT_EQ(*nodes_[node.value - 1]->store->Read(1, 0, saved->length) + rest, data);
    }
  }
}

// Each node would finish the block when it is asked again, with other bytes.
TEST_P(BlockWriteTest, ANodeWhoseSyncFailedHasNoReplica) {
  for (std::size_t victim = 0; victim < 3; ++victim) {
    SCOPED_TRACE(victim);
    nodes_.clear();
    std::vector<std::shared_ptr<std::atomic<bool>>> refuse;
    for (int i = 0; i < 3; ++i) AddFailingNode(refuse.emplace_back(std::make_shared<std::atomic<bool>>(false)));
    const std::string data = RandomBytes(20 * kPacketBytes + 99, victim);
    const auto writer = OpenWriter(1, Pipeline());
    *refuse[victim] = true;
    EXPECT_FALSE(WriteAll(*writer, data).ok());
    std::string rest;
    std::vector<NodeId> failed;
    const auto saved = writer->Salvage(&rest, &failed);
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_THAT(failed, ElementsAre(NodeId{static_cast<std::uint32_t>(victim) + 1}));
    ASSERT_EQ(saved->nodes.size(), 2u);
    for (const NodeId node : saved->nodes) {
      EXPECT_NE(node.value, victim + 1);
      EXPECT_EQ(*nodes_[node.value - 1]->store->Read(1, 0, saved->length) + rest, data);
    }
    EXPECT_FALSE(nodes_[victim]->store->Has(1));
  }
}

TEST_P(BlockWriteTest, WhenEverySyncFailedTheWriterIsToldWhy) {
  for (const int nodes : {1, 2}) {
    SCOPED_TRACE(nodes);
    nodes_.clear();
    for (int i = 0; i < nodes; ++i) AddFailingNode(std::make_shared<std::atomic<bool>>(true));
    const auto writer = OpenWriter(1, Pipeline());
    EXPECT_FALSE(WriteAll(*writer, RandomBytes(20 * kPacketBytes, 1)).ok());
    std::string rest;
    std::vector<NodeId> failed;
    const Status saved = writer->Salvage(&rest, &failed).status();
    EXPECT_EQ(saved.code(), StatusCode::kUnavailable);
    EXPECT_THAT(saved.message(), HasSubstr("none of its nodes has kept it"));
    EXPECT_THAT(saved.message(), HasSubstr("Input/output error"));
    for (const auto& node : nodes_) EXPECT_FALSE(node->store->Has(1));
  }
}

TEST_P(BlockWriteTest, ADeadNodeIsNamedWhenThePipelineIsMade) {
  for (int i = 0; i < 3; ++i) AddNode();
  for (std::uint32_t dead : {2u, 0u}) {
    nodes_[dead]->server->Stop();
    std::vector<NodeId> failed;
    EXPECT_FALSE(BlockWriter::Open(1, Pipeline(), kStall, &failed).ok());
    EXPECT_THAT(failed, ElementsAre(NodeId{dead + 1}));
  }
  WriteBlock(1, {PlaceOf(1)}, "the same block again, where it was refused before");
}

TEST_P(BlockWriteTest, ABlockIsWrittenOnce) {
  AddNode();
  WriteBlock(1, Pipeline(), "first");
  std::vector<NodeId> failed;
  EXPECT_EQ(BlockWriter::Open(1, Pipeline(), kStall, &failed).status().code(), StatusCode::kExists);
  EXPECT_EQ(*nodes_[0]->store->Read(1, 0, 5), "first");
}

TEST_P(BlockWriteTest, AWriterThatGoesAwayLeavesNothing) {
  for (int i = 0; i < 2; ++i) AddNode();
  ASSERT_TRUE(OpenWriter(1, Pipeline())->Write(RandomBytes(3 * kPacketBytes, 1)).ok());
  for (const auto& node : nodes_) {
    EXPECT_EQ(node->store->space().free, node->store->space().capacity);
    EXPECT_EQ(node->store->FinishAt(1, kPacketBytes).status().code(), StatusCode::kNotFound);
  }
}

TEST_P(BlockWriteTest, FinishAtEndsAWriteThatIsUnderWay) {
  AddNode();
  const std::string data = RandomBytes(20 * kPacketBytes, 1);
  const auto writer = OpenWriter(1, Pipeline());
  ASSERT_TRUE(writer->Write(data).ok());  // so at least 4 packets are acknowledged
  auto stream = net::BlockingStream::ConnectTcp("127.0.0.1", nodes_[0]->place.port, kStall);
  const auto closed = stream->Call(net::Operation::kFinishBlockAt, Encode(FinishRequest{1, 4 * kPacketBytes}));
  ASSERT_TRUE(closed.ok()) << closed.status().message();
  EXPECT_EQ(*nodes_[0]->store->Read(1, 0, 4 * kPacketBytes), data.substr(0, 4 * kPacketBytes));
  EXPECT_EQ(nodes_[0]->told.Received(), StoredAs(1, data.substr(0, 4 * kPacketBytes)));
  EXPECT_FALSE(writer->Finish().ok());
}

TEST_P(BlockWriteTest, HostilePacketsAreRefusedAndTheServerLives) {
  AddNode();
  Packet packet = PacketOf(0, RandomBytes(kPacketBytes, 1));
  std::string bad_header = EncodePacket(packet);
  bad_header[9] ^= 1;
  packet.offset = kPacketBytes;
  const std::string out_of_order = EncodePacket(packet);
  std::uint64_t block = 0;
  for (const std::string& attack : {bad_header, out_of_order, RandomBytes(kPacketHeaderBytes, 9)}) {
    RawWriter writer = OpenRaw(++block);
    ASSERT_TRUE(writer.stream->Send(attack).ok());
    std::string payload;
    EXPECT_EQ(writer.stream->ReceiveReply(&payload).status().code(), StatusCode::kUnavailable);
    auto stream = RawWriter::Connect(PlaceOf(0));
    const auto operation = Local() ? net::Operation::kWriteLocalBlock : net::Operation::kWriteBlock;
    EXPECT_EQ(stream->Call(operation, RandomBytes(40, block)).status().code(), StatusCode::kCorrupt);
  }
  WriteBlock(100, Pipeline(), "alive");
}

TEST_P(BlockWriteTest, BytesThatFailTheirChecksumOnTheWayAreRefused) {
  for (int i = 0; i < 2; ++i) AddNode();
  for (const std::size_t nodes : {std::size_t{1}, std::size_t{2}}) {
    std::string data = RandomBytes(kPacketBytes, 1);
    const Packet packet = PacketOf(0, data);
    data[100'000] ^= 4;
    RawWriter writer = OpenRaw(nodes, nodes);
    writer.Put(packet, data);
    const Ack ack = writer.NextAck();
    EXPECT_EQ(ack.failure.code(), StatusCode::kCorrupt);
    EXPECT_THAT(ack.failure.message(), HasSubstr("chunk 1"));
    EXPECT_THAT(ack.failed_nodes, ElementsAre(1_n));
  }
  WriteBlock(100, Pipeline(), "alive");
}

INSTANTIATE_TEST_SUITE_P(From, BlockWriteTest, testing::Values(Writer::kRemote, Writer::kLocal),
                         [](const auto& from) { return from.param == Writer::kLocal ? "Local" : "Remote"; });

}  // namespace
}  // namespace millrace::dfs
