// SPDX-License-Identifier: Apache-2.0
#include "client/format/chunk_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/client/api/line_files.h"
#include "tests/client/api/memory_source.h"

namespace millrace {
namespace {

// Returns the offset of the first line, after a byte order mark.
std::size_t FirstLine(std::string_view file) { return file.starts_with("\xef\xbb\xbf") ? 3 : 0; }

// Returns the chunks of a split, after it has checked what must hold of each of them.
std::vector<Line> ReadChunks(std::string_view file, std::uint64_t offset, std::uint64_t length, std::size_t piece,
                             bool strip = false) {
  MemorySource source(file, piece);
  std::vector<Line> chunks;
  const Status status =
      ReadLineChunks(source, Split{"f", offset, length, file.size()}, strip, [&](std::string_view chunk, auto at) {
        EXPECT_FALSE(chunk.empty());
        EXPECT_TRUE(at == FirstLine(file) || file[at - 1] == '\n') << "a chunk begins inside of a line, at " << at;
        EXPECT_TRUE(chunk.ends_with('\n') || at + chunk.size() == file.size());
        chunks.push_back({std::string(chunk), at});
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return chunks;
}

// Returns the lines of a split by the definition: those that begin in it.
std::vector<Line> LinesIn(std::string_view file, std::size_t offset, std::size_t size) {
  std::vector<Line> lines;
  for (Line& line : LinesOf(file)) {
    if (line.offset >= offset && line.offset < offset + size) lines.push_back(std::move(line));
  }
  return lines;
}

TEST(ChunkReaderTest, TheLinesOfChunksAreTheLinesOfTheSplit) {
  for (const std::string& file : NastyFiles()) {
    for (std::size_t length = 1; length <= file.size() + 1; ++length) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        for (std::size_t offset = 0; offset < file.size(); offset += length) {
          const std::size_t size = std::min(length, file.size() - offset);
          std::vector<Line> got;
          for (const Line& chunk : ReadChunks(file, offset, size, piece)) {
            for (Line& line : LinesOf(chunk.text)) got.push_back({line.text, chunk.offset + line.offset});
          }
          ASSERT_EQ(got, LinesIn(file, offset, size))
              << testing::PrintToString(file) << " split " << offset << "+" << size << " piece " << piece;
        }
      }
    }
  }
}

TEST(ChunkReaderTest, ASplitInOnePieceComesInOneChunkAndItsLastLine) {
  const std::string file = "ab\n\ncd\nefgh\nij\n";
  EXPECT_EQ(ReadChunks(file, 0, 10, 100), (std::vector<Line>{{"ab\n\ncd\n", 0}, {"efgh\n", 7}}));
  EXPECT_EQ(ReadChunks(file, 10, 5, 100), (std::vector<Line>{{"ij\n", 12}}));
}

TEST(ChunkReaderTest, AByteOrderMarkIsPartOfNoChunk) {
  const std::string mark = "\xef\xbb\xbf";
  std::vector<std::string> files = {mark, mark + "\n", mark + mark, mark + "a\r\nb", "x\n" + mark + "y", "\xef\xbb"};
  for (const std::string& file : NastyFiles()) files.push_back(mark + file);
  for (const std::string& file : files) {
    for (std::size_t length = 1; length <= file.size() + 1; ++length) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        std::vector<Line> got;
        for (std::size_t offset = 0; offset < file.size(); offset += length) {
          for (const Line& chunk : ReadChunks(file, offset, std::min(length, file.size() - offset), piece)) {
            for (Line& line : LinesOf(chunk.text)) got.push_back({line.text, chunk.offset + line.offset});
          }
        }
        ASSERT_EQ(got, LinesOf(file, FirstLine(file))) << testing::PrintToString(file) << " length " << length;
      }
    }
  }
  EXPECT_EQ(ReadChunks(mark + "a\r\nb\r\n", 0, 9, 100, true), (std::vector<Line>{{"a\nb\n", 3}}));
}

TEST(ChunkReaderTest, StripCrDropsOneBeforeTheNewlineOnly) {
  const std::string file = "a\r\n\r\r\nb\rc\nd\r\r\n\re\r";
  for (const std::size_t piece : {1u, 2u, 5u, 100u}) {
    for (std::size_t length = 1; length <= file.size(); ++length) {
      std::string got;
      for (std::size_t offset = 0; offset < file.size(); offset += length) {
        for (const Line& chunk : ReadChunks(file, offset, std::min(length, file.size() - offset), piece, true))
          got += chunk.text;
      }
      ASSERT_EQ(got, "a\n\r\nb\rc\nd\r\n\re\r") << length << " piece " << piece;
    }
  }
}

TEST(ChunkReaderTest, ChunksAreCutAtTheirMostUnlessALineIsLonger) {
  const std::string full(kLineChunkBytes - 1, 'f');
  const std::string file = full + "\nx\n" + full + "yy\n\n" + std::string(3 * kLineChunkBytes, 'z') + "\n";
  std::vector<std::size_t> sizes;
  std::string all;
  for (const Line& chunk : ReadChunks(file, 0, file.size(), file.size())) {
    sizes.push_back(chunk.text.size());
    all += chunk.text;
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{kLineChunkBytes, 2, kLineChunkBytes + 2, 1, 3 * kLineChunkBytes + 1}));
  EXPECT_EQ(all, file);
}

TEST(ChunkReaderTest, ALineOverManyBlocksIsReadInFewSteps) {
  const std::string file = "x\n" + std::string(50'000'000, 'y') + "\nz\n";
  MemorySource source(file, 1 << 20);
  std::string got;
  ASSERT_TRUE(ReadLineChunks(source, Split{"f", 0, 100, file.size()}, false, [&](std::string_view chunk, auto) {
                got += chunk;
              }).ok());
  EXPECT_EQ(got, file.substr(0, file.size() - 2));
  EXPECT_LT(source.reads, 20);
}

TEST(ChunkReaderTest, AFileThatEndsTooEarlyIsCorrupt) {
  MemorySource source("abc", 10);
  const auto ignore = [](std::string_view, std::uint64_t) {};
  EXPECT_EQ(ReadLineChunks(source, Split{"f", 0, 3, 9}, false, ignore).code(), StatusCode::kCorrupt);
  EXPECT_EQ(ReadLineChunks(source, Split{"f", 7, 2, 9}, false, ignore).code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace
