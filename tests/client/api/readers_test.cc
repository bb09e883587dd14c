// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "client/api/input_formats.h"
#include "client/format/fixed_reader.h"
#include "client/format/line_reader.h"
#include "client/format/record_file.h"
#include "tests/client/api/line_files.h"
#include "tests/client/api/memory_source.h"

namespace millrace {
namespace {

std::vector<Line> ReadSplit(std::string_view file, std::uint64_t offset, std::uint64_t length, std::size_t piece,
                            bool strip) {
  MemorySource source(file, piece);
  std::vector<Line> lines;
  const Status status =
      ReadLines(source, Split{"f", offset, length, file.size()}, strip, [&](std::string_view line, std::uint64_t at) {
        lines.push_back({std::string(line), at});
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return lines;
}

TEST(LineReaderTest, EveryLineOnceInTheSplitWhereItBegins) {
  for (const std::string& file : NastyFiles()) {
    const std::vector<Line> all = LinesOf(file);
    for (std::size_t length = 1; length <= file.size() + 1; ++length) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        for (std::size_t offset = 0; offset < file.size(); offset += length) {
          const std::size_t size = std::min(length, file.size() - offset);
          std::vector<Line> want;
          for (const Line& line : all) {
            if (line.offset >= offset && line.offset < offset + size) want.push_back(line);
          }
          ASSERT_EQ(ReadSplit(file, offset, size, piece, false), want)
              << testing::PrintToString(file) << " split " << offset << "+" << size << " piece " << piece;
        }
      }
    }
  }
}

// It lies in the first split, as the line after it does, however short that split is.
TEST(LineReaderTest, AByteOrderMarkIsPartOfNoLine) {
  const std::string mark = "\xef\xbb\xbf";
  std::vector<std::string> files = {
      mark + "the cat\nthe dog\n", mark,       mark + "\n",  mark + mark + "x", mark + "\r\n",
      "x\n" + mark + "y\n",        "\xef\xbb", "\xef\xbbx\n"};
  for (const std::string& file : NastyFiles()) files.push_back(mark + file);
  for (const std::string& file : files) {
    std::vector<Line> all = LinesOf(file, file.starts_with(mark) ? 3 : 0);
    for (std::size_t length = 1; length <= file.size() + 1; ++length) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        std::vector<Line> got;
        for (std::size_t offset = 0; offset < file.size(); offset += length) {
          for (Line& line : ReadSplit(file, offset, std::min(length, file.size() - offset), piece, false))
            got.push_back(std::move(line));
        }
        ASSERT_EQ(got, all) << testing::PrintToString(file) << " length " << length << " piece " << piece;
      }
    }
  }
  EXPECT_EQ(ReadSplit(mark + "k\r\n", 0, 6, 2, true), (std::vector<Line>{{"k", 3}}));
  MemorySource source("\xef\xbb\xbfk\tv\n", 4);
  std::vector<std::pair<std::string, std::string>> got;
  ASSERT_TRUE(KeyValueText::Read(source, Split{"f", 0, 7, 7}, {}, [&](KeyValue record, std::uint64_t) {
                got.emplace_back(record.key, record.value);
              }).ok());
  EXPECT_EQ(got, (std::vector<std::pair<std::string, std::string>>{{"k", "v"}}));
}

TEST(LineReaderTest, StripCrDropsOneBeforeTheNewlineOnly) {
  const std::string file = "a\r\n\r\r\nb\rc\nd\r";
  const std::vector<std::string> want = {"a", "\r", "b\rc", "d\r"};
  for (std::size_t length = 1; length <= file.size(); ++length) {
    std::vector<std::string> got;
    for (std::size_t offset = 0; offset < file.size(); offset += length) {
      for (const Line& line : ReadSplit(file, offset, std::min(length, file.size() - offset), 2, true))
        got.push_back(line.text);
    }
    EXPECT_EQ(got, want) << length;
  }
}

TEST(LineReaderTest, ALineOverManyBlocksIsReadInFewSteps) {
  const std::string file = "x\n" + std::string(50'000'000, 'y') + "\nz\n";
  MemorySource source(file, 1 << 20);
  std::size_t longest = 0;
  int lines = 0;
  ASSERT_TRUE(ReadLines(source, Split{"f", 0, 100, file.size()}, false, [&](std::string_view line, std::uint64_t) {
                longest = std::max(longest, line.size());
                ++lines;
              }).ok());
  EXPECT_EQ(longest, 50'000'000u);
  EXPECT_EQ(lines, 2);
  EXPECT_LT(source.reads, 20);
}

TEST(LineReaderTest, AFirstSplitThatEndsWithANewlineReadsNothingElse) {
  MemorySource source("ab\ncd\n", 10);
  int lines = 0;
  ASSERT_TRUE(ReadLines(source, Split{"f", 0, 3, 6}, false, [&](std::string_view, std::uint64_t) { ++lines; }).ok());
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(source.reads, 0);
}

