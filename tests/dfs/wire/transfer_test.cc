// SPDX-License-Identifier: Apache-2.0
// The bytes of the requests and replies of block transfer, written out by hand from base/bytes.h and the structs of
// dfs/wire/transfer.h: programs of other versions send and take them.
#include "dfs/wire/transfer.h"

#include <gtest/gtest.h>

#include "base/tls/token.h"
#include "dfs/wire/write_order.h"
#include "tests/hex.h"

namespace millrace::dfs {
namespace {

WriteRequest AWrite() {
  return {.block = 7,
          .node = NodeId{3},
          .rest = {{NodeId{4}, "h", 7000, "", "", ""}, {NodeId{5}, "", 65535, "", "", ""}},
          .expected = BlockContent{70'000, 9},
          .token = "tok"};
}
const char kWrite[] =
    "0700000000000000 03000000 02"
    "  04000000 01'h' 581b0000  05000000 00 ffff0000"
    "  01 7011010000000000 09000000  03'tok'";

TEST(TransferTest, ARequestToWrite) {
  EXPECT_EQ(Encode(AWrite()), Hex(kWrite));
  const Result<WriteRequest> read = DecodeWriteRequest(Hex(kWrite));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(Encode(*read), Hex(kWrite));
  EXPECT_EQ(read->rest[1].node, NodeId{5});
  EXPECT_EQ(read->rest[1].port, 65535);
  EXPECT_EQ(read->expected->length, 70'000u);

  const WriteRequest least{.block = 1, .node = NodeId{2}, .rest = {}};
  EXPECT_EQ(Encode(least), Hex("0100000000000000 02000000 00 00"));
  EXPECT_FALSE(DecodeWriteRequest(Encode(least))->expected.has_value());
}

TEST(TransferTest, ARequestToWriteThatMakesNoSenseIsRefused) {
  const auto why = [](std::string_view hex) { return DecodeWriteRequest(Hex(hex)).status().message(); };
  EXPECT_EQ(why("0700000000000000 03000000 11"), "a request to write: a pipeline of 17 nodes");
  EXPECT_EQ(why("0700000000000000 03000000 00 00 00"), "a request to write: its token is empty");
  EXPECT_EQ(why("0700000000000000 03000000 00 00 01'tx'"), "a request to write: 1 bytes too many");
  EXPECT_NE(why("0700000000000000 03000000 01 04000000 00 00000100 00"), "") << "port 65536";
  WriteRequest named = AWrite();
  named.rest[0].host = std::string(256, 'h');
  EXPECT_EQ(DecodeWriteRequest(Encode(named)).status().message(), "a request to write: host or port out of range");
  const std::string whole = Encode(AWrite());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(DecodeWriteRequest(whole.substr(0, size)).ok(), size == whole.size() - 4) << "without its token";
}

TEST(TransferTest, OtherRequestsAndTheirReplies) {
  EXPECT_EQ(Encode(ReadRequest{1, 2, 3, "t"}), Hex("0100000000000000 0200000000000000 0300000000000000 01't'"));
  EXPECT_EQ(Encode(FinishRequest{1, 2, "t"}), Hex("0100000000000000 0200000000000000 01't'"));
  EXPECT_EQ(Encode(OpenRequest{1, "t"}), Hex("0100000000000000 01't'"));
  EXPECT_EQ(Encode(OpenRequest{1}), Hex("0100000000000000"));
  EXPECT_EQ(DecodeReadRequest(Encode(ReadRequest{1, 2, 3, "t"}))->size, 3u);
  EXPECT_EQ(DecodeFinishRequest(Encode(FinishRequest{1, 2, "t"}))->token, "t");
  EXPECT_EQ(DecodeOpenRequest(Hex("0100000000000000"))->token, "");
  EXPECT_EQ(DecodeOpenRequest(Hex("0100000000000000 00")).status().message(),
            "a request to open a block: its token is empty");

  const BlockChunks chunks{kChunkBytes + 1, {1, 2}};
  const std::string length = Encode(chunks).substr(0, 8);
  EXPECT_EQ(Encode(chunks), length + Hex("01000000 02000000"));
  EXPECT_EQ(DecodeBlockChunks(Encode(chunks))->crcs, chunks.crcs);
  EXPECT_EQ(DecodeBlockChunks(length + Hex("01000000")).status().message(),
            "a block's checksums: they do not fit its length");
  EXPECT_FALSE(DecodeBlockChunks(Encode(chunks) + "x").ok());
  EXPECT_EQ(EncodeCrc(0x01020304), Hex("04030201"));
  EXPECT_EQ(*DecodeCrc(Hex("04030201")), 0x01020304u);
}

TEST(TransferTest, Acknowledgements) {
  const std::string good = EncodeAck({.length = 5, .finished = true, .crc = 6, .failure = {}, .failed_nodes = {}});
  EXPECT_EQ(good, Hex("0500000000000000 01 06000000"));
  const Result<Ack> finished = DecodeAck(StatusCode::kOk, good);
  ASSERT_TRUE(finished.ok());
  EXPECT_TRUE(finished->finished && finished->length == 5 && finished->crc == 6);

  const std::string bad = EncodeAck({.failure = Corrupt("bad"), .failed_nodes = {NodeId{1}, NodeId{2}}});
  EXPECT_EQ(bad, Hex("02 01000000 02000000 03'bad'"));
  const Result<Ack> failed = DecodeAck(StatusCode::kCorrupt, bad);
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->failure.message(), "bad");
  EXPECT_EQ(failed->failed_nodes, (std::vector{NodeId{1}, NodeId{2}}));
  EXPECT_EQ(DecodeAck(StatusCode::kCorrupt, Hex("11")).status().message(), "an acknowledgement: 17 failed nodes");
  const std::string cut = EncodeAck({.failure = Corrupt(std::string(5000, 'm')), .failed_nodes = {}});
  EXPECT_EQ(cut.size(), 1 + 2 + 4096u);
}

TEST(TransferTest, TheTermsOfATokenToWrite) {
  const tls::TokenKey key(std::string(tls::TokenKey::kBytes, 'k'));
  const WriteOrder order{.pipeline = {{NodeId{4}, "h", 7000, "", "", ""}}, .subject = "ann"};
  const auto terms = [&](const WriteOrder& of) {
    return key.Open(MakeWriteToken(key, 9, of, 5 * kSecond), 9, tls::TokenUse::kWrite)->terms;
  };
  EXPECT_EQ(terms(order), Hex("00 01 04000000 01'h' 581b0000"));
  WriteOrder copy = order;
  copy.copy_of = BlockContent{70'000, 9};
  EXPECT_EQ(terms(copy), Hex("01 01 04000000 01'h' 581b0000 7011010000000000 09000000"));

  const Shown shown{.peer = {}, .local = true, .to = NodeId{4}};
  const auto of_terms = [&](const std::string& said) {
    return CheckWriteToken(key, key.MakeToken(9, "ann", 5 * kSecond, tls::TokenUse::kWrite, said), 9, shown, 0);
  };
  const Result<WriteOrder> read = of_terms(terms(order));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->pipeline[0].port, 7000);
  EXPECT_EQ(of_terms(Hex("00 11")).status().message(), "the token names a pipeline of 17 nodes");
  EXPECT_EQ(of_terms(Hex("00 01")).status().message(), "the token is of another version");
  EXPECT_EQ(of_terms("").status().code(), StatusCode::kInvalid);
}

TEST(TransferTest, TheBytesOfAToken) {
  const tls::TokenKey key(std::string(tls::TokenKey::kBytes, 'k'));
  const std::string token = key.MakeToken(9, "ann", 258 * kSecond, tls::TokenUse::kWrite, "terms");
  EXPECT_EQ(token.substr(0, token.size() - 32), Hex("01 0201000000000000 03'ann' 'terms'"));
}

}  // namespace
}  // namespace millrace::dfs
