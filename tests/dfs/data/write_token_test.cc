// SPDX-License-Identifier: Apache-2.0
// Tests what a worker takes from whom once its master gives tokens for writing, with and without TLS: only what the
// master ordered, for this node, and onward to nobody but the node that the master named.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "base/net/blocking_stream.h"
#include "base/tls/token.h"
#include "dfs/wire/transfer.h"
#include "dfs/wire/write_order.h"
#include "tests/base/tls/tls_fixture.h"
#include "tests/dfs/data/nodes.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {
namespace {

using net::Operation;
using testing::HasSubstr;

// A machine of somebody else's: it listens, and nobody may come.
class Stranger {
 public:
  Stranger() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), at, size), 0);
    EXPECT_EQ(::listen(fd_.get(), 8), 0);
    EXPECT_EQ(::getsockname(fd_.get(), at, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // A connection stands in the queue before the one that made it knows.
  [[nodiscard]] bool SomebodyCame() const { return Fd(::accept(fd_.get(), nullptr, nullptr)).valid(); }

 private:
  const Fd fd_;
  std::uint16_t port_ = 0;
};

class WriteTokenTest : public NodesTest, public testing::WithParamInterface<bool> {
 protected:
  WriteTokenTest() {
    for (const char* name : {"worker:w1", "worker:w2", "worker:w3"}) {
      nodes_.push_back(std::make_unique<Node>(NextId(), MakeMemoryBlockStore(std::uint64_t{1} << 30), 60 * kSecond,
                                              GetParam() ? authority_.Of(name) : nullptr));
      Tell(*nodes_.back());
    }
  }

  void Tell(Node& node) { node.block_server->UseKeys({node.place.node, GetParam() ? key_.bytes() : "", key_.bytes()}); }
  [[nodiscard]] std::shared_ptr<tls::Credentials> As(const std::string& name) const {
    return GetParam() ? authority_.OfAnybody(name) : nullptr;
  }
  // Returns the pipeline through nodes 1 and 2. The block is bob's, unless a subject is given.
  [[nodiscard]] std::vector<ReplicaHost> OneAndTwo() const { return {nodes_[0]->place, nodes_[1]->place}; }
  [[nodiscard]] std::string TokenFor(const std::vector<ReplicaHost>& pipeline, const std::string& subject = "bob",
                                     Micros life = kHour) const {
    return MakeWriteToken(key_, kBlock, {pipeline, subject}, SystemClock().Now() + life);
  }
  Status Write(const std::vector<ReplicaHost>& pipeline, const std::string& token,
               const std::optional<BlockContent>& expected = {}) {
    std::vector<NodeId> failed;
    MILLRACE_ASSIGN(const auto writer,
                    BlockWriter::Open(kBlock, pipeline, kStall, &failed, expected, As("client:bob"), token));
    MILLRACE_TRY(writer->Write(data_));
    MILLRACE_ASSIGN(written_, writer->Finish());
    return Status::Ok();
  }
  Status Ask(Operation operation, const Node& node, const std::string& request, bool local = false) {
    auto stream = local ? net::BlockingStream::ConnectLocal(node.local_socket, kStall)
                        : net::BlockingStream::ConnectTcp("127.0.0.1", node.place.port, kStall, As("client:bob"));
    EXPECT_TRUE(stream.ok());
    return stream->Call(operation, request).status();
  }
  [[nodiscard]] bool AnyHasIt() const {
    return std::ranges::any_of(nodes_, [](const auto& node) { return node->store->Has(kBlock); });
  }

  static constexpr std::uint64_t kBlock = 17;
  const tls::TestAuthority authority_;
  const tls::TokenKey key_{tls::TokenKey::MakeRandom()};
  const std::string data_ = std::string(700'000, 'a') + std::string(700'000, 'b');
  WrittenBlock written_;
};

TEST_P(WriteTokenTest, ABlockGoesWhereTheMasterGaveItOut) {
  EXPECT_EQ(Write(OneAndTwo(), TokenFor(OneAndTwo())).message(), "");
  EXPECT_EQ(nodes_[0]->store->Length(kBlock), data_.size());
  EXPECT_EQ(nodes_[1]->store->Length(kBlock), data_.size());
}

TEST_P(WriteTokenTest, ByTheLocalSocketToo) {
  std::vector<ReplicaHost> pipeline = OneAndTwo();
  const std::string token = TokenFor(pipeline);
  pipeline[0] = nodes_[0]->Local();
  EXPECT_EQ(Write(pipeline, token).message(), "");
  EXPECT_EQ(nodes_[1]->store->Length(kBlock), data_.size());
}

// Whoever may read a block knows its number, its sum, and a token for reading; other bytes of the same sum can be made.
TEST_P(WriteTokenTest, WhoMayReadABlockCannotPutAnotherOfTheSameSumElsewhere) {
  ASSERT_EQ(Write(OneAndTwo(), TokenFor(OneAndTwo())).message(), "");
  const std::string read = key_.MakeToken(kBlock, "bob", SystemClock().Now() + kHour);
  const std::vector<ReplicaHost> third = {nodes_[2]->place};
  const std::optional<BlockContent> content = BlockContent{data_.size(), written_.crc};
  for (const std::string& token : {std::string(), read, TokenFor(OneAndTwo()), TokenFor(third, "bob", -kHour)}) {
    for (const ReplicaHost& place : {nodes_[2]->place, nodes_[2]->Local()}) {
      const Status put = Write({place}, token, content);
      EXPECT_EQ(put.code(), StatusCode::kInvalid);
      EXPECT_THAT(put.message(), HasSubstr("token"));
    }
    const Status finished = Ask(Operation::kFinishBlockAt, *nodes_[2], Encode(FinishRequest{kBlock, 65536, token}));
    EXPECT_FALSE(finished.ok());
  }
  EXPECT_FALSE(nodes_[2]->store->Has(kBlock));
}

TEST_P(WriteTokenTest, NobodyConnectsToAPlaceThatTheMasterDidNotName) {
  const Stranger stranger;
  for (const char* host : {"127.0.0.1", "localhost"}) {
    ReplicaHost foreign = nodes_[1]->place;
    foreign.host = host;
    foreign.port = stranger.port();
    ReplicaHost unnumbered = foreign;
    unnumbered.node = NodeId{9};
    for (const bool local : {false, true}) {
      const ReplicaHost first = local ? nodes_[0]->Local() : nodes_[0]->place;
      for (const std::string& token : {std::string(), TokenFor(OneAndTwo()), TokenFor({nodes_[0]->place})}) {
        for (const ReplicaHost& second : {foreign, unnumbered}) {
          EXPECT_EQ(Write({first, second}, token).code(), StatusCode::kInvalid);
        }
      }
    }
    if (GetParam()) {
      const std::vector<ReplicaHost> of_ann = {nodes_[0]->place, foreign};
      EXPECT_THAT(Write(of_ann, TokenFor(of_ann, "ann")).message(), HasSubstr("the token is for ann"));
    }
  }
  EXPECT_FALSE(stranger.SomebodyCame());
  EXPECT_FALSE(AnyHasIt());
}

TEST_P(WriteTokenTest, AWriteThatTakesLongerThanItsTokenIsFinished) {
  const std::vector<ReplicaHost> one = {nodes_[0]->place};
  auto stream = net::BlockingStream::ConnectTcp("127.0.0.1", one[0].port, kStall, As("client:bob"));
  ASSERT_TRUE(stream.ok());
  const std::string token = TokenFor(one);
  ASSERT_EQ(
      stream->Call(Operation::kWriteBlock, Encode(WriteRequest{kBlock, one[0].node, {}, {}, token})).status().message(),
      "");
  std::string payload;
  ASSERT_TRUE(stream->ReceiveReply(&payload).ok());
  const std::string piece = data_.substr(0, kPacketBytes);
  Packet packet;
  packet.length = kPacketBytes;
  const auto crcs = ChunkCrcs(piece);
  std::copy(crcs.begin(), crcs.end(), packet.crcs.begin());
  ASSERT_TRUE(stream->Send(EncodePacket(packet), piece).ok());
  ASSERT_TRUE(stream->ReceiveReply(&payload).ok());
  const std::string ended = TokenFor(one, "bob", -kHour);
  EXPECT_THAT(Write(one, ended).message(), HasSubstr("do the clocks"));
  EXPECT_EQ(Ask(Operation::kFinishBlockAt, *nodes_[0], Encode(FinishRequest{kBlock, kPacketBytes, ended})).message(),
            "");
  EXPECT_EQ(nodes_[0]->store->Length(kBlock), kPacketBytes);
}

TEST_P(WriteTokenTest, NobodyElseFinishesOrDiscardsWhatIsBeingWritten) {
  auto writer = [&] {
    std::vector<NodeId> failed;
    return BlockWriter::Open(kBlock, OneAndTwo(), kStall, &failed, {}, As("client:bob"), TokenFor(OneAndTwo()));
  }();
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE((*writer)->Write(data_).ok());
  const std::string other = MakeWriteToken(key_, kBlock + 1, {OneAndTwo(), "bob"}, SystemClock().Now() + kHour);
  for (const std::string& token : {std::string(), other, TokenFor({nodes_[2]->place})}) {
    EXPECT_EQ(Ask(Operation::kFinishBlockAt, *nodes_[1], Encode(FinishRequest{kBlock, 0, token})).code(),
              StatusCode::kInvalid);
  }
  const auto finished = (*writer)->Finish();
  EXPECT_TRUE(finished.ok()) << finished.status().message();
}

TEST_P(WriteTokenTest, ACopyTakesTheMastersOrderAndIsWhatTheOrderSays) {
  ASSERT_EQ(Write(OneAndTwo(), TokenFor(OneAndTwo())).message(), "");
  const StoredBlock block{kBlock, data_.size(), written_.crc};
  const std::vector<ReplicaHost> third = {nodes_[2]->place};
  const auto copy = [&](const std::string& token) {
    std::promise<Status> done;
    nodes_[0]->block_server->Replicate(block, {nodes_[2]->Local()}, token,
                                       [&](const Status& status) { done.set_value(status); });
    return done.get_future().get();
  };
  const auto order = [&](const BlockContent& content) {
    return MakeWriteToken(key_, kBlock, {third, {}, content}, SystemClock().Now() + kHour);
  };
  EXPECT_EQ(copy({}).code(), StatusCode::kInvalid);
  EXPECT_FALSE(copy(order({data_.size(), written_.crc + 1})).ok()) << "the order is of other bytes";
  EXPECT_FALSE(nodes_[2]->store->Has(kBlock));
  const std::string right = order({data_.size(), written_.crc});
  if (GetParam()) {
    EXPECT_THAT(Write(third, right).message(), HasSubstr("a copy that a worker makes"));
  }
  EXPECT_THAT(Write({nodes_[2]->Local()}, right).message(), HasSubstr("a copy that a worker makes"));
  EXPECT_EQ(copy(right).message(), "");
  EXPECT_EQ(nodes_[2]->store->Length(kBlock), data_.size());
}

TEST_P(WriteTokenTest, AProgramThatKnowsNoTokensWritesWhatTheMasterHasToldOf) {
  const std::string token = TokenFor(OneAndTwo());
  for (int i = 0; i < 2; ++i) nodes_[static_cast<std::size_t>(i)]->block_server->AllowWrite(kBlock, token);
  const std::string other = MakeWriteToken(key_, kBlock + 1, {OneAndTwo(), "bob"}, SystemClock().Now() + kHour);
  nodes_[2]->block_server->AllowWrite(kBlock, other);
  EXPECT_EQ(Write({nodes_[2]->place}, {}).code(), StatusCode::kInvalid);
  EXPECT_EQ(Write(OneAndTwo(), {}).message(), "");
  EXPECT_EQ(nodes_[1]->store->Length(kBlock), data_.size());
}

TEST_P(WriteTokenTest, OnTheMachineOfTheNodeItWritesByTcp) {
  nodes_[0]->block_server->AllowWrite(kBlock, TokenFor({nodes_[0]->place}));
  EXPECT_EQ(Write({nodes_[0]->Local()}, {}).message(), "");
  EXPECT_EQ(nodes_[0]->store->Length(kBlock), data_.size());
}

TEST_P(WriteTokenTest, AWorkerThatHasNotRegisteredTakesNothing) {
  if (!GetParam()) GTEST_SKIP() << "nodes without TLS are told at once in these tests";
  Node fresh(NodeId{4}, MakeMemoryBlockStore(std::uint64_t{1} << 30), 60 * kSecond, authority_.Of("worker:w4"));
  EXPECT_THAT(Write({fresh.place}, TokenFor({fresh.place})).message(), HasSubstr("has not registered"));
  fresh.block_server->UseKeys({NodeId{4}, key_.bytes(), {}});
  EXPECT_EQ(Write({fresh.place}, {}).message(), "") << "its master, of protocol level 1, gives no tokens";
}

std::string NameOf(const testing::TestParamInfo<bool>& param) { return param.param ? "WithTls" : "WithoutTls"; }
INSTANTIATE_TEST_SUITE_P(Both, WriteTokenTest, testing::Bool(), NameOf);

}  // namespace
}  // namespace millrace::dfs
