// SPDX-License-Identifier: Apache-2.0
// Tests what only a writer on the first node's machine can do, rightly or wrongly. (What it has in common with others
// is in block_write_test.cc.)
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <future>

#include "base/net/bulk_handler.h"
#include "tests/dfs/data/nodes.h"
#include "tests/dfs/data/raw_writer.h"

namespace millrace::dfs {
namespace {

using net::Awaitable;
using net::Wire;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LocalWriteTest : public NodesTest {
 protected:
  // Returns the nodes with the first one on this machine and the others elsewhere.
  [[nodiscard]] std::vector<ReplicaHost> Through(std::size_t nodes) const {
    std::vector<ReplicaHost> pipeline = Pipeline();
    pipeline.resize(nodes);
    pipeline[0] = nodes_[0]->Local();
    return pipeline;
  }
};

TEST_F(LocalWriteTest, WritesWhatAWriterElsewhereWrites) {
  AddDiskNode();
  AddNode();
  for (const auto& node : nodes_) {
    ReplicaHost local = node->Local();
    local.port = 1;  // nothing listens there, so TCP would fail
    std::uint64_t block = 0;
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, kPacketBytes, 40 * kPacketBytes + 12345}) {
      const std::string data = RandomBytes(size, size);
      WriteBlock(++block, {local}, data);
      WriteBlock(block + 100, {node->place}, data);
      EXPECT_TRUE(*node->store->Read(block, 0, size) == data);
      const auto here = node->store->Open(block), there = node->store->Open(block + 100);
      EXPECT_EQ(here->length, there->length);
      EXPECT_EQ(here->chunk_crcs, there->chunk_crcs);
    }
  }
}

TEST_F(LocalWriteTest, OverTcpItIsRefused) {
  AddNode();
  auto stream = RawWriter::Connect(nodes_[0]->place);
  const std::string request = Encode(WriteRequest{1, 1, {}});
  EXPECT_EQ(stream->Call(net::Operation::kWriteLocalBlock, request).status().code(), StatusCode::kDenied);
  WriteBlock(1, Through(1), "nothing of it is left");
}

TEST_F(LocalWriteTest, WithoutTheSocketItGoesByTcp) {
  AddNode();
  ReplicaHost place = nodes_[0]->place;
  place.local_socket = nodes_[0]->local_socket + "-of-another-machine";
  WriteBlock(1, {place}, "over the network");
  EXPECT_EQ(*nodes_[0]->store->Read(1, 0, 16), "over the network");
}

TEST_F(LocalWriteTest, ANodeThatHangsUpOnUsIsWrittenToByTcp) {
  AddNode();
  net::BulkServerOptions options;
  options.bind = "127.0.0.1";
  options.local_socket = nodes_[0]->local_socket + "-of-another-user";
  options.max_local = 0;  // the connection is closed without a word, as for a peer of another user
  net::BulkServer foreign(options, MakeSilentLog());
  ASSERT_TRUE(foreign.Start().ok());
  ReplicaHost place = nodes_[0]->place;
  place.local_socket = options.local_socket;
  WriteBlock(1, {place}, "over the network");
  EXPECT_EQ(*nodes_[0]->store->Read(1, 0, 16), "over the network");
}

// The only node of a pipeline reads the file when it stores; one with another node after it reads when it forwards.
class LyingWriterTest : public LocalWriteTest, public testing::WithParamInterface<std::size_t> {
 protected:
  LyingWriterTest() {
    AddDiskNode();
    AddDiskNode();
  }
  // Announces two packets, and lets `spoil` change the file in between.
  void Refused(const std::function<void(int file)>& spoil) {
    RawWriter writer(1, Through(GetParam()));
    writer.Put(PacketOf(0, data_.substr(0, kPacketBytes)), data_.substr(0, kPacketBytes));
    ASSERT_EQ(writer.NextAck().length, kPacketBytes);
    spoil(writer.file.get());
    const Packet announced = PacketOf(kPacketBytes, data_.substr(kPacketBytes), true);
    ASSERT_TRUE(writer.stream->Send(EncodePacket(announced)).ok());
    const Ack ack = writer.NextAck();
    EXPECT_EQ(ack.failure.code(), StatusCode::kCorrupt) << ack.failure.message();
    EXPECT_THAT(ack.failed_nodes, ElementsAre(1_n));
    for (const auto& node : nodes_) EXPECT_THAT(node->store->List(), IsEmpty());
    // Bytes that were acknowledged before can be salvaged.
    auto stream = RawWriter::Connect(nodes_[0]->place);
    const auto closed = stream->Call(net::Operation::kFinishBlockAt, Encode(FinishRequest{1, kPacketBytes}));
    ASSERT_TRUE(closed.ok()) << closed.status().message();
    EXPECT_TRUE(*nodes_[0]->store->Read(1, 0, kPacketBytes) == data_.substr(0, kPacketBytes));
    WriteBlock(2, Through(GetParam()), "alive");
  }

  const std::string data_ = RandomBytes(2 * kPacketBytes, 1);
};

TEST_P(LyingWriterTest, ThatHasNotWrittenYet) {
  Refused([](int) {});
}

TEST_P(LyingWriterTest, ThatWroteOtherBytes) {
  Refused([this](int file) {
    std::string other = data_.substr(kPacketBytes);
    other[kChunkBytes + 7] ^= 1;
    ASSERT_TRUE(WriteAllAt(file, other, kPacketBytes, "file").ok());
  });
}

TEST_P(LyingWriterTest, ThatCutsTheFile) {
  Refused([this](int file) {
    ASSERT_TRUE(WriteAllAt(file, data_.substr(kPacketBytes), kPacketBytes, "file").ok());
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(2 * kPacketBytes - 1)), 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Nodes, LyingWriterTest, testing::Values(std::size_t{1}, std::size_t{2}));

TEST_F(LocalWriteTest, WhatTheWriterPutBehindTheEndIsCutOff) {
  AddDiskNode();
  const std::string data = RandomBytes(1000, 1);
  RawWriter writer(1, Through(1));
  ASSERT_TRUE(WriteAllAt(writer.file.get(), RandomBytes(5 * kPacketBytes, 2), 0, "file").ok());
  writer.Put(PacketOf(0, data, true), data);
  Ack ack;
  while (ack.failure.ok() && !ack.finished) ack = writer.NextAck();
  ASSERT_TRUE(ack.failure.ok()) << ack.failure.message();
  EXPECT_EQ(*nodes_[0]->store->Read(1, 0, 1000), data);
}

TEST_F(LocalWriteTest, ACopyToANodeOfThisMachineGoesByTcp) {
  for (int i = 0; i < 3; ++i) AddDiskNode();
  const std::string data = RandomBytes(7 * kPacketBytes + 3, 1);
  WriteBlock(1, Through(1), data);
  ReplicaHost target = nodes_[1]->place;
  target.local_socket = nodes_[2]->local_socket;
  std::promise<Status> done;
  nodes_[0]->block_server->Replicate(StoredAs(1, data), {target}, {},
                                     [&](const Status& status) { done.set_value(status); });
  const Status copied = done.get_future().get();
  ASSERT_TRUE(copied.ok()) << copied.message();
  EXPECT_TRUE(*nodes_[1]->store->Read(1, 0, data.size()) == data);
  EXPECT_FALSE(nodes_[2]->store->Has(1));
}

// A node that passes `file` and keeps the headers of the packets that it gets. Anything else between them ends the
// connection.
class HeaderTaker final : public net::BulkHandler {
 public:
  explicit HeaderTaker(Fd passed) : file(std::move(passed)) {}
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string) override {
    Status status = co_await wire->WriteReply({});
    if (status.ok()) status = co_await wire->SendDescriptor(file.get());
    Ack ack;
    while (status.ok()) {
      const std::string reply = net::EncodeReply(StatusCode::kOk, EncodeAck(ack));
      status = co_await wire->Write(reply);
      if (!status.ok() || ack.finished) break;
      std::string header(kPacketHeaderBytes, '\0');
      status = co_await wire->Read(header.data(), header.size());
      const Result<Packet> packet = DecodePacket(header);
      if (!status.ok() || !packet.ok()) break;
      packets.push_back(*packet);
      for (std::size_t i = 0; i < packet->chunks(); ++i) chunk_crcs.push_back(packet->crcs[i]);
      ack.length += packet->length;
      ack.finished = packet->last;
      ack.crc = BlockCrc(chunk_crcs);
    }
    co_return false;
  }
  const Fd file;
  std::vector<std::uint32_t> chunk_crcs;
  std::vector<Packet> packets;  // may be read once the writer has been answered or the server has stopped
};

