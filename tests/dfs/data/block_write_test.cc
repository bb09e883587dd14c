// Writing through pipelines of real servers, and what happens when one of them fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/net/blocking_stream.h"
#include "dfs/wire/transfer.h"
#include "tests/dfs/data/nodes.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BlockWriteTest : public NodesTest {};

TEST_F(BlockWriteTest, EveryNodeHoldsTheSameBytes) {
  for (int i = 0; i < 3; ++i) AddDiskNode();
  std::uint64_t block = 0;
  for (const std::size_t nodes : {std::size_t{1}, std::size_t{3}}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, kPacketBytes, 20 * kPacketBytes + 12345}) {
      const std::string data = RandomBytes(size, size);
      std::vector<Place> pipeline = Pipeline();
      pipeline.resize(nodes);
      const auto writer = OpenWriter(++block, pipeline);
      const std::size_t step = 100'003;
      for (std::size_t at = 0; at < size; at += step)
        ASSERT_TRUE(writer->Write(std::string_view(data).substr(at, step)).ok());
      const auto written = writer->Finish();
      ASSERT_TRUE(written.ok()) << written.status().message();
      EXPECT_EQ(written->length, size);
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

TEST_F(BlockWriteTest, TellsTheObserverOfEveryNode) {
  for (int i = 0; i < 3; ++i) AddNode();
  WriteBlock(5, Pipeline(), "hello");
  for (const auto& node : nodes_) EXPECT_EQ(node->told.Received(), (StoredBlock{5, 5}));
}

TEST_F(BlockWriteTest, ANodeThatDiesInTheMiddleCostsNothingButItself) {
  for (int i = 0; i < 3; ++i) AddNode();
  for (std::uint32_t victim = 0; victim < 3; ++victim) {
    const std::uint64_t block = 10 + victim;
    const std::string data = RandomBytes(30 * kPacketBytes + 777, victim);
    const auto writer = OpenWriter(block, Pipeline());
    ASSERT_TRUE(writer->Write(std::string_view(data).substr(0, 20 * kPacketBytes + 5)).ok());
    nodes_[victim]->server->Stop();
    Status status = writer->Write(std::string_view(data).substr(20 * kPacketBytes + 5));
    const bool all_taken = status.ok();
    if (status.ok()) status = writer->Finish().status();
    ASSERT_FALSE(status.ok()) << all_taken;
    std::string rest;
    std::vector<std::uint32_t> failed;
    const auto saved = writer->Salvage(&rest, &failed);
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_THAT(failed, ElementsAre(victim + 1));
    EXPECT_EQ(saved->length + rest.size(), data.size());
    EXPECT_GE(saved->length, 4 * kPacketBytes);  // at most 16 packets were under way
    std::vector<Place> survivors;
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (i == victim) continue;
      survivors.push_back(nodes_[i]->place);
      const auto prefix = nodes_[i]->store->Read(block, 0, saved->length);
      ASSERT_TRUE(prefix.ok()) << prefix.status().message();
      EXPECT_EQ(*prefix + rest, data);
    }
    WriteBlock(block + 1000, survivors, rest);
    const auto whole = ReadAll({block + 1000, rest.size(), saved->length, survivors}, 0, rest.size());
    EXPECT_EQ(data.substr(0, saved->length) + whole.bytes, data);
    nodes_[victim] = std::make_unique<Node>(victim + 1, MakeMemoryBlockStore(1 << 30), kStall);
  }
}

TEST_F(BlockWriteTest, AcknowledgedBytesWithoutAnyNodeAreLost) {
  AddNode();
  const auto writer = OpenWriter(1, Pipeline());
  ASSERT_TRUE(writer->Write(RandomBytes(20 * kPacketBytes, 1)).ok());
  nodes_[0]->server->Stop();
  ASSERT_FALSE(writer->Finish().ok());
  std::string rest;
  std::vector<std::uint32_t> failed;
  EXPECT_EQ(writer->Salvage(&rest, &failed).status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed, ElementsAre(1));
}

TEST_F(BlockWriteTest, NothingAcknowledgedIsNothingLost) {
  AddNode();
  const auto writer = OpenWriter(1, Pipeline());
  ASSERT_TRUE(writer->Write("abc").ok());
  nodes_[0]->server->Stop();
  ASSERT_FALSE(writer->Finish().ok());
  std::string rest;
  std::vector<std::uint32_t> failed;
  const auto saved = writer->Salvage(&rest, &failed);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->length, 0u);
  EXPECT_TRUE(saved->nodes.empty());
  EXPECT_EQ(rest, "abc");
}

TEST_F(BlockWriteTest, AFullDiskNamesItsNode) {
  AddNode();
  AddNode(5 * kPacketBytes);
  AddNode();
  const std::string data = RandomBytes(30 * kPacketBytes, 3);
  const auto writer = OpenWriter(1, Pipeline());
  Status status = writer->Write(data);
  if (status.ok()) status = writer->Finish().status();
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("node 2"));
  std::string rest;
  std::vector<std::uint32_t> failed;
  const auto saved = writer->Salvage(&rest, &failed);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_THAT(failed, ElementsAre(2));
  // What all three had acknowledged stays on all three; the full one can hold it.
  EXPECT_LE(saved->length, 5 * kPacketBytes);
  for (const std::uint32_t node : saved->nodes) {
    EXPECT_EQ(*nodes_[node - 1]->store->Read(1, 0, saved->length) + rest, data);
  }
}

