// SPDX-License-Identifier: Apache-2.0
// Tests reading over the network and by descriptor, with replicas that fail, and replication between nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <future>

#include "base/net/blocking_stream.h"
#include "dfs/wire/transfer.h"
#include "tests/dfs/data/nodes.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BlockReadTest : public NodesTest {
 protected:
  // Flips a bit of a block on a disk node, where the layout in block_store.h puts it.
  void Damage(std::size_t node, std::uint64_t block, std::streamoff at, const std::string& suffix = "") {
    char name[40];
    std::snprintf(name, sizeof name, "/blocks/%02x/%016llx", static_cast<unsigned>(block & 0xff),
                  static_cast<unsigned long long>(block));
    std::fstream file(directories_[node].path() + name + suffix, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
    ASSERT_TRUE(file.good());
  }
  static std::string Hex(std::uint32_t crc) {
    char text[16];
    std::snprintf(text, sizeof text, "%08x", crc);
    return text;
  }
  // Returns a block that was written with these bytes, as the namespace knows it.
  LocatedBlock Located(std::uint64_t block, std::string_view data) {
    return {block, data.size(), 0, Pipeline(), StoredAs(block, data).crc};
  }
};

TEST_F(BlockReadTest, AnyRangeOverTheNetwork) {
  AddNode();
  const std::string data = RandomBytes(5 * kPacketBytes + 4321, 1);
  WriteBlock(1, Pipeline(), data);
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t offset = random.Below(data.size());
    const std::uint64_t size = random.Below(data.size() - offset + 1);
    const auto read = ReadAll(Located(1, data), offset, size);
    ASSERT_TRUE(read.status.ok()) << read.status.message();
    ASSERT_EQ(read.bytes, data.substr(offset, size)) << offset << " " << size;
  }
  const auto all = ReadAll(Located(1, data), 0, data.size());
  EXPECT_EQ(all.bytes, data);
  EXPECT_EQ(all.source, ReadSource::kRemote);
  EXPECT_EQ(ReadAll(Located(1, data), 1, data.size()).status.code(), StatusCode::kInvalid);
}

TEST_F(BlockReadTest, LocalReplicasAreReadByDescriptor) {
  AddDiskNode();
  const std::string data = RandomBytes(3 * kPacketBytes + 99, 1);
  WriteBlock(1, Pipeline(), data);
  LocatedBlock block = Located(1, data);
  block.replicas = {nodes_[0]->Local()};
  block.replicas[0].port = 1;  // nothing listens there, so TCP would fail
  const auto read = ReadAll(block, kChunkBytes - 1, 2 * kPacketBytes);
  ASSERT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.bytes, data.substr(kChunkBytes - 1, 2 * kPacketBytes));
  EXPECT_EQ(read.source, ReadSource::kLocal);
  const auto mapped = MapLocalBlock(block, {});
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_EQ(mapped->bytes(), data);
  EXPECT_EQ(MapLocalBlock(Located(1, data), {}).status().code(), StatusCode::kNotFound);
}

TEST_F(BlockReadTest, WhatIsPassedIsWhatTheServerIsToldToMakeOfIt) {
  AddDiskNode();
  const std::string data = RandomBytes(kPacketBytes, 1);
  WriteBlock(1, Pipeline(), data);
  LocatedBlock block = Located(1, data);
  block.replicas = {nodes_[0]->Local()};
  int passed = 0;
  nodes_[0]->block_server->PassBy([&passed](const Fd& file) -> Result<Fd> {
    ++passed;
    return Fd(::dup(file.get()));
  });
  EXPECT_EQ(ReadAll(block, 0, data.size()).source, ReadSource::kLocal);
  EXPECT_EQ(passed, 1);
  nodes_[0]->block_server->PassBy([](const Fd&) -> Result<Fd> { return Unavailable("not today"); });
  const auto read = ReadAll(block, 0, data.size());
  EXPECT_EQ(read.bytes, data) << read.status.message();
  EXPECT_EQ(read.source, ReadSource::kRemote);
}