TEST(LineReaderTest, AFileThatEndsTooEarlyIsCorrupt) {
  MemorySource source("abc", 10);
  const auto ignore = [](std::string_view, std::uint64_t) {};
  EXPECT_EQ(ReadLines(source, Split{"f", 0, 3, 9}, false, ignore).code(), StatusCode::kCorrupt);
  EXPECT_EQ(ReadLines(source, Split{"f", 7, 2, 9}, false, ignore).code(), StatusCode::kCorrupt);
}

TEST(KeyValueTextTest, TheFirstTabParts) {
  MemorySource source("k\tv\tw\nalone\n\t\n", 4);
  std::vector<std::pair<std::string, std::string>> got;
  ASSERT_TRUE(KeyValueText::Read(source, Split{"f", 0, 14, 14}, {}, [&](KeyValue record, std::uint64_t) {
                got.emplace_back(record.key, record.value);
              }).ok());
  EXPECT_EQ(got, (std::vector<std::pair<std::string, std::string>>{{"k", "v\tw"}, {"alone", ""}, {"", ""}}));
}

TEST(FixedReaderTest, EveryRecordOnceInTheSplitWhereItBegins) {
  for (const std::size_t record : {1u, 2u, 3u, 7u, 10u}) {
    for (const std::size_t count : {0u, 1u, 2u, 5u}) {
      std::string file;
      for (std::size_t i = 0; i < record * count; ++i) file.push_back(static_cast<char>('a' + i % 26));
      for (std::size_t length = 1; length <= file.size(); ++length) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{4}, std::size_t{100}}) {
          std::size_t next = 0;
          for (std::size_t offset = 0; offset < file.size(); offset += length) {
            const std::size_t size = std::min(length, file.size() - offset);
            MemorySource source(file, piece);
            ASSERT_TRUE(ReadFixedRecords(source, Split{"f", offset, size, file.size()}, record,
                                         [&](std::string_view bytes, std::uint64_t at) {
                                           EXPECT_EQ(at, next * record);
                                           EXPECT_EQ(bytes, file.substr(next * record, record));
                                           EXPECT_TRUE(at >= offset && at < offset + size);
                                           ++next;
                                         })
                            .ok());
          }
          ASSERT_EQ(next, count) << record << " " << length << " " << piece;
        }
      }
    }
  }
}

TEST(FixedReaderTest, ALengthThatDoesNotFitNamesTheFile) {
  MemorySource source("abcdefg", 10);
  const Status status =
      ReadFixedRecords(source, Split{"/in/x.bin", 0, 7, 7}, 3, [](std::string_view, std::uint64_t) {});
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find("/in/x.bin"), std::string::npos) << status.message();
}

TEST(WholeFilesTest, OneRecordWithItsName) {
  for (const std::string file : {"", "a", "several pieces"}) {
    for (const std::size_t piece : {1u, 100u}) {
      MemorySource source(file, piece);
      int records = 0;
      const ReadOptions options{false, 0, "sub/name"};
      ASSERT_TRUE(
          WholeFiles::Read(source, Split{"f", 0, file.size(), file.size()}, options, [&](WholeFile got, std::uint64_t) {
            EXPECT_EQ(got.name, "sub/name");
            EXPECT_EQ(got.bytes, file);
            ++records;
          }).ok());
      EXPECT_EQ(records, 1);
    }
  }
}

TEST(WholeFilesTest, MoreThan2GiBAndAPartOfAFileAreRefused) {
  MemorySource source("abc", 10);
  const auto ignore = [](WholeFile, std::uint64_t) {};
  const std::uint64_t large = kMaxRecordBytes + 1;
  EXPECT_EQ(WholeFiles::Read(source, Split{"f", 0, large, large}, {}, ignore).code(), StatusCode::kInvalid);
  EXPECT_EQ(WholeFiles::Read(source, Split{"f", 0, 2, 3}, {}, ignore).code(), StatusCode::kInternal);
}

TEST(RecordFilesTest, EveryRecordOnceWhateverTheSplits) {
  std::string file;
  RecordWriter writer(
      [&](std::string_view bytes) {
        file.append(bytes);
        return Status::Ok();
      },
      Random(5));
  Random random(6);
  std::vector<std::string> want;
  for (int i = 0; i < 3000; ++i) {
    std::string value;
    for (int n = 0; n < 100; ++n) value.push_back(static_cast<char>(random.Next()));
    ASSERT_TRUE(writer.Append(std::to_string(i), value).ok());
    want.push_back(std::to_string(i) + value);
  }
  ASSERT_TRUE(writer.Finish().ok());
  for (const std::size_t length : {std::size_t{10'000}, std::size_t{77'777}, file.size()}) {
    std::vector<std::string> got;
    for (std::size_t offset = 0; offset < file.size(); offset += length) {
      MemorySource source(file, 4096);
      const Split split{"f", offset, std::min(length, file.size() - offset), file.size()};
      const Status status = RecordFiles::Read(source, split, {}, [&](KeyValue record, std::uint64_t at) {
        EXPECT_TRUE(at >= split.offset && at <= split.end());
        got.push_back(std::string(record.key) + std::string(record.value));
      });
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(got, want) << length;
  }
}

}  // namespace
}  // namespace millrace
