// SPDX-License-Identifier: Apache-2.0
#include "client/format/opened_source.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/random.h"
#include "client/format/chunk_reader.h"
#include "client/format/fixed_reader.h"
#include "client/format/line_reader.h"
#include "tests/client/api/memory_source.h"
#include "tests/compress/compress.h"

namespace millrace {
namespace {

using enum Compression;
using ::testing::HasSubstr;

constexpr std::size_t kWhole = std::size_t{1} << 30;  // a piece that is as large as it may be

// A file, opened for a split of it.
struct Opened {
  Opened(std::string name, std::string bytes, std::size_t piece, std::uint64_t offset = 0,
         std::uint64_t length = kWhole, InputKind kind = InputKind::kText)
      : file(std::move(bytes)),
        split{std::move(name), offset, std::min<std::uint64_t>(length, file.size() - offset), file.size()},
        stored(new MemorySource(file, piece)),
        source(std::unique_ptr<ByteSource>(stored), split, kind,
               [this](std::uint64_t bytes_) { taken.push_back(bytes_); }) {}

  // Returns all that Stream gives; sets `status`.
  std::string Stream() {
    std::string out;
    status = source.Stream(split.offset, split.length, [&](std::string_view piece) {
      out += piece;
      return true;
    });
    return out;
  }

  const std::string file;
  const Split split;
  MemorySource* const stored;
  std::vector<std::uint64_t> taken;
  OpenedSource source;
  Status status;
};

std::string Lines(int count) {
  std::string lines;
  for (std::int64_t i = 0; i < count; ++i) lines += "line " + std::to_string(i * i) + "\n";
  return lines;
}

TEST(OpenedSourceTest, AFileThatIsNotCompressedIsHandedOnAsItComes) {
  for (const std::string& text :
       {std::string("x"), Lines(1), Lines(100), std::string("BZh9"), std::string("\x1f\x8b")}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{9}, std::size_t{10}, std::size_t{11}, kWhole}) {
      Opened opened("/in/a", text, piece);
      EXPECT_EQ(opened.Stream(), text);
      EXPECT_TRUE(opened.status.ok());
      EXPECT_FALSE(opened.source.decompressed());
      EXPECT_EQ(opened.stored->reads, 0) << "the first bytes are looked at as they come by";
      EXPECT_TRUE(opened.taken.empty());
    }
  }
}

TEST(OpenedSourceTest, PiecesOfAFileThatIsNotCompressedAreNotCopied) {
  class OnePiece final : public ByteSource {
   public:
    explicit OnePiece(std::string_view bytes) : bytes_(bytes) {}
    Status Stream(std::uint64_t, std::uint64_t, const Sink& sink) override {
      sink(bytes_);
      return Status::Ok();
    }
    Status ReadAt(std::uint64_t, std::uint64_t, std::string*) override { return Internal("not read"); }

   private:
    std::string_view bytes_;
  };
  const std::string text = Lines(100);
  OpenedSource source(std::make_unique<OnePiece>(text), {"/in/a", 0, text.size(), text.size()}, InputKind::kText,
                      nullptr);
  EXPECT_TRUE(source
                  .Stream(0, text.size(),
                          [&](std::string_view piece) {
                            EXPECT_EQ(piece.data(), text.data());
                            EXPECT_EQ(piece.size(), text.size());
                            return true;
                          })
                  .ok());
}

TEST(OpenedSourceTest, ACompressedFileIsDecompressed) {
  const std::string text = Lines(50'000);
  for (const Compression compression : {kGzip, kZstd, kBzip2}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, kWhole}) {
      Opened opened("/in/a", Compress(compression, text), piece);
      EXPECT_EQ(opened.Stream(), text);
      EXPECT_TRUE(opened.status.ok()) << opened.status.message();
      EXPECT_TRUE(opened.source.decompressed());
      EXPECT_EQ(opened.stored->reads, 0);
      EXPECT_GE(opened.taken.size(), text.size() >> 18);
      EXPECT_TRUE(std::ranges::is_sorted(opened.taken));
      EXPECT_EQ(opened.taken.back(), opened.file.size());
      std::string more;
      EXPECT_EQ(opened.source.ReadAt(0, 10, &more).code(), StatusCode::kInvalid) << "offsets are of other bytes";
    }
  }
}