TEST_F(BlockWriteTest, ADeadNodeIsNamedWhenThePipelineIsMade) {
  for (int i = 0; i < 3; ++i) AddNode();
  for (std::uint32_t dead : {2u, 0u}) {
    nodes_[dead]->server->Stop();
    std::vector<std::uint32_t> failed;
    EXPECT_FALSE(BlockWriter::Open(1, Pipeline(), kStall, &failed).ok());
    EXPECT_THAT(failed, ElementsAre(dead + 1));
  }
  WriteBlock(1, {nodes_[1]->place}, "the same block again, where it was refused before");
}

TEST_F(BlockWriteTest, ABlockIsWrittenOnce) {
  AddNode();
  WriteBlock(1, Pipeline(), "first");
  std::vector<std::uint32_t> failed;
  EXPECT_EQ(BlockWriter::Open(1, Pipeline(), kStall, &failed).status().code(), StatusCode::kExists);
  EXPECT_EQ(*nodes_[0]->store->Read(1, 0, 5), "first");
}

TEST_F(BlockWriteTest, AWriterThatGoesAwayLeavesNothing) {
  for (int i = 0; i < 2; ++i) AddNode();
  ASSERT_TRUE(OpenWriter(1, Pipeline())->Write(RandomBytes(3 * kPacketBytes, 1)).ok());
  for (const auto& node : nodes_) {
    EXPECT_EQ(node->store->space().free, node->store->space().capacity);
    EXPECT_EQ(node->store->FinishAt(1, kPacketBytes).code(), StatusCode::kNotFound);
  }
}

TEST_F(BlockWriteTest, FinishAtEndsAWriteThatIsUnderWay) {
  AddNode();
  const std::string data = RandomBytes(20 * kPacketBytes, 1);
  const auto writer = OpenWriter(1, Pipeline());
  ASSERT_TRUE(writer->Write(data).ok());  // so at least 4 packets are acknowledged
  auto stream = net::BlockingStream::ConnectTcp("127.0.0.1", nodes_[0]->place.port, kStall);
  const auto closed = stream->Call(net::Operation::kFinishBlockAt, Encode(FinishRequest{1, 4 * kPacketBytes}));
  ASSERT_TRUE(closed.ok()) << closed.status().message();
  EXPECT_EQ(*nodes_[0]->store->Read(1, 0, 4 * kPacketBytes), data.substr(0, 4 * kPacketBytes));
  EXPECT_EQ(nodes_[0]->told.Received(), (StoredBlock{1, 4 * kPacketBytes}));
  EXPECT_FALSE(writer->Finish().ok());
}

TEST_F(BlockWriteTest, HostilePacketsAreRefusedAndTheServerLives) {
  AddNode();
  Packet packet;
  packet.length = kPacketBytes;
  const std::string data = RandomBytes(kPacketBytes, 1);
  const auto crcs = ChunkCrcs(data);
  std::copy(crcs.begin(), crcs.end(), packet.crcs.begin());
  std::string bad_header = EncodePacket(packet);
  bad_header[9] ^= 1;
  packet.offset = kPacketBytes;
  const std::string out_of_order = EncodePacket(packet);
  std::uint64_t block = 0;
  for (const std::string& attack : {bad_header, out_of_order, RandomBytes(kPacketHeaderBytes, 9)}) {
    auto stream = net::BlockingStream::ConnectTcp("127.0.0.1", nodes_[0]->place.port, kStall);
    ASSERT_TRUE(stream->Call(net::Operation::kWriteBlock, Encode(WriteRequest{++block, 1, {}})).ok());
    std::string payload;
    ASSERT_TRUE(stream->ReceiveReply(&payload).ok());
    ASSERT_TRUE(stream->Send(attack).ok());
    EXPECT_EQ(stream->ReceiveReply(&payload).status().code(), StatusCode::kUnavailable);
    stream = net::BlockingStream::ConnectTcp("127.0.0.1", nodes_[0]->place.port, kStall);
    EXPECT_EQ(stream->Call(net::Operation::kWriteBlock, RandomBytes(40, block)).status().code(), StatusCode::kCorrupt);
  }
  WriteBlock(100, Pipeline(), "alive");
}

TEST_F(BlockWriteTest, BytesThatFailTheirChecksumOnTheWayAreRefused) {
  AddNode();
  std::string data = RandomBytes(kPacketBytes, 1);
  Packet packet;
  packet.length = kPacketBytes;
  const auto crcs = ChunkCrcs(data);
  std::copy(crcs.begin(), crcs.end(), packet.crcs.begin());
  data[100'000] ^= 4;
  auto stream = net::BlockingStream::ConnectTcp("127.0.0.1", nodes_[0]->place.port, kStall);
  ASSERT_TRUE(stream->Call(net::Operation::kWriteBlock, Encode(WriteRequest{1, 1, {}})).ok());
  std::string payload;
  ASSERT_TRUE(stream->ReceiveReply(&payload).ok());
  ASSERT_TRUE(stream->Send(EncodePacket(packet), data).ok());
  const auto frame = stream->ReceiveReply(&payload);
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  const auto ack = DecodeAck(static_cast<StatusCode>(frame->kind), payload);
  ASSERT_TRUE(ack.ok());
  EXPECT_EQ(ack->failure.code(), StatusCode::kCorrupt);
  EXPECT_THAT(ack->failed_nodes, ElementsAre(1));
}

}  // namespace
}  // namespace millrace::dfs