TEST_F(BlockReadTest, AnEmptyBlockCanBeMapped) {
  AddDiskNode();
  WriteBlock(1, Pipeline(), "");
  const auto mapped = MapLocalBlock({1, 0, 0, {nodes_[0]->Local()}}, {});
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_TRUE(mapped->bytes().empty());
}

TEST_F(BlockReadTest, DescriptorsArePassedLocallyOnly) {
  AddNode();
  WriteBlock(1, Pipeline(), "abc");
  auto stream = net::BlockingStream::ConnectTcp("127.0.0.1", nodes_[0]->place.port, kStall);
  EXPECT_EQ(stream->Call(net::Operation::kOpenLocalBlock, Encode(OpenRequest{1})).status().code(), StatusCode::kDenied);
}

TEST_F(BlockReadTest, ADamagedReplicaIsReportedAndTheNextOneGoesOn) {
  AddDiskNode();
  AddDiskNode();
  const std::string data = RandomBytes(8 * kPacketBytes, 1);
  WriteBlock(1, Pipeline(), data);
  Damage(0, 1, 5 * kPacketBytes + 3);
  const auto read = ReadAll(Located(1, data), 100, data.size() - 200);
  ASSERT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.bytes, data.substr(100, data.size() - 200));
  EXPECT_THAT(read.bad, ElementsAre(1_n));

  LocatedBlock local = Located(1, data);
  local.replicas[0] = nodes_[0]->Local();
  const auto mixed = ReadAll(local, 0, data.size());
  EXPECT_EQ(mixed.bytes, data);
  EXPECT_THAT(mixed.bad, ElementsAre(1_n));
  EXPECT_EQ(mixed.source, ReadSource::kRemote);
  std::vector<NodeId> bad;
  EXPECT_EQ(MapLocalBlock(local, [&](std::uint64_t, NodeId node) { bad.push_back(node); }).status().code(),
            StatusCode::kNotFound);
  EXPECT_THAT(bad, ElementsAre(1_n));
}

