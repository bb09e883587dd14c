// SPDX-License-Identifier: Apache-2.0
// Tests block transfer with TLS: who may write, and who may read which block.
#include <gmock/gmock.h>

#include "base/net/blocking_stream.h"
#include "base/tls/token.h"
#include "dfs/wire/transfer.h"
#include "dfs/wire/write_order.h"
#include "tests/base/tls/tls_fixture.h"
#include "tests/dfs/data/nodes.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;

class SecuredTransferTest : public NodesTest {
 protected:
  SecuredTransferTest() {
    for (const char* name : {"worker:w1", "worker:w2"}) {
      nodes_.push_back(std::make_unique<Node>(NextId(), MakeMemoryBlockStore(std::uint64_t{1} << 30), 60 * kSecond,
                                              authority_.Of(name)));
    }
  }

  void TellKey() {
    for (const auto& node : nodes_) Tell(*node);
  }
  void Tell(Node& node) const { node.block_server->UseKeys({node.place.node, key_.bytes(), key_.bytes()}); }

  // Writes the block through both nodes.
  Status Write(const std::shared_ptr<tls::Credentials>& credentials) {
    std::vector<NodeId> failed;
    const auto writer = BlockWriter::Open(kBlock, Pipeline(), kStall, &failed, {}, credentials, WriteToken());
    if (!writer.ok()) return writer.status();
    MILLRACE_TRY((*writer)->Write(data_));
    MILLRACE_ASSIGN(written_, (*writer)->Finish());
    return Status::Ok();
  }

  Status Read(const std::shared_ptr<tls::Credentials>& credentials, const std::string& token, bool local = false) {
    const ReplicaHost place = local ? nodes_[1]->Local() : nodes_[1]->place;
    LocatedBlock block{kBlock, data_.size(), 0, {place}, written_.crc, token};
    std::string got;
    const auto sink = [&got](std::string_view piece) {
      got.append(piece);
      return true;
    };
    MILLRACE_TRY(ReadBlock(block, 0, data_.size(), kStall, {}, sink, nullptr, credentials));
    return got == data_ ? Status::Ok() : Corrupt("other bytes");
  }

  // Returns the token with which ann may write the block through all nodes.
  [[nodiscard]] std::string WriteToken() const {
    return MakeWriteToken(key_, kBlock, {Pipeline(), "ann"}, SystemClock().Now() + kHour);
  }
  [[nodiscard]] std::string TokenFor(const std::string& subject, std::uint64_t block = kBlock) const {
    return key_.MakeToken(block, subject, SystemClock().Now() + kHour);
  }

  static constexpr std::uint64_t kBlock = 17;
  const tls::TestAuthority authority_;
  const tls::TokenKey key_{tls::TokenKey::MakeRandom()};
  const std::string data_ = std::string(700'000, 'a') + std::string(700'000, 'b');
  WrittenBlock written_;
};

TEST_F(SecuredTransferTest, IsReadByWhomTheTokenIsFor) {
  TellKey();
  ASSERT_EQ(Write(authority_.Of("client:ann")).message(), "");
  const auto ann = authority_.Of("client:ann");
  EXPECT_EQ(Read(ann, TokenFor("ann")).message(), "");
  EXPECT_EQ(Read(authority_.Of("worker:w3"), TokenFor("worker:w3")).message(), "");
  EXPECT_THAT(Read(ann, TokenFor("bob")).message(), HasSubstr("the token is for bob"));
  EXPECT_THAT(Read(ann, TokenFor("ann", kBlock + 1)).message(), HasSubstr("not one that the master has made"));
  EXPECT_THAT(Read(ann, "").message(), HasSubstr("none was shown"));
  EXPECT_EQ(Read(ann, TokenFor("bob"), true).message(), "")
      << "on the machine itself the token is all that is looked at";
  EXPECT_FALSE(Read(nullptr, "", true).ok());
}

TEST_F(SecuredTransferTest, IsReadByNobodyBeforeTheWorkerKnowsTheKey) {
  EXPECT_THAT(Read(authority_.Of("client:ann"), TokenFor("ann")).message(), HasSubstr("has not registered"));
}

TEST_F(SecuredTransferTest, IsNotWrittenWithoutACertificate) {
  TellKey();
  EXPECT_FALSE(Write(nullptr).ok());
  EXPECT_THAT(Write(authority_.Of("master")).message(), HasSubstr("is refused to master"));
}

TEST_F(SecuredTransferTest, MapOutputsAreForWorkers) {
  for (const char* name : {"client:ann", "master"}) {
    auto stream = net::BlockingStream::ConnectTcp("127.0.0.1", nodes_[0]->place.port, kStall, authority_.Of(name));
    ASSERT_TRUE(stream.ok());
    EXPECT_THAT(stream->Call(net::Operation::kFetchRuns, "x").status().message(), HasSubstr("is refused to"));
  }
}

TEST_F(SecuredTransferTest, AWorkerCopiesABlockToAnother) {
  TellKey();
  ASSERT_EQ(Write(authority_.Of("client:ann")).message(), "");
  nodes_.push_back(std::make_unique<Node>(NextId(), MakeMemoryBlockStore(std::uint64_t{1} << 30), 60 * kSecond,
                                          authority_.Of("worker:w3")));
  Node& third = *nodes_.back();
  Tell(third);
  const BlockContent content{data_.size(), written_.crc};
  const std::string order = MakeWriteToken(key_, kBlock, {{third.place}, {}, content}, SystemClock().Now() + kHour);
  nodes_[0]->block_server->Replicate({kBlock, data_.size(), written_.crc}, {third.place}, order,
                                     [](const Status& done) { EXPECT_EQ(done.message(), ""); });
  EXPECT_EQ(third.told.Received().crc, written_.crc);
}

}  // namespace
}  // namespace millrace::dfs
