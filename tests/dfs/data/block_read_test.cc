// Reading over the network and by descriptor, with replicas that fail; and replication between nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  LocatedBlock Located(std::uint64_t block, std::uint64_t length) { return {block, length, 0, Pipeline()}; }
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
    const auto read = ReadAll(Located(1, data.size()), offset, size);
    ASSERT_TRUE(read.status.ok()) << read.status.message();
    ASSERT_EQ(read.bytes, data.substr(offset, size)) << offset << " " << size;
  }
  const auto all = ReadAll(Located(1, data.size()), 0, data.size());
  EXPECT_EQ(all.bytes, data);
  EXPECT_EQ(all.source, ReadSource::kRemote);
  EXPECT_EQ(ReadAll(Located(1, data.size()), 1, data.size()).status.code(), StatusCode::kInvalid);
}

TEST_F(BlockReadTest, LocalReplicasAreReadByDescriptor) {
  AddDiskNode();
  const std::string data = RandomBytes(3 * kPacketBytes + 99, 1);
  WriteBlock(1, Pipeline(), data);
  LocatedBlock block = Located(1, data.size());
  block.replicas = {nodes_[0]->Local()};
  block.replicas[0].port = 1;  // nobody there: TCP would fail
  const auto read = ReadAll(block, kChunkBytes - 1, 2 * kPacketBytes);
  ASSERT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.bytes, data.substr(kChunkBytes - 1, 2 * kPacketBytes));
  EXPECT_EQ(read.source, ReadSource::kLocal);
  const auto mapped = MapLocalBlock(block, {});
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_EQ(mapped->bytes(), data);
  EXPECT_EQ(MapLocalBlock(Located(1, data.size()), {}).status().code(), StatusCode::kNotFound);
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
  EXPECT_EQ(stream->Call(net::Operation::kOpenLocalBlock, EncodeBlockId(1)).status().code(), StatusCode::kInvalid);
}

TEST_F(BlockReadTest, ADamagedReplicaIsReportedAndTheNextOneGoesOn) {
  AddDiskNode();
  AddDiskNode();
  const std::string data = RandomBytes(8 * kPacketBytes, 1);
  WriteBlock(1, Pipeline(), data);
  Damage(0, 1, 5 * kPacketBytes + 3);
  const auto read = ReadAll(Located(1, data.size()), 100, data.size() - 200);
  ASSERT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.bytes, data.substr(100, data.size() - 200));
  EXPECT_THAT(read.bad, ElementsAre(1));

  LocatedBlock local = Located(1, data.size());
  local.replicas[0] = nodes_[0]->Local();
  const auto mixed = ReadAll(local, 0, data.size());
  EXPECT_EQ(mixed.bytes, data);
  EXPECT_THAT(mixed.bad, ElementsAre(1));
  EXPECT_EQ(mixed.source, ReadSource::kRemote);
  std::vector<std::uint32_t> bad;
  EXPECT_EQ(MapLocalBlock(local, [&](std::uint64_t, std::uint32_t node) { bad.push_back(node); }).status().code(),
            StatusCode::kNotFound);
  EXPECT_THAT(bad, ElementsAre(1));
}

