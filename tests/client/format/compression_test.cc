// SPDX-License-Identifier: Apache-2.0
#include "client/format/compression.h"

#include <gtest/gtest.h>

#include "tests/compress/compress.h"

namespace millrace {
namespace {

using enum Compression;

TEST(CompressionTest, FirstBytesTell) {
  for (const Compression compression : {kGzip, kZstd, kBzip2}) {
    for (const char* text : {"", "text of a file\n"}) {
      const std::string file = Compress(compression, text);
      EXPECT_EQ(CompressionOf(file), compression) << ToString(compression) << " of " << text;
      EXPECT_EQ(CompressionOf(file.substr(0, kCompressionBytes)), compression) << "as many bytes are enough";
      EXPECT_EQ(CompressionOf("x" + file), kNone);
      EXPECT_EQ(CompressionOf(file.substr(1)), kNone);
    }
  }
  EXPECT_EQ(CompressionOf("\x50\x2a\x4d\x18"), kZstd) << "a frame that is to be skipped";
  EXPECT_EQ(CompressionOf("\x5f\x2a\x4d\x18"), kZstd);
  EXPECT_EQ(CompressionOf("\x60\x2a\x4d\x18"), kNone);
}

TEST(CompressionTest, OtherBytesAreOfNoCompressedFile) {
  for (const std::string_view bytes :
       {"", "\n", "one two\n", "BZh9 is how a file of bzip2 begins\n", "BZ", "PK\x03\x04", "\x1f\x8b",
        "\x1f\x8b\x07\x01", "\x1f\x8b\x08\x20", "\x28\xb5\x2f", "\xfd\x37zXZ", "BZh01AY&SY"}) {
    EXPECT_EQ(CompressionOf(bytes), kNone) << bytes;
  }
}

TEST(CompressionTest, NamesTellByTheirEnd) {
  EXPECT_EQ(CompressionOfName("/logs/a.gz"), kGzip);
  EXPECT_EQ(CompressionOfName("/logs/a.txt.zst"), kZstd);
  EXPECT_EQ(CompressionOfName("a.bz2"), kBzip2);
  for (const char* name : {"", "/a", "/a.gz/b", "/a.gzip", "/agz", "/a.GZ", "/a.xz"})
    EXPECT_EQ(CompressionOfName(name), kNone) << name;
}

}  // namespace
}  // namespace millrace
