// SPDX-License-Identifier: Apache-2.0
// Every operation of the bulk plane, and every number that is none, by TCP and on the local socket, with TLS and
// without, as everybody, with every kind of token: what a worker answers. What stands in kRows is served; all else is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/net/blocking_stream.h"
#include "base/net/bulk_server.h"
#include "base/tls/token.h"
#include "dfs/wire/transfer.h"
#include "dfs/wire/write_order.h"
#include "tests/base/tls/tls_fixture.h"
#include "tests/dfs/data/nodes.h"
#include "tests/fakes/memory_block_store.h"
#include "worker/daemon/shuffle/fetch_wire.h"
#include "worker/daemon/shuffle/map_output_server.h"
#include "worker/sandbox/task_directories.h"

namespace millrace::worker {
namespace {

using dfs::ReplicaHost;
using net::BlockingStream;
using net::Operation;
using testing::HasSubstr;

constexpr std::uint64_t kHeld = 17;  // a block that the worker has
constexpr NodeId kNode{1};
constexpr Micros kStall = 20 * kSecond;

enum class Token : std::uint8_t {
  kNone,
  kGarbage,
  kOfAnotherKey,
  kOfAnotherUse,  // for reading where it takes one for writing, and the other way round
  kOfAnotherBlock,
  kOfAnotherUser,
  kOfAnotherNode,  // of those that write
  kEnded,
  kGood,  // for a worker that writes: a client's, in which this node is not the first
  kCopy,  // the order of a copy
};
constexpr std::array kTokens = {
    Token::kNone,          Token::kGarbage,       Token::kOfAnotherKey, Token::kOfAnotherUse, Token::kOfAnotherBlock,
    Token::kOfAnotherUser, Token::kOfAnotherNode, Token::kEnded,        Token::kGood,         Token::kCopy};

const std::set<Token> kAll(kTokens.begin(), kTokens.end());

enum class By : std::uint8_t { kTcp, kLocalSocket };

struct Row {
  Operation operation;
  By by;
  bool tls;
  std::vector<std::string> callers;
  std::set<Token> served;
};

const std::vector<std::string> kUsers = {"client:ann", "client:bob", "task:ann"};
const std::vector<std::string> kWorker = {"worker:w2"};
const std::vector<std::string> kNobody = {"nobody"};
const std::vector<std::string> kEverybody = {"nobody", "client:ann", "client:bob", "task:ann", "worker:w2", "master"};

// A token for reading names no node: it is good at every replica.
const std::vector<Row> kRows = {
    {Operation::kReadBlock, By::kTcp, true, kUsers, {Token::kGood, Token::kOfAnotherNode}},
    {Operation::kReadBlock, By::kTcp, true, kWorker, {Token::kGood, Token::kOfAnotherNode}},
    {Operation::kReadBlock, By::kTcp, false, kNobody, kAll},
    {Operation::kWriteBlock, By::kTcp, true, kUsers, {Token::kGood}},
    {Operation::kWriteBlock, By::kTcp, true, kWorker, {Token::kGood, Token::kOfAnotherUser, Token::kCopy}},
    {Operation::kWriteBlock, By::kTcp, false, kNobody, {Token::kGood, Token::kOfAnotherUser, Token::kCopy}},
    // What has begun may be ended at any time.
    {Operation::kFinishBlockAt, By::kTcp, true, kUsers, {Token::kGood, Token::kEnded}},
    {Operation::kFinishBlockAt,
     By::kTcp,
     true,
     kWorker,
     {Token::kGood, Token::kOfAnotherUser, Token::kEnded, Token::kCopy}},
    {Operation::kFinishBlockAt,
     By::kTcp,
     false,
     kNobody,
     {Token::kGood, Token::kOfAnotherUser, Token::kEnded, Token::kCopy}},
    {Operation::kFetchRuns, By::kTcp, true, kWorker, kAll},
    {Operation::kFetchRuns, By::kTcp, false, kNobody, kAll},
    {Operation::kAskIncarnation, By::kTcp, false, kNobody, kAll},
    // On the machine itself the token is all that is looked at.
    {Operation::kOpenLocalBlock,
     By::kLocalSocket,
     true,
     kNobody,
     {Token::kGood, Token::kOfAnotherUser, Token::kOfAnotherNode}},
    {Operation::kOpenLocalBlock, By::kLocalSocket, false, kNobody, kAll},
    {Operation::kWriteLocalBlock, By::kLocalSocket, true, kNobody, {Token::kGood, Token::kOfAnotherUser}},
    {Operation::kWriteLocalBlock, By::kLocalSocket, false, kNobody, {Token::kGood, Token::kOfAnotherUser}},
};

bool Serves(Operation operation, By by, bool tls, const std::string& caller, Token token) {
  for (const Row& row : kRows) {
    if (row.operation == operation && row.by == by && row.tls == tls &&
        std::ranges::find(row.callers, caller) != row.callers.end())
      return row.served.contains(token);
  }
  return false;
}

bool MayBeAsked(Operation operation, By by, bool tls, const std::string& caller) {
  return std::ranges::any_of(kTokens, [&](Token token) { return Serves(operation, by, tls, caller, token); });
}

class BulkTableTest : public testing::TestWithParam<bool> {
 protected:
  BulkTableTest() {
    net::BulkServerOptions options;
    options.bind = "127.0.0.1";
    options.local_socket = "millrace-bulk-table-test-" + std::to_string(SeedFromSystem());
    if (GetParam()) options.credentials = authority_.Of("worker:w1");
    local_socket_ = options.local_socket;
    server_ = std::make_unique<net::BulkServer>(options, MakeSilentLog());
    blocks_ = std::make_unique<dfs::BlockServer>(*server_, *store_, dfs::BlockObserver(), MakeSilentLog());
    outputs_ = std::make_unique<shuffle::MapOutputServer>(*server_, *directories_, MakeSilentLog());
    incarnation_ = std::make_unique<net::IncarnationServer>(*server_);
    incarnation_->Is(7);
    EXPECT_EQ(server_->Start().message(), "");
    blocks_->UseKeys({kNode, GetParam() ? key_.bytes() : "", key_.bytes()});
    auto file = store_->Create(kHeld);
    EXPECT_TRUE((*file)->Append("held", dfs::ChunkCrcs("held")).ok());
    EXPECT_TRUE((*file)->Sync().ok());
    EXPECT_TRUE((*file)->Finish().ok());
  }
  ~BulkTableTest() override { server_->Stop(); }