class LocalWriterTest : public testing::Test {
 protected:
  // Starts a node of this kind, with number 7. Returns its address.
  ReplicaHost Start(Fd file) {
    net::BulkServerOptions options;
    options.bind = "127.0.0.1";
    options.local_socket = "millrace-local-write-test-" + std::to_string(SeedFromSystem());
    server_ = std::make_unique<net::BulkServer>(options, MakeSilentLog());
    taker_ = std::make_shared<HeaderTaker>(std::move(file));
    server_->Register(net::Operation::kWriteLocalBlock, taker_);
    EXPECT_TRUE(server_->Start().ok());
    ReplicaHost place;
    place.node = 7_n;
    place.host = "127.0.0.1";
    place.port = server_->port();
    place.local_socket = options.local_socket;
    return place;
  }

  std::unique_ptr<net::BulkServer> server_;
  std::shared_ptr<HeaderTaker> taker_;
};

TEST_F(LocalWriterTest, SendsHeadersAndPutsTheDataIntoTheFile) {
  const ReplicaHost place = Start(Fd(::memfd_create("block", MFD_CLOEXEC)));
  const std::string data = RandomBytes(20 * kPacketBytes + 99, 1);
  std::vector<NodeId> failed;
  const auto writer = BlockWriter::Open(1, {place}, kStall, &failed);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE((*writer)->Write(data).ok());
  const auto written = (*writer)->Finish();
  ASSERT_TRUE(written.ok()) << written.status().message();
  server_->Stop();
  ASSERT_EQ(taker_->packets.size(), 21u);
  for (const Packet& packet : taker_->packets) {
    const std::string_view piece = std::string_view(data).substr(packet.offset, packet.length);
    EXPECT_EQ(EncodePacket(packet), EncodePacket(PacketOf(packet.offset, piece, packet.last)));
  }
  std::string bytes(data.size(), '\0');
  ASSERT_TRUE(ReadExactlyAt(taker_->file.get(), bytes.data(), bytes.size(), 0, "file").ok());
  EXPECT_TRUE(bytes == data);
}

TEST_F(LocalWriterTest, AFullDiskUnderItsOwnWriteIsTheNodes) {
  const ReplicaHost place = Start(Fd(::open("/dev/full", O_RDWR | O_CLOEXEC)));
  const std::string data = RandomBytes(3 * kPacketBytes + 99, 1);
  std::vector<NodeId> failed;
  const auto writer = BlockWriter::Open(1, {place}, kStall, &failed);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  const Status full = (*writer)->Write(data);
  EXPECT_EQ(full.code(), StatusCode::kNoSpace);
  EXPECT_THAT(full.message(), HasSubstr("node 7"));
  EXPECT_EQ((*writer)->Finish().status().code(), StatusCode::kNoSpace);
  std::string rest;
  const auto saved = (*writer)->Salvage(&rest, &failed);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->length, 0u);
  EXPECT_TRUE(rest == data);
  EXPECT_THAT(failed, ElementsAre(7_n));
}

}  // namespace
}  // namespace millrace::dfs
