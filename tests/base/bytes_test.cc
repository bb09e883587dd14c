// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/random.h"

namespace millrace {
namespace {

TEST(BytesTest, LayoutIsLittleEndianAndLeb128) {
  Encoder out;
  out.U8(0xfe);
  out.U32(0x01020304);
  out.U64(0x0102030405060708);
  out.Varint(300);  // the example of the Protocol Buffers documentation
  out.Varint(127);
  out.Text("hi");
  EXPECT_EQ(out.bytes(), std::string("\xfe\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01\xac\x02\x7f\x02hi", 19));
}

TEST(BytesTest, WhatIsWrittenIsRead) {
  const std::uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, 1u << 31, ~std::uint64_t{0} >> 1, ~std::uint64_t{0}};
  Encoder out;
  for (const std::uint64_t n : numbers) {
    out.Varint(n);
    out.U64(n);
    out.U32(static_cast<std::uint32_t>(n));
    out.U8(static_cast<std::uint8_t>(n));
    out.Text(std::to_string(n));
  }
  const std::string bytes = out.Take();
  Decoder in(bytes);
  for (const std::uint64_t n : numbers) {
    EXPECT_EQ(in.Varint(), n);
    EXPECT_EQ(in.U64(), n);
    EXPECT_EQ(in.U32(), static_cast<std::uint32_t>(n));
    EXPECT_EQ(in.U8(), static_cast<std::uint8_t>(n));
    EXPECT_EQ(in.Text(), std::to_string(n));
  }
  EXPECT_TRUE(in.Finish("numbers").ok());
}

TEST(BytesTest, TheFirstFailureSticks) {
  Decoder in(std::string_view("\x01\x02\x03", 3));
  EXPECT_EQ(in.U32(), 0u);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.U8(), 0);
  EXPECT_EQ(in.Text(), "");
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(in.Finish("thing").code(), StatusCode::kCorrupt);
  EXPECT_NE(in.Finish("thing").message().find("thing"), std::string::npos);
}

TEST(BytesTest, LeftoversAreCorrupt) {
  Decoder in("ab");
  EXPECT_EQ(in.U8(), 'a');
  EXPECT_EQ(in.left(), 1u);
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(in.Finish("thing").code(), StatusCode::kCorrupt);
}

TEST(BytesTest, NumbersAndLengthsOutOfRange) {
  Decoder endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  endless.Varint();
  EXPECT_TRUE(endless.failed());
  Decoder too_large("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");  // bit 64
  too_large.Varint();
  EXPECT_TRUE(too_large.failed());
  Decoder cut("\x80");
  cut.Varint();
  EXPECT_TRUE(cut.failed());
  Decoder long_text("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 text");  // 2^64 - 1 bytes
  EXPECT_EQ(long_text.Text(), "");
  EXPECT_TRUE(long_text.failed());
}

TEST(BytesTest, RandomBytesNeverReadOutOfBounds) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random.Below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next());
    Decoder in(bytes);
    std::size_t taken = 0;
    while (!in.failed() && in.left() > 0) {
      const std::size_t before = in.left();
      switch (random.Below(4)) {
        case 0:
          in.U64();
          break;
        case 1:
          in.Varint();
          break;
        case 2:
          in.U8();
          break;
        default:
          EXPECT_LE(in.Text().size(), before);
      }
      taken += before - in.left();
    }
    EXPECT_LE(taken, bytes.size());
  }
}

// RFC 3720, appendix B.4.
TEST(Crc32cTest, VectorsOfTheRfc) {
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32c(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cu);
  const unsigned char read_command[48] = {0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                                          0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                                          0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
  EXPECT_EQ(Crc32c({reinterpret_cast<const char*>(read_command), sizeof read_command}), 0xd9963a56u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);  // the check value of the CRC catalogue
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, GoesOnWhereItLeftOff) {
  const std::string text(100'000, 'x');
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, text.size()}) {
    EXPECT_EQ(Crc32c(std::string_view(text).substr(cut), Crc32c(std::string_view(text).substr(0, cut))), Crc32c(text));
  }
}

}  // namespace
}  // namespace millrace
