// SPDX-License-Identifier: Apache-2.0
#include "client/format/decompressor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/format/stream_decompressor.h"
#include "tests/compress/compress.h"

namespace millrace {
namespace {

using enum Compression;

// Decompresses a file that comes in pieces of `piece` bytes to a buffer of `room` bytes. Returns nothing if it fails.
std::optional<std::string> Decompressed(Compression compression, std::string_view file, std::size_t piece = 1 << 20,
                                        std::size_t room = 4096) {
  const std::unique_ptr<Decompressor> decompressor = MakeDecompressor(compression);
  std::string out, buffer(room, '\0');
  while (!file.empty()) {
    const std::string copy(file.substr(0, piece));  // so that the sanitizer sees who reads beyond it
    file.remove_prefix(copy.size());
    std::string_view in = copy;
    for (bool more = true; more;) {
      const std::size_t before = in.size();
      const Result<std::size_t> wrote = decompressor->Decompress(&in, buffer.data(), room);
      if (!wrote.ok()) {
        EXPECT_EQ(wrote.status().code(), StatusCode::kCorrupt);
        EXPECT_NE(wrote.status().message(), "");
        return std::nullopt;
      }
      EXPECT_LE(*wrote, room);
      out.append(buffer, 0, *wrote);
      more = *wrote == room || !in.empty();
      if (more && *wrote == 0 && in.size() == before) {
        ADD_FAILURE() << "it takes nothing and gives nothing";
        return std::nullopt;
      }
    }
  }
  if (!decompressor->AtBorder()) return std::nullopt;
  return out;
}

// Text that compresses somewhat.
std::string Text(std::size_t size, std::uint64_t seed = 1) {
  Random random(seed);
  std::string text;
  while (text.size() < size) {
    text += std::string(random.Below(8) + 1, static_cast<char>('a' + random.Below(26)));
    text += random.Below(8) == 0 ? '\n' : ' ';
  }
  text.resize(size);
  return text;
}

class DecompressorTest : public ::testing::TestWithParam<Compression> {};

TEST_P(DecompressorTest, ItComesBackInWhateverPiecesItComesAndGoes) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{70'000}, std::size_t{300'000}}) {
    const std::string text = Text(size), file = Compress(GetParam(), text);
    ASSERT_LT(size < 1000 ? 0 : file.size(), size) << "the text is too random";
    for (const std::size_t piece : {1, 2, 7, 1000, 1 << 20}) {
      for (const std::size_t room : {1, 333, 1 << 20}) {
        if (size > 1000 && piece * room < 1000) continue;  // it only takes long
        ASSERT_EQ(Decompressed(GetParam(), file, piece, room), text) << size << " " << piece << " " << room;
      }
    }
  }
}

TEST_P(DecompressorTest, MembersFollowEachOther) {
  const std::string one = Text(5000, 1), two = Text(300, 2), empty = Compress(GetParam(), "");
  const std::string file = empty + Compress(GetParam(), one) + empty + empty + Compress(GetParam(), two) + empty;
  for (const std::size_t piece : {1, 3, 100, 1 << 20}) EXPECT_EQ(Decompressed(GetParam(), file, piece), one + two);
  EXPECT_EQ(Decompressed(GetParam(), empty), "");
  EXPECT_EQ(Decompressed(GetParam(), ""), "") << "nothing is cut off from nothing";
}

TEST_P(DecompressorTest, EveryTruncationFails) {
  const std::string file = Compress(GetParam(), Text(3000)), two = file + file;
  for (std::size_t size = 1; size < file.size(); ++size) {
    ASSERT_EQ(Decompressed(GetParam(), file.substr(0, size)), std::nullopt) << size;
    ASSERT_EQ(Decompressed(GetParam(), two.substr(0, file.size() + size), 11), std::nullopt) << size;
  }
  EXPECT_NE(Decompressed(GetParam(), two), std::nullopt);
}

TEST_P(DecompressorTest, EveryTurnedBitFailsOrChangesNothing) {
  const std::string text = Text(1500), file = Compress(GetParam(), text);
  std::size_t failed = 0;
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string turned = file;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << bit % 8));
    const std::optional<std::string> out = Decompressed(GetParam(), turned);
    ASSERT_EQ(out.value_or(text), text) << "bit " << bit;
    failed += out ? 0 : 1;
  }
  EXPECT_GT(failed, file.size() * 8 - 100) << "the bits that may change are those of a header";
}