TEST_F(BlockReadTest, WhenAllReplicasAreDamagedTheReadIsCorrupt) {
  AddDiskNode();
  AddDiskNode();
  const std::string data = RandomBytes(kPacketBytes, 1);
  WriteBlock(1, Pipeline(), data);
  Damage(0, 1, 3);
  Damage(1, 1, 3);
  const auto read = ReadAll(Located(1, data), 0, data.size());
  EXPECT_EQ(read.status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(read.status.message(), HasSubstr("node 1"));
  EXPECT_THAT(read.status.message(), HasSubstr("node 2"));
  EXPECT_THAT(read.bytes, IsEmpty());
  EXPECT_THAT(read.bad, ElementsAre(1_n, 2_n));
}

TEST_F(BlockReadTest, DamagedChecksumsAreNoticedByTheNode) {
  AddDiskNode();
  const std::string data = RandomBytes(kPacketBytes, 1);
  WriteBlock(1, Pipeline(), data);
  Damage(0, 1, 18, ".crc");
  EXPECT_EQ(ReadAll(Located(1, data), 0, 10).status.code(), StatusCode::kCorrupt);
  EXPECT_EQ(nodes_[0]->told.Corrupt(), 1u);
}

TEST_F(BlockReadTest, AServerThatStopsInTheMiddleIsReplaced) {
  AddNode();
  AddNode();
  const std::string data = RandomBytes(64 << 20, 1);  // more than sockets hold
  WriteBlock(1, Pipeline(), data);
  std::string bytes;
  const auto sink = [&](std::string_view piece) {
    if (bytes.empty()) nodes_[0]->server->Stop();
    bytes.append(piece);
    return true;
  };
  std::vector<NodeId> bad;
  const auto bad_replica = [&](std::uint64_t, NodeId node) { bad.push_back(node); };
  const Status read = ReadBlock(Located(1, data), 7, data.size() - 7, kStall, bad_replica, sink);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_TRUE(bytes == data.substr(7));
  EXPECT_THAT(bad, IsEmpty());  // it may come back, with a sound replica
}

TEST_F(BlockReadTest, AReplicaThatIsNotThereIsReported) {
  AddNode();
  AddNode();
  WriteBlock(1, {nodes_[1]->place}, "abc");
  const auto read = ReadAll(Located(1, "abc"), 0, 3);
  EXPECT_EQ(read.bytes, "abc");
  EXPECT_THAT(read.bad, ElementsAre(1_n));
  EXPECT_EQ(ReadAll(Located(2, "abc"), 0, 3).status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(ReadAll({1, 3, 0, {}}, 0, 3).status.code(), StatusCode::kUnavailable);
}

TEST_F(BlockReadTest, AReplicaOfAnotherLengthIsBad) {
  AddNode();
  WriteBlock(1, Pipeline(), "abcdef");
  const auto read = ReadAll(Located(1, "abc"), 0, 3);
  EXPECT_EQ(read.status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(read.bad, ElementsAre(1_n));
}

TEST_F(BlockReadTest, TheSinkMayStop) {
  AddNode();
  const std::string data = RandomBytes(3 * kPacketBytes, 1);
  WriteBlock(1, Pipeline(), data);
  int pieces = 0;
  const auto sink = [&](std::string_view) { return ++pieces < 2; };
  EXPECT_EQ(ReadBlock(Located(1, data), 0, 3 * kPacketBytes, kStall, {}, sink).code(), StatusCode::kCancelled);
  EXPECT_EQ(pieces, 2);
}

// Another cluster's server holds a sound block of the same number and length with other bytes. Its own checks find
// nothing wrong; a comparison with what the namespace knows does.
class ForeignReplicaTest : public BlockReadTest {
 protected:
  void SetUp() override {
    AddDiskNode();
    AddDiskNode();
    WriteBlock(1, {nodes_[0]->place}, foreign_);
    WriteBlock(1, {nodes_[1]->place}, ours_);
  }
  const std::string ours_ = RandomBytes(12 * kChunkBytes + 99, 1);
  const std::string foreign_ = RandomBytes(12 * kChunkBytes + 99, 2);
};

TEST_F(ForeignReplicaTest, IsReportedAndTheNextOneRead) {
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{0, ours_.size()}, {70'000, 10}}) {
    const auto read = ReadAll(Located(1, ours_), offset, size);
    ASSERT_TRUE(read.status.ok()) << read.status.message();
    EXPECT_TRUE(read.bytes == ours_.substr(offset, size));
    EXPECT_THAT(read.bad, ElementsAre(1_n));
  }
}

TEST_F(ForeignReplicaTest, IsReportedWhenItIsOnThisMachine) {
  LocatedBlock block = Located(1, ours_);
  block.replicas[0] = nodes_[0]->Local();
  const auto read = ReadAll(block, 0, ours_.size());
  ASSERT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_TRUE(read.bytes == ours_);
  EXPECT_THAT(read.bad, ElementsAre(1_n));
  std::vector<NodeId> bad;
  const auto mapped = MapLocalBlock(block, [&](std::uint64_t, NodeId node) { bad.push_back(node); });
  EXPECT_EQ(mapped.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(bad, ElementsAre(1_n));
}

TEST_F(ForeignReplicaTest, AloneIsAnErrorThatSaysWhatWasFoundWhere) {
  for (const ReplicaHost& place : {nodes_[0]->place, nodes_[0]->Local()}) {
    LocatedBlock block = Located(1, ours_);
    block.replicas = {place};
    for (const std::uint64_t size : {ours_.size(), std::size_t{1}}) {
      const auto read = ReadAll(block, 0, size);
      EXPECT_EQ(read.status.code(), StatusCode::kCorrupt);
      EXPECT_THAT(read.status.message(), HasSubstr("node 1"));
      EXPECT_THAT(read.status.message(), HasSubstr(Hex(StoredAs(1, foreign_).crc) + " instead of "));
      EXPECT_THAT(read.status.message(), HasSubstr(Hex(StoredAs(1, ours_).crc)));
      EXPECT_THAT(read.bytes, IsEmpty());
    }
  }
}

class ReplicateTest : public BlockReadTest {
 protected:
  Status Replicate(Node& from, const StoredBlock& block, const std::vector<ReplicaHost>& to) {
    std::promise<Status> done;
    from.block_server->Replicate(block, to, {}, [&](const Status& status) { done.set_value(status); });
    return done.get_future().get();
  }
};

TEST_F(ReplicateTest, CopiesABlockToOthers) {
  for (int i = 0; i < 3; ++i) AddNode();
  const std::string data = RandomBytes(7 * kPacketBytes + 3, 1);
  WriteBlock(1, {nodes_[0]->place}, data);
  const Status done = Replicate(*nodes_[0], StoredAs(1, data), {nodes_[1]->place, nodes_[2]->place});
  ASSERT_TRUE(done.ok()) << done.message();
  for (int i : {1, 2}) {
    EXPECT_EQ(*nodes_[i]->store->Read(1, 0, data.size()), data);
    EXPECT_EQ(nodes_[i]->told.Received(), StoredAs(1, data));
  }
  EXPECT_EQ(Replicate(*nodes_[0], StoredAs(1, data), {nodes_[1]->place}).code(), StatusCode::kExists);
}

// Without the report its master would wait for the copy until it gives the copy up, which takes minutes.
TEST_F(ReplicateTest, ABlockThatIsNotThereIsReported) {
  for (int i = 0; i < 2; ++i) AddNode();
  EXPECT_EQ(Replicate(*nodes_[0], StoredAs(2, "x"), {nodes_[1]->place}).code(), StatusCode::kNotFound);
  EXPECT_EQ(nodes_[0]->told.Corrupt(), 2u);
}

TEST_F(ReplicateTest, AForeignReplicaIsReportedAndNeverCopied) {
  for (int i = 0; i < 2; ++i) AddNode();
  WriteBlock(1, {nodes_[0]->place}, RandomBytes(kPacketBytes, 1));
  const StoredBlock ours = StoredAs(1, RandomBytes(kPacketBytes, 2));
  const Status done = Replicate(*nodes_[0], ours, {nodes_[1]->place});
  ASSERT_EQ(done.code(), StatusCode::kCorrupt);
  EXPECT_EQ(nodes_[0]->told.Corrupt(), 1u);
  EXPECT_TRUE(nodes_[1]->store->List().empty());
}

// A source that does not check, because it was told nothing or because its memory fails.
TEST_F(ReplicateTest, TargetsFinishNothingElse) {
  for (int i = 0; i < 2; ++i) AddNode();
  const std::string data = RandomBytes(3 * kPacketBytes + 7, 1);
  for (const BlockContent& other :
       {StoredAs(1, RandomBytes(data.size(), 2)).content(), BlockContent{data.size() + 1, StoredAs(1, data).crc}}) {
    std::vector<NodeId> failed;
    auto writer = BlockWriter::Open(1, Pipeline(), kStall, &failed, other);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    ASSERT_TRUE((*writer)->Write(data).ok());
    const auto finished = (*writer)->Finish();
    EXPECT_EQ(finished.status().code(), StatusCode::kCorrupt);
    EXPECT_THAT(finished.status().message(), HasSubstr("node 2"));  // the last one finishes first
    writer->reset();
    for (const auto& node : nodes_) {
      EXPECT_TRUE(node->store->List().empty());
      EXPECT_EQ(node->store->space().free, node->store->space().capacity);
    }
  }
}

TEST_F(ReplicateTest, DamageIsReportedAndNeverCopied) {
  AddDiskNode();
  AddNode();
  const std::string data = RandomBytes(7 * kPacketBytes, 1);
  WriteBlock(1, {nodes_[0]->place}, data);
  Damage(0, 1, 6 * kPacketBytes);
  EXPECT_EQ(Replicate(*nodes_[0], StoredAs(1, data), {nodes_[1]->place}).code(), StatusCode::kCorrupt);
  EXPECT_EQ(nodes_[0]->told.Corrupt(), 1u);
  EXPECT_TRUE(nodes_[1]->store->List().empty());
  EXPECT_EQ(nodes_[1]->store->space().free, nodes_[1]->store->space().capacity);
}

}  // namespace
}  // namespace millrace::dfs