TEST_F(BlockReadTest, WhenAllReplicasAreDamagedTheReadIsCorrupt) {
  AddDiskNode();
  AddDiskNode();
  const std::string data = RandomBytes(kPacketBytes, 1);
  WriteBlock(1, Pipeline(), data);
  Damage(0, 1, 3);
  Damage(1, 1, 3);
  const auto read = ReadAll(Located(1, data.size()), 0, data.size());
  EXPECT_EQ(read.status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(read.status.message(), HasSubstr("node 1"));
  EXPECT_THAT(read.status.message(), HasSubstr("node 2"));
  EXPECT_THAT(read.bytes, IsEmpty());
  EXPECT_THAT(read.bad, ElementsAre(1, 2));
}

TEST_F(BlockReadTest, DamagedChecksumsAreNoticedByTheNode) {
  AddDiskNode();
  WriteBlock(1, Pipeline(), RandomBytes(kPacketBytes, 1));
  Damage(0, 1, 18, ".crc");
  EXPECT_EQ(ReadAll(Located(1, kPacketBytes), 0, 10).status.code(), StatusCode::kCorrupt);
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
  std::vector<std::uint32_t> bad;
  const auto bad_replica = [&](std::uint64_t, std::uint32_t node) { bad.push_back(node); };
  const Status read = ReadBlock(Located(1, data.size()), 7, data.size() - 7, kStall, bad_replica, sink);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_TRUE(bytes == data.substr(7));
  EXPECT_THAT(bad, IsEmpty());  // it may come back, with a sound replica
}

TEST_F(BlockReadTest, AReplicaThatIsNotThereIsReported) {
  AddNode();
  AddNode();
  WriteBlock(1, {nodes_[1]->place}, "abc");
  const auto read = ReadAll(Located(1, 3), 0, 3);
  EXPECT_EQ(read.bytes, "abc");
  EXPECT_THAT(read.bad, ElementsAre(1));
  EXPECT_EQ(ReadAll(Located(2, 3), 0, 3).status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(ReadAll({1, 3, 0, {}}, 0, 3).status.code(), StatusCode::kUnavailable);
}

TEST_F(BlockReadTest, AReplicaOfAnotherLengthIsBad) {
  AddNode();
  WriteBlock(1, Pipeline(), "abcdef");
  const auto read = ReadAll(Located(1, 3), 0, 3);
  EXPECT_EQ(read.status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(read.bad, ElementsAre(1));
}

TEST_F(BlockReadTest, TheSinkMayStop) {
  AddNode();
  WriteBlock(1, Pipeline(), RandomBytes(3 * kPacketBytes, 1));
  int pieces = 0;
  const auto sink = [&](std::string_view) { return ++pieces < 2; };
  EXPECT_EQ(ReadBlock(Located(1, 3 * kPacketBytes), 0, 3 * kPacketBytes, kStall, {}, sink).code(),
            StatusCode::kCancelled);
  EXPECT_EQ(pieces, 2);
}

class ReplicateTest : public BlockReadTest {
 protected:
  Status Replicate(Node& from, const StoredBlock& block, const std::vector<Place>& to) {
    std::promise<Status> done;
    from.block_server->Replicate(block, to, [&](const Status& status) { done.set_value(status); });
    return done.get_future().get();
  }
};

TEST_F(ReplicateTest, CopiesABlockToOthers) {
  for (int i = 0; i < 3; ++i) AddNode();
  const std::string data = RandomBytes(7 * kPacketBytes + 3, 1);
  WriteBlock(1, {nodes_[0]->place}, data);
  const Status done = Replicate(*nodes_[0], {1, data.size()}, {nodes_[1]->place, nodes_[2]->place});
  ASSERT_TRUE(done.ok()) << done.message();
  for (int i : {1, 2}) {
    EXPECT_EQ(*nodes_[i]->store->Read(1, 0, data.size()), data);
    EXPECT_EQ(nodes_[i]->told.Received(), (StoredBlock{1, data.size()}));
  }
  EXPECT_EQ(Replicate(*nodes_[0], {1, data.size()}, {nodes_[1]->place}).code(), StatusCode::kExists);
  EXPECT_EQ(Replicate(*nodes_[0], {2, 1}, {nodes_[1]->place}).code(), StatusCode::kNotFound);
}

TEST_F(ReplicateTest, DamageIsReportedAndNeverCopied) {
  AddDiskNode();
  AddNode();
  const std::string data = RandomBytes(7 * kPacketBytes, 1);
  WriteBlock(1, {nodes_[0]->place}, data);
  Damage(0, 1, 6 * kPacketBytes);
  EXPECT_EQ(Replicate(*nodes_[0], {1, data.size()}, {nodes_[1]->place}).code(), StatusCode::kCorrupt);
  EXPECT_EQ(nodes_[0]->told.Corrupt(), 1u);
  EXPECT_TRUE(nodes_[1]->store->List().empty());
  EXPECT_EQ(nodes_[1]->store->space().free, nodes_[1]->store->space().capacity);
}

}  // namespace
}  // namespace millrace::dfs