TEST_P(DecompressorTest, WhatFollowsTheLastMemberMustBeAnother) {
  const std::string text = Text(1000), file = Compress(GetParam(), text);
  for (const std::string_view garbage :
       {std::string_view("\0", 1), std::string_view("x"), std::string_view("more text\n"),
        std::string_view(file).substr(1), std::string_view("\x1f\x00", 2)}) {
    for (const std::size_t piece : {1, 1 << 20})
      EXPECT_EQ(Decompressed(GetParam(), file + std::string(garbage), piece), std::nullopt) << garbage;
  }
}

// Returns the data of a file that comes in pieces of `piece` bytes, or the message of the failure.
std::string Streamed(Compression compression, std::string_view file, std::size_t piece) {
  StreamDecompressor decompressor(compression, "f", file.size(), nullptr);
  std::string out;
  const auto sink = [&](std::string_view bytes) {
    out += bytes;
    return true;
  };
  for (std::size_t at = 0; at < file.size(); at += piece) {
    if (!decompressor.Feed(file.substr(at, piece), sink)) return decompressor.status().message();
  }
  const Status end = decompressor.Finish(sink);
  return end.ok() ? out : end.message();
}

// As gzip(1) and Python's gzip have it; the latter goes on with a member after the padding, too.
TEST_P(DecompressorTest, NulsAfterAMemberArePadding) {
  const std::string text = Text(1000), file = Compress(GetParam(), text);
  for (const std::size_t nuls : {std::size_t{1}, std::size_t{511}, std::size_t{200'000}}) {
    const std::string padding(nuls, '\0');
    for (const std::size_t piece : {1, 512, 1 << 20}) {
      EXPECT_EQ(Streamed(GetParam(), file + padding, piece), text);
      EXPECT_EQ(Streamed(GetParam(), file + padding + file + padding, piece), text + text);
      const std::string garbage = file + padding + "garbage", said = Streamed(GetParam(), garbage, piece);
      const std::string begin = "\"f\" cannot be decompressed (" + std::string(ToString(GetParam())) + ") at byte ";
      ASSERT_TRUE(said.starts_with(begin)) << said;
      const std::size_t at = std::stoul(said.substr(begin.size()));
      EXPECT_TRUE(at >= garbage.size() - 7 && at < garbage.size() - 2) << said << " after " << file.size() + nuls;
    }
  }
  const std::string cut = file.substr(0, file.size() - 3) + std::string(512, '\0');
  for (const std::size_t piece : {1, 1 << 20})
    EXPECT_NE(Streamed(GetParam(), cut, piece), text) << "within a member they are no padding";
}

TEST_P(DecompressorTest, RandomBytesBehindAGoodBeginning) {
  Random random(7);
  const std::string beginning = Compress(GetParam(), Text(200)).substr(0, 14);
  for (int i = 0; i < 3000; ++i) {
    std::string file = beginning.substr(0, kCompressionBytes + random.Below(5));
    const std::size_t size = file.size() + random.Below(200);
    while (file.size() < size) file += static_cast<char>(random.Below(256));
    // It fails, or it was luck; it ends in any case. What comes out does not depend on the pieces.
    ASSERT_EQ(Decompressed(GetParam(), file),
              Decompressed(GetParam(), file, 1 + random.Below(20), 1 + random.Below(100)));
  }
}

TEST_P(DecompressorTest, WhatAFileGrowsToTakesNoMemory) {
  const std::string zeros(std::size_t{4} << 20, '\0'), member = Compress(GetParam(), zeros);
  const int members = GetParam() == kBzip2 ? 16 : 256;
  const std::uint64_t length = members * member.size();
  ASSERT_LT(member.size(), zeros.size() / 200);
  std::uint64_t given = 0, last = 0;
  StreamDecompressor decompressor(GetParam(), "bomb", length, [&](std::uint64_t taken) {
    EXPECT_TRUE(taken >= last && taken <= length);
    last = taken;
  });
  const auto sink = [&](std::string_view piece) {
    given += piece.size();
    return true;
  };
  const auto peak = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  ASSERT_TRUE(decompressor.Feed(member, sink));
  const auto before = peak();
  for (int i = 1; i < members; ++i) ASSERT_TRUE(decompressor.Feed(member, sink));
  ASSERT_TRUE(decompressor.Finish(sink).ok());
  EXPECT_EQ(given, zeros.size() * static_cast<std::uint64_t>(members));
  EXPECT_EQ(last, length);
  EXPECT_LT(peak() - before, 32 * 1024) << "KiB";
}

INSTANTIATE_TEST_SUITE_P(Each, DecompressorTest, ::testing::Values(kGzip, kZstd, kBzip2),
                         [](const auto& of) { return std::string(ToString(of.param)); });

// "one two\nthree\n" three times, as programs have compressed it.
TEST(DecompressorSamplesTest, WhatOtherProgramsHaveCompressed) {
  const std::string text = "one two\nthree\none two\nthree\none two\nthree\n";
  const auto bytes = [](std::initializer_list<unsigned char> list) { return std::string(list.begin(), list.end()); };
  // gzip 1.12, with the name of the file in the header
  const std::string gzip =
      bytes({0x1f, 0x8b, 0x08, 0x08, 0xf1, 0x7b, 0x06, 0x6b, 0x00, 0x03, 0x6e, 0x61, 0x6d, 0x65, 0x2e, 0x74,
             0x78, 0x74, 0x00, 0xcb, 0xcf, 0x4b, 0x55, 0x28, 0x29, 0xcf, 0xe7, 0x2a, 0xc9, 0x28, 0x4a, 0x4d,
             0xe5, 0xca, 0xc7, 0xc3, 0x03, 0x00, 0xb2, 0xa7, 0x7b, 0xcd, 0x2a, 0x00, 0x00, 0x00});
  // zstd 1.5.4
  const std::string zstd =
      bytes({0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0xa5, 0x00, 0x00, 0x70, 0x6f, 0x6e, 0x65, 0x20, 0x74, 0x77, 0x6f,
             0x0a, 0x74, 0x68, 0x72, 0x65, 0x65, 0x0a, 0x01, 0x00, 0xc1, 0x4c, 0x25, 0xaa, 0x2a, 0xc1, 0xf8});
  // bzip2 1.0.8
  const std::string bzip2 =
      bytes({0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0xab, 0x94, 0xe0, 0x74, 0x00,
             0x00, 0x0e, 0xd1, 0x80, 0x00, 0x10, 0x40, 0x00, 0x02, 0x41, 0x94, 0x80, 0x20, 0x00, 0x22,
             0xbf, 0xd5, 0x21, 0x93, 0xd4, 0x20, 0xc9, 0x88, 0xda, 0xd5, 0xa5, 0xb1, 0xe7, 0x51, 0x88,
             0xa4, 0x5b, 0xe2, 0xee, 0x48, 0xa7, 0x0a, 0x12, 0x15, 0x72, 0x9c, 0x0e, 0x80});
  for (const std::size_t piece : {1, 2, 1000}) {
    EXPECT_EQ(Decompressed(kGzip, gzip + gzip, piece), text + text);
    EXPECT_EQ(Decompressed(kZstd, zstd + zstd, piece), text + text);
    EXPECT_EQ(Decompressed(kBzip2, bzip2 + bzip2, piece), text + text);
  }
  // A frame of four bytes that is to be skipped, before and after.
  const std::string skipped("\x50\x2a\x4d\x18\x04\x00\x00\x00skip", 12);
  for (const std::size_t piece : {1, 1000}) EXPECT_EQ(Decompressed(kZstd, skipped + zstd + skipped, piece), text);
  EXPECT_EQ(Decompressed(kZstd, zstd + skipped.substr(0, 10)), std::nullopt);
}

// A header of gzip with everything in it that there may be, and its checksum.
TEST(DecompressorSamplesTest, AGzipHeaderMayComeInPieces) {
  const std::string plain = CompressGzip(Text(2000));
  std::string header("\x1f\x8b\x08\x1e\0\0\0\0\0\x03", 10);
  header += std::string("\x05\0extra", 7) + std::string("name.txt\0", 9) + std::string("a comment\0", 10);
  std::uint32_t crc = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(header.data()), header.size());
  header += static_cast<char>(crc & 0xff);
  header += static_cast<char>(crc >> 8 & 0xff);
  const std::string file = header + plain.substr(10);
  for (std::size_t piece = 1; piece < 50; ++piece)
    EXPECT_EQ(Decompressed(kGzip, file + file, piece), Text(2000) + Text(2000));
  std::string damaged = file;
  damaged[25] = 'X';
  EXPECT_EQ(Decompressed(kGzip, damaged), std::nullopt) << "the header does not match its checksum";
}

}  // namespace
}  // namespace millrace