TEST(OpenedSourceTest, LinesAndTheirOffsetsAreThoseOfWhatItDecompressesTo) {
  for (const std::string& text : {Lines(30'000), Lines(3) + "without an end", std::string("\n\n"), std::string()}) {
    std::vector<std::pair<std::string, std::uint64_t>> expected;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      expected.emplace_back(text.substr(at, end - at), at);
      at = end + 1;
    }
    for (const Compression compression : {kNone, kGzip, kZstd, kBzip2}) {
      for (const std::size_t piece : {std::size_t{3}, kWhole}) {
        Opened lines("/in/a", Compress(compression, text), piece), chunks("/in/a", lines.file, piece);
        std::vector<std::pair<std::string, std::uint64_t>> found;
        const auto on_line = [&](std::string_view line, std::uint64_t offset) { found.emplace_back(line, offset); };
        EXPECT_TRUE(ReadLines(lines.source, lines.split, false, on_line).ok());
        EXPECT_EQ(found, expected);
        std::string joined;
        const auto on_chunk = [&](std::string_view chunk, std::uint64_t offset) {
          EXPECT_EQ(offset, joined.size());
          joined += chunk;
        };
        EXPECT_TRUE(ReadLineChunks(chunks.source, chunks.split, false, on_chunk).ok());
        EXPECT_EQ(joined, text);
      }
    }
  }
}

TEST(OpenedSourceTest, RecordsOfAFixedLengthAreThoseOfWhatItDecompressesTo) {
  const std::string records = Lines(10'000).substr(0, 70'000);
  for (const Compression compression : {kGzip, kZstd, kBzip2}) {
    for (const std::size_t width : {1, 7, 70'000}) {
      Opened opened("/in/a", Compress(compression, records), 1000);
      std::string found;
      const auto on_record = [&](std::string_view record, std::uint64_t offset) {
        EXPECT_EQ(record.size(), width);
        EXPECT_EQ(offset, found.size());
        found += record;
      };
      EXPECT_TRUE(ReadFixedRecords(opened.source, opened.split, width, on_record).ok());
      EXPECT_EQ(found, records);
    }
    Opened opened("/in/a", Compress(compression, records), 1000);
    const Status status = ReadFixedRecords(opened.source, opened.split, 999, [](std::string_view, std::uint64_t) {});
    EXPECT_EQ(status.message(),
              "\"/in/a\" decompresses to 70000 bytes, which is not a whole number of records of 999 bytes");
  }
}

TEST(OpenedSourceTest, AWholeFileIsWhatItDecompressesTo) {
  // What is looked for is a file that decompresses to as many bytes as it has compressed ones: the pieces cannot tell.
  Random random(3);
  std::string noise;
  for (int i = 0; i < 100; ++i) noise += static_cast<char>(random.Below(256));
  for (const Compression compression : {kGzip, kZstd, kBzip2}) {
    bool as_long = false;
    for (std::size_t zeros = 0; zeros < 300 && !as_long; ++zeros) {
      const std::string bytes = noise + std::string(zeros, '\0');
      Opened opened("/in/a", Compress(compression, bytes), kWhole);
      as_long = opened.file.size() == bytes.size();
      int files = 0;
      EXPECT_TRUE(ReadWholeFile(opened.source, opened.split, [&](std::string_view file) {
                    EXPECT_EQ(file, bytes);
                    ++files;
                  }).ok());
      EXPECT_EQ(files, 1);
    }
    EXPECT_TRUE(as_long) << ToString(compression);
  }
}

TEST(OpenedSourceTest, AnEmptyFileIsEmptyWhateverItsName) {
  for (const char* name : {"/in/a", "/in/a.gz"}) {
    Opened opened(name, "", kWhole);
    EXPECT_EQ(opened.Stream(), "");
    EXPECT_TRUE(opened.status.ok());
  }
}

TEST(OpenedSourceTest, AFailureNamesTheFileAndThePlaceInIt) {
  const std::string text = Lines(200'000);
  for (const Compression compression : {kGzip, kZstd, kBzip2}) {
    const std::string file = Compress(compression, text), kind(ToString(compression));
    Opened cut("/cut", file.substr(0, file.size() / 2), 1000);
    const std::string before = cut.Stream();
    EXPECT_EQ(before, text.substr(0, before.size())) << "what came out before is right";
    const std::string half = std::to_string(file.size() / 2);
    EXPECT_EQ(cut.status.message(), "\"/cut\" cannot be decompressed (" + kind + ") at byte " + half + " of its " +
                                        half + ": the file ends inside of it; was it cut off?");
    EXPECT_EQ(cut.status.code(), StatusCode::kCorrupt);

    std::string damaged = file;
    for (std::size_t i = 0; i < 100; ++i) damaged[damaged.size() / 2 + i] ^= static_cast<char>(0x5a + i);
    Opened bad("/bad", damaged, kWhole);
    bad.Stream();
    EXPECT_EQ(bad.status.code(), StatusCode::kCorrupt);
    const std::string begin = "\"/bad\" cannot be decompressed (" + kind + ") at byte ";
    ASSERT_THAT(bad.status.message(), HasSubstr(begin));
    EXPECT_THAT(bad.status.message(), HasSubstr(" of its " + std::to_string(damaged.size()) + ": "));
    const std::uint64_t at = std::stoull(bad.status.message().substr(begin.size()));
    EXPECT_GE(at + (64 << 10), damaged.size() / 2);
    EXPECT_LE(at, damaged.size());
  }
}

TEST(OpenedSourceTest, AFileWithTheNameOfACompressedOneMustBeOne) {
  for (const std::string& bytes : {std::string("one two\n"), std::string("\x1f"), Lines(100)}) {
    Opened opened("/in/a.gz", bytes, 5);
    EXPECT_EQ(opened.Stream(), "");
    EXPECT_EQ(opened.status.message(),
              "\"/in/a.gz\" has the name of a gzip file, and does not begin like one; give it another name, or have it "
              "read as it is by -D input.decompress=false");
  }
  Opened other("/in/a.gz", Compress(kZstd, "bytes tell\n"), 5);
  EXPECT_EQ(other.Stream(), "bytes tell\n") << "which one it is, its bytes tell";
}

TEST(OpenedSourceTest, APartOfACompressedFileIsRefused) {
  const std::string file = Compress(kGzip, Lines(1000)), size = std::to_string(file.size());
  Opened first("/in/a", file, kWhole, 0, 1000);
  EXPECT_EQ(first.Stream(), "");
  EXPECT_EQ(first.status.message(),
            "\"/in/a\" is compressed (gzip), and only bytes 0 to 1000 of its " + size +
                " were to be read, which cannot be decompressed by themselves; give it a name that ends with .gz, or "
                "have it read as it is by -D input.decompress=false");
  EXPECT_EQ(first.status.code(), StatusCode::kUnsupported);
  Opened named("/in/a.gz", file, kWhole, 1000);
  EXPECT_EQ(named.Stream(), "");
  EXPECT_THAT(named.status.message(), HasSubstr("only bytes 1000 to " + size + " of its " + size));
  Opened misnamed("/in/a.gz", Lines(1000), kWhole, 1000);
  EXPECT_EQ(misnamed.Stream(), "");
  EXPECT_THAT(misnamed.status.message(), HasSubstr("does not begin like one"));
  Opened text("/in/a", Lines(1000), kWhole, 1000);
  EXPECT_EQ(text.Stream(), Lines(1000).substr(1000));
  EXPECT_EQ(text.stored->reads, 0) << "a part of a file without such a name costs no look at its beginning";
}

// Whole files, as far as a reader of text would look at them.
TEST(OpenedSourceTest, AFileThatIsNoTextIsRefusedWhereTextIsRead) {
  const std::string zip = "PK\x03\x04" + Lines(100), utf16(
                                                         "\xff\xfe"
                                                         "a\0b\0",
                                                         6);
  for (const std::string& file : {zip, utf16, std::string("\xff\xfe")}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, kWhole}) {
      Opened text("/in/a", file, piece);
      EXPECT_EQ(text.Stream(), "");
      EXPECT_EQ(text.status.code(), StatusCode::kUnsupported);
      EXPECT_THAT(text.status.message(), HasSubstr("\"/in/a\" is "));
      Opened bytes("/in/a", file, piece, 0, kWhole, InputKind::kBytes);
      EXPECT_EQ(bytes.Stream(), file);
      EXPECT_TRUE(bytes.status.ok());
      for (const Compression compression : {kGzip, kZstd, kBzip2}) {
        Opened inside("/in/a", Compress(compression, file), piece);
        EXPECT_EQ(inside.Stream(), "");
        EXPECT_EQ(inside.status.code(), StatusCode::kUnsupported);
        EXPECT_THAT(inside.status.message(), HasSubstr("\"/in/a\" decompresses to "));
        Opened opened("/in/a", Compress(compression, file), piece, 0, kWhole, InputKind::kBytes);
        EXPECT_EQ(opened.Stream(), file);
        EXPECT_TRUE(opened.status.ok());
      }
    }
  }
}

TEST(OpenedSourceTest, AParquetFileIsToldByItsTwoEnds) {
  const std::string begin = "PAR1" + Lines(100), footer = std::string("\x10\0\0\0PAR1", 8);
  Opened parquet("/in/a", begin + footer, 100);
  EXPECT_EQ(parquet.Stream(), "");
  EXPECT_THAT(parquet.status.message(), HasSubstr("\"/in/a\" is a Parquet file"));
  EXPECT_EQ(parquet.stored->reads, 1);
  Opened first("/in/a", begin + footer, 100, 0, 600);
  EXPECT_EQ(first.Stream(), "") << "the first of its splits tells, too";
  EXPECT_EQ(first.status.code(), StatusCode::kUnsupported);
  for (const std::string& text : {begin, begin + "PAR1", begin + "PAR1\n"}) {
    Opened opened("/in/a", text, 100);
    EXPECT_EQ(opened.Stream(), text);
    EXPECT_TRUE(opened.status.ok());
  }
}

TEST(OpenedSourceTest, AByteOrderMarkIsPartOfNoLineAfterDecompressionEither) {
  for (const Compression compression : {kNone, kGzip, kZstd, kBzip2}) {
    for (const std::size_t piece : {std::size_t{1}, kWhole}) {
      const std::string file = Compress(compression, "\xef\xbb\xbfthe cat\nthe dog\n");
      Opened lines("/in/a", file, piece), chunks("/in/a", file, piece);
      std::vector<std::pair<std::string, std::uint64_t>> found;
      const auto on_line = [&](std::string_view line, std::uint64_t offset) { found.emplace_back(line, offset); };
      EXPECT_TRUE(ReadLines(lines.source, lines.split, false, on_line).ok());
      EXPECT_EQ(found, (std::vector<std::pair<std::string, std::uint64_t>>{{"the cat", 3}, {"the dog", 11}}));
      std::string joined;
      const auto on_chunk = [&](std::string_view chunk, std::uint64_t) { joined += chunk; };
      EXPECT_TRUE(ReadLineChunks(chunks.source, chunks.split, false, on_chunk).ok());
      EXPECT_EQ(joined, "the cat\nthe dog\n");
      Opened bytes("/in/a", file, piece);
      EXPECT_EQ(bytes.Stream(), "\xef\xbb\xbfthe cat\nthe dog\n") << "who reads bytes sees it";
    }
  }
}

TEST(OpenedSourceTest, WhoReadsMayStop) {
  const std::string good = Compress(kGzip, Lines(200'000)), file = good.substr(0, good.size() - 8);
  Opened opened("/in/a", file, 1000);
  int pieces = 0;
  EXPECT_TRUE(opened.source.Stream(0, file.size(), [&](std::string_view) { return ++pieces < 2; }).ok())
      << "what lies beyond is of no interest";
  EXPECT_EQ(pieces, 2);
  Opened short_text("/in/b", "short", 2);
  EXPECT_TRUE(short_text.source.Stream(0, 5, [&](std::string_view) { return false; }).ok());
}

TEST(OpenedSourceTest, WhatTheReaderThrowsPassesThrough) {
  for (const Compression compression : {kNone, kGzip, kZstd, kBzip2}) {
    const std::string file = Compress(compression, Lines(100));
    Opened opened("/in/a", file, 10);
    EXPECT_THROW(
        (void)opened.source.Stream(0, file.size(), [](std::string_view) -> bool { throw std::runtime_error("no"); }),
        std::runtime_error);
  }
}

TEST(OpenedSourceTest, AFailureOfTheStorageComesFirst) {
  const std::string file = Compress(kGzip, Lines(100));
  OpenedSource source(std::make_unique<MemorySource>(file, 10), {"/in/a", 0, file.size() + 1, file.size() + 1},
                      InputKind::kText, nullptr);
  EXPECT_EQ(source.Stream(0, file.size() + 1, [](std::string_view) { return true; }).message(), "the file is shorter");
}

}  // namespace
}  // namespace millrace
