// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "tests/hex.h"

namespace millrace::shuffle {
namespace {

SegmentHeader SomeHeader() {
  SegmentHeader header;
  header.attempt = MapAttemptId(JobId{}, 7, 2);
  header.segment = {
      .offset = 0, .length = 100, .raw_length = 300, .records = 20, .crc = 0x12345678, .compressed = true};
  return header;
}

// Applies `change`, and then makes the checksum right again.
std::string Changed(std::size_t at, std::uint64_t value, std::size_t size) {
  std::string bytes = EncodeSegmentHeader(SomeHeader());
  std::memcpy(bytes.data() + at, &value, size);
  const std::uint32_t crc = Crc32c(std::string_view(bytes).substr(0, bytes.size() - 4));
  std::memcpy(bytes.data() + bytes.size() - 4, &crc, sizeof crc);
  return bytes;
}

TEST(FetchWireTest, RequestsComeBack) {
  FetchRequest request{5, {}};
  for (std::uint32_t i = 0; i < kMaxFetch; ++i) request.attempts.push_back(MapAttemptId(JobId{9}, 0xffffffffu - i, i));
  const auto back = DecodeFetch(EncodeFetch(request));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->partition, 5u);
  EXPECT_EQ(back->attempts, request.attempts);
}

TEST(FetchWireTest, RefusesRequestsThatMakeNoSense) {
  const std::string good = EncodeFetch({5, {MapAttemptId(JobId{1}, 2, 3), MapAttemptId(JobId{1}, 300, 0)}});
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(DecodeFetch(good.substr(0, size)).ok()) << size;
  EXPECT_FALSE(DecodeFetch(good + "x").ok());
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{kMaxFetch + 1}, ~std::uint64_t{0}}) {
    Encoder out;
    out.U32(1);
    out.U32(1);
    out.Varint(count);
    EXPECT_EQ(DecodeFetch(out.bytes()).status().code(), StatusCode::kInvalid);
  }
  Encoder out;
  out.U32(1);
  out.U32(1);
  out.Varint(1);
  out.Varint(std::uint64_t{1} << 32);  // a map number of 33 bits
  out.Varint(0);
  EXPECT_EQ(DecodeFetch(out.bytes()).status().code(), StatusCode::kInvalid);
}

TEST(FetchWireTest, SegmentHeadersComeBack) {
  const std::string bytes = EncodeSegmentHeader(SomeHeader());
  ASSERT_EQ(bytes.size(), kSegmentHeaderBytes);
  const auto back = DecodeSegmentHeader(bytes);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->attempt, SomeHeader().attempt);
  EXPECT_EQ(back->segment.length, 100u);
  EXPECT_EQ(back->segment.raw_length, 300u);
  EXPECT_EQ(back->segment.records, 20u);
  EXPECT_EQ(back->segment.crc, 0x12345678u);
  EXPECT_TRUE(back->segment.compressed);
  EXPECT_EQ(back->segment.order, run::RecordOrder::kByKey);
  SegmentHeader unsorted = SomeHeader();
  unsorted.segment.order = run::RecordOrder::kAny;
  EXPECT_EQ(DecodeSegmentHeader(EncodeSegmentHeader(unsorted))->segment.order, run::RecordOrder::kAny);
}

TEST(FetchWireTest, NoticesEveryFlippedBitOfASegmentHeader) {
  const std::string good = EncodeSegmentHeader(SomeHeader());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(DecodeSegmentHeader(bad).status().code(), StatusCode::kCorrupt) << bit;
  }
}

TEST(FetchWireTest, RefusesNumbersThatCannotBe) {
  EXPECT_TRUE(DecodeSegmentHeader(Changed(0, 8, 4)).ok());     // another map
  EXPECT_FALSE(DecodeSegmentHeader(Changed(8, 200, 1)).ok());  // no such status
  EXPECT_FALSE(DecodeSegmentHeader(Changed(8, 2, 1)).ok());    // a failure with bytes
  EXPECT_FALSE(DecodeSegmentHeader(Changed(9, 4, 1)).ok());    // no such flag
  EXPECT_FALSE(DecodeSegmentHeader(Changed(9, 0, 1)).ok());    // uncompressed, but raw and stored length differ
  EXPECT_FALSE(DecodeSegmentHeader(Changed(10, 1, 1)).ok());
  EXPECT_FALSE(DecodeSegmentHeader(Changed(16, kMaxSegmentBytes + 1, 8)).ok());
  EXPECT_FALSE(DecodeSegmentHeader(Changed(16, 0, 8)).ok());    // records of no bytes
  EXPECT_FALSE(DecodeSegmentHeader(Changed(32, 151, 8)).ok());  // more records than fit
}

TEST(FetchWireTest, ARequestHasTheBytesOfItsFieldsInTheirOrder) {
  const FetchRequest request{5, {MapAttemptId(JobId{1}, 2, 3), MapAttemptId(JobId{1}, 300, 0)}};
  EXPECT_EQ(EncodeFetch(request), Hex("01000000 05000000 02 02 03 ac02 00"));
  EXPECT_EQ(DecodeFetch(Hex("01000000 05000000 02 02 03 ac02 00"))->attempts, request.attempts);
}

}  // namespace
}  // namespace millrace::shuffle