  [[nodiscard]] Result<BlockingStream> Connect(By by, const std::string& caller) const {
    if (by == By::kLocalSocket) return BlockingStream::ConnectLocal(local_socket_, kStall);
    return BlockingStream::ConnectTcp("127.0.0.1", server_->port(), kStall,
                                      caller == "nobody" ? nullptr : authority_.OfAnybody(caller));
  }

  [[nodiscard]] std::vector<ReplicaHost> Pipeline(const std::string& caller, Token token) const {
    const ReplicaHost here{kNode, "127.0.0.1", server_->port(), {}, {}, {}};
    const ReplicaHost other{NodeId{2}, "127.0.0.1", 1, {}, {}, {}};
    if (token == Token::kOfAnotherNode) return {other};
    return caller == "worker:w2" ? std::vector{other, here} : std::vector{here};
  }

  [[nodiscard]] std::string TokenOf(Operation operation, const std::string& caller, Token kind,
                                    std::uint64_t block) const {
    const bool reads = operation == Operation::kReadBlock || operation == Operation::kOpenLocalBlock ||
                       operation == Operation::kFetchRuns;
    const tls::TokenKey& key = kind == Token::kOfAnotherKey ? other_key_ : key_;
    const Micros now = SystemClock().Now();
    const Micros until = kind == Token::kEnded ? now - kHour : now + kHour;
    const std::uint64_t of = kind == Token::kOfAnotherBlock ? block + 1 : block;
    const tls::PeerIdentity peer = caller == "nobody" ? tls::PeerIdentity() : tls::ParseIdentity(caller).value();
    std::string subject = peer.role == tls::Role::kWorker && !reads ? "ann" : tls::SubjectOf(peer);
    if (kind == Token::kOfAnotherUser) subject = "carl";
    if (kind == Token::kNone) return {};
    if (kind == Token::kGarbage) return "garbage";
    if (kind == Token::kCopy) {
      return dfs::MakeWriteToken(key, of, {Pipeline("", kind), {}, dfs::BlockContent{4, 7}}, until);
    }
    if (reads != (kind == Token::kOfAnotherUse)) return key.MakeToken(of, subject, until);
    return dfs::MakeWriteToken(key, of, {Pipeline(caller, kind), subject}, until);
  }

  [[nodiscard]] static std::string Request(Operation operation, std::uint64_t block, const std::string& token) {
    switch (operation) {
      case Operation::kReadBlock:
        return Encode(dfs::ReadRequest{block, 0, 0, token});
      case Operation::kOpenLocalBlock:
        return Encode(dfs::OpenRequest{block, token});
      case Operation::kFinishBlockAt:
        return Encode(dfs::FinishRequest{block, 0, token});
      case Operation::kWriteBlock:
      case Operation::kWriteLocalBlock:
        return Encode(dfs::WriteRequest{block, kNode, {}, {}, token});
      case Operation::kAskIncarnation:
        return std::string("\x07\0\0\0\0\0\0\0", 8);
      case Operation::kFetchRuns:
        return shuffle::EncodeFetch({0, {MapAttemptId(JobId{1}, 0, 0)}});
    }
    return "anything";
  }

  void Try(Operation operation, By by, const std::string& caller, Token token) {
    const bool reads = operation == Operation::kReadBlock || operation == Operation::kOpenLocalBlock;
    const std::uint64_t block = reads ? kHeld : ++last_block_;
    const std::string what = "operation " + std::to_string(static_cast<int>(operation)) +
                             (by == By::kTcp ? " by TCP" : " on the local socket") + " as " + caller + " with token " +
                             std::to_string(static_cast<int>(token));
    if (streams_.count({by, caller}) == 0) {
      auto made = Connect(by, caller);
      ASSERT_TRUE(made.ok()) << what << ": " << made.status().message();
      streams_.emplace(std::pair(by, caller), *std::move(made));
    }
    BlockingStream& stream = streams_.at({by, caller});
    const auto answer = stream.Call(operation, Request(operation, block, TokenOf(operation, caller, token, block)));
    const bool serves = Serves(operation, by, GetParam(), caller, token);
    EXPECT_EQ(answer.ok(), serves) << what << ": " << answer.status().message();
    ++(answer.ok() ? served_ : refused_);
    const bool stranger = GetParam() && by == By::kTcp && caller == "nobody";  // it does not even get a session
    if (answer.ok() || stranger) {
      streams_.erase({by, caller});  // what follows an answer is not this test's
    } else if (!MayBeAsked(operation, by, GetParam(), caller)) {
      EXPECT_EQ(answer.status().code(), StatusCode::kDenied) << what << ": " << answer.status().message();
    } else {
      EXPECT_EQ(answer.status().code(), StatusCode::kInvalid) << what << ": " << answer.status().message();
      EXPECT_THAT(answer.status().message(), HasSubstr("token")) << what;
    }
    EXPECT_TRUE(reads || !store_->Length(block).has_value()) << what;
  }

  const tls::TestAuthority authority_;
  const tls::TokenKey key_{tls::TokenKey::MakeRandom()}, other_key_{tls::TokenKey::MakeRandom()};
  const std::unique_ptr<dfs::BlockStore> store_ = dfs::MakeMemoryBlockStore(std::uint64_t{1} << 30);
  std::string local_socket_;
  std::unique_ptr<net::BulkServer> server_;
  std::unique_ptr<dfs::BlockServer> blocks_;
  // None: what is asked for here is no output of this worker's.
  const Result<sandbox::TaskDirectories> directories_ = sandbox::TaskDirectories::Open({});
  std::unique_ptr<shuffle::MapOutputServer> outputs_;
  std::unique_ptr<net::IncarnationServer> incarnation_;
  std::map<std::pair<By, std::string>, BlockingStream> streams_;
  std::uint64_t last_block_ = 1000;
  std::size_t served_ = 0, refused_ = 0;
};

TEST_P(BulkTableTest, EverybodyIsAnsweredAsTheTableSays) {
  std::size_t cells = 0;
  for (const By by : {By::kTcp, By::kLocalSocket}) {
    for (const std::string& caller : by == By::kLocalSocket || !GetParam() ? kNobody : kEverybody) {
      for (unsigned number = 0; number < 256; ++number) {
        const auto operation = static_cast<Operation>(number);
        const bool exists = std::ranges::any_of(kRows, [&](const Row& row) { return row.operation == operation; });
        for (const Token token : kTokens) {
          if (!exists && token != Token::kNone && token != Token::kGood) continue;
          Try(operation, by, caller, token);
          ++cells;
        }
      }
    }
  }
  std::size_t rows = 0;
  for (const Row& row : kRows) rows += row.tls == GetParam() ? row.callers.size() * row.served.size() : 0;
  EXPECT_EQ(served_, rows) << "every row was tried";
  std::printf("%zu cells: %zu served, %zu refused\n", cells, served_, refused_);
}

// A writer of protocol level 1 shows no token: the master has told the worker what may be written. On the local socket
// nobody knows who it is, so there the block is not written, and the writer comes by TCP.
TEST_P(BulkTableTest, WhatTheMasterAllowsAnOldWriterIsWrittenByTcpAsItsUserAlone) {
  constexpr std::uint64_t kAllowed = 500;
  blocks_->AllowWrite(kAllowed, TokenOf(Operation::kWriteBlock, "task:ann", Token::kGood, kAllowed));
  const auto write = [this](By by, const std::string& caller, Operation operation) {
    auto stream = Connect(by, caller);
    return stream.ok() ? stream->Call(operation, Request(operation, kAllowed, {})).status() : stream.status();
  };
  const Status local = write(By::kLocalSocket, "nobody", Operation::kWriteLocalBlock);
  EXPECT_EQ(local.code(), StatusCode::kUnavailable) << "it is hung up on: " << local.message();
  EXPECT_FALSE(store_->Has(kAllowed));
  if (GetParam()) {
    EXPECT_EQ(write(By::kTcp, "client:bob", Operation::kWriteBlock).code(), StatusCode::kInvalid);
  }
  const Status by_tcp = write(By::kTcp, GetParam() ? "task:ann" : "nobody", Operation::kWriteBlock);
  EXPECT_TRUE(by_tcp.ok()) << by_tcp.message();
}

std::string NameOf(const testing::TestParamInfo<bool>& param) { return param.param ? "WithTls" : "WithoutTls"; }
INSTANTIATE_TEST_SUITE_P(Both, BulkTableTest, testing::Bool(), NameOf);

}  // namespace
}  // namespace millrace::worker
