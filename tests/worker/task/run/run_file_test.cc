// SPDX-License-Identifier: Apache-2.0
#include "worker/task/run/run_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/random.h"
#include "tests/worker/task/run/encode_records.h"

namespace millrace::run {
namespace {

using Partitions = std::vector<std::vector<Record>>;

class RunFileTest : public testing::TestWithParam<bool> {
 protected:
  RunFileTest() : dir_(TempDir::Make("runfile").value()), path_(dir_.path() + "/run") {}

  void Write(const Partitions& partitions, bool encoded = false) {
    RunWriter writer = RunWriter::Create(path_, GetParam()).value();
    WriteTo(writer, partitions, encoded);
  }
  static void WriteTo(RunWriter& writer, const Partitions& partitions, bool encoded) {
    for (const auto& records : partitions) {
      writer.BeginPartition();
      if (encoded) {
        ASSERT_TRUE(writer.AddEncoded(EncodeRecords(records), records.size()).ok());
      } else {
        for (const auto& [key, value] : records) ASSERT_TRUE(writer.Add(key, value).ok());
      }
      ASSERT_TRUE(writer.EndPartition().ok());
    }
    ASSERT_TRUE(writer.Finish().ok());
  }
  Result<std::vector<SegmentInfo>> Index() {
    const Fd fd = OpenFile(path_, O_RDONLY).value();
    return ReadRunIndex(fd.get(), path_);
  }
  void Overwrite(std::string_view bytes) {
    const Fd fd = OpenFile(path_, O_WRONLY | O_CREAT | O_TRUNC).value();
    ASSERT_TRUE(WriteAll(fd.get(), bytes, path_).ok());
  }
  void ExpectContent(const Partitions& partitions) {
    const std::string bytes = ReadWholeFile(path_).value();
    const std::vector<SegmentInfo> index = Index().value();
    ASSERT_EQ(index.size(), partitions.size());
    for (std::size_t p = 0; p < index.size(); ++p) {
      const std::string_view stored = std::string_view(bytes).substr(index[p].offset, index[p].length);
      EXPECT_TRUE(VerifySegment(stored, index[p], "s").ok());
      EXPECT_EQ(index[p].compressed, GetParam());
      EXPECT_EQ(index[p].records, partitions[p].size());
      SegmentCursor cursor(stored, index[p].compressed, "s");
      for (const auto& [key, value] : partitions[p]) {
        ASSERT_TRUE(cursor.Next()) << cursor.status().message();
        ASSERT_TRUE(cursor.key() == key);
        ASSERT_TRUE(cursor.value() == value);
      }
      EXPECT_FALSE(cursor.Next());
      EXPECT_FALSE(cursor.Next());
      EXPECT_TRUE(cursor.status().ok()) << cursor.status().message();
      EXPECT_EQ(cursor.raw_bytes_consumed(), index[p].raw_length);
    }
  }

  TempDir dir_;
  std::string path_;
};

INSTANTIATE_TEST_SUITE_P(Compression, RunFileTest, testing::Bool());

std::string RandomText(Random& random, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.Below(256));
  return text;
}

TEST_P(RunFileTest, KeepsEmptyAndBinaryRecords) {
  const Partitions partitions = {
      {{"", ""}, {"", "v"}, {std::string(1, '\0'), ""}, {std::string("a\0b", 3), std::string(3, '\0')}}};
  Write(partitions);
  ExpectContent(partitions);
}

TEST_P(RunFileTest, KeepsEmptyPartitionsAndNoPartitions) {
  Write({});
  ExpectContent({});
  Write({{}, {{"k", "v"}}, {}, {}});
  ExpectContent({{}, {{"k", "v"}}, {}, {}});
}

TEST_P(RunFileTest, KeepsRecordsOfTenMegabytes) {
  Random random(7);
  const Partitions partitions = {
      {{"a", "small"}, {"b", RandomText(random, 10 << 20)}, {"c", std::string(10 << 20, 'x')}},
      {{std::string(10 << 20, 'k'), "v"}, {"z", ""}}};
  Write(partitions);
  ExpectContent(partitions);
}

TEST_P(RunFileTest, KeepsAThousandPartitionsOfRandomRecords) {
  const std::uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Partitions partitions(1000);
  for (auto& records : partitions) {
    for (std::uint64_t n = random.Below(60); n > 0; --n) {
      records.emplace_back(RandomText(random, random.Below(300)), RandomText(random, random.Below(3) == 0 ? 2000 : 5));
    }
  }
  Write(partitions);
  ExpectContent(partitions);
  Write(partitions, /*encoded=*/true);
  ExpectContent(partitions);
}

TEST_P(RunFileTest, CutsFramesBetweenRecords) {
  Partitions partitions(1);
  for (int i = 0; i < 20000; ++i) partitions[0].emplace_back("key" + std::to_string(1000000 + i), "some value");
  Write(partitions, /*encoded=*/true);
  ExpectContent(partitions);
  if (!GetParam()) return;
  const std::string bytes = ReadWholeFile(path_).value();
  const SegmentInfo info = Index().value()[0];
  EXPECT_LT(info.length, info.raw_length / 4);
  std::uint64_t raw = 0;
  for (std::size_t at = 0; at < info.length;) {
    std::uint32_t lengths[2];
    std::memcpy(lengths, bytes.data() + at, sizeof lengths);
    EXPECT_LE(lengths[1], kFrameBytes);
    raw += lengths[1];
    at += sizeof lengths + lengths[0];
  }
  EXPECT_EQ(raw, info.raw_length);
}

// The lengths of the file are what it claims: only the disk does not have it.
TEST_P(RunFileTest, AClaimOfMorePartitionsIsRefusedBeforeAnythingIsAllocated) {
  const std::uint64_t partitions = (std::uint64_t{7} << 30) / 40;
  Encoder footer;
  footer.U64(0);
  footer.U32(static_cast<std::uint32_t>(partitions));
  footer.U32(0);
  footer.U64(0x314e55524c4c494d);
  Overwrite("");
  const Fd fd = OpenFile(path_, O_RDWR).value();
  ASSERT_TRUE(WriteAllAt(fd.get(), footer.bytes(), partitions * 40, path_).ok());
  rlimit before = {}, little = {};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  little = before;
  little.rlim_cur = std::size_t{1} << 30;  // nothing of this length can be allocated
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &little), 0);
  const auto known = ReadRunIndex(fd.get(), path_, 4), unknown = ReadRunIndex(fd.get(), path_);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_EQ(known.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(known.status().message().find("partitions, and the job has 4"), std::string::npos);
  EXPECT_EQ(unknown.status().code(), StatusCode::kCorrupt);
}

TEST_P(RunFileTest, AnotherNumberOfPartitionsThanTheJobHasIsRefused) {
  Write({{{"k", "v"}}, {}});
  const Fd fd = OpenFile(path_, O_RDONLY).value();
  EXPECT_TRUE(ReadRunIndex(fd.get(), path_, 2).ok());
  for (const std::uint32_t other : {0U, 1U, 3U}) EXPECT_FALSE(ReadRunIndex(fd.get(), path_, other).ok()) << other;
}

TEST_P(RunFileTest, ASegmentClaimsNoMoreThanItsBytesCanHold) {
  const auto index = [&](SegmentInfo segment) {
    segment.length = 10;
    segment.compressed = GetParam();
    Overwrite(std::string(10, 'x') + EncodeRunIndex({segment}, 10));
    return Index().status().code();
  };
  const std::uint64_t most = GetParam() ? 10 << 16 : 10;
  EXPECT_EQ(index({.raw_length = most, .records = most / 2}), StatusCode::kOk);
  EXPECT_EQ(index({.raw_length = most, .records = most / 2 + 1}), StatusCode::kCorrupt);
  EXPECT_EQ(index({.raw_length = std::uint64_t{1} << 60, .records = 1}), StatusCode::kCorrupt);
  EXPECT_EQ(index({.raw_length = 0, .records = 0}), StatusCode::kCorrupt);
}

// The expected layout is what run_file.h promises, built by hand.
TEST_P(RunFileTest, HasTheDocumentedLayout) {
  Write({{{"k", "v"}}, {}});
  Encoder segment;
  if (GetParam()) segment.U32(4), segment.U32(4);  // too short to shrink: stored as it is
  segment.Raw("\x01\x01kv", 4);
  Encoder index;
  const std::uint64_t size = segment.bytes().size();
  for (const bool first : {true, false}) {
    index.U64(first ? 0 : size);
    index.U64(first ? size : 0);
    index.U64(first ? 4 : 0);
    index.U64(first ? 1 : 0);
    index.U32(first ? Crc32c(segment.bytes()) : 0);
    index.U32(GetParam() ? 1 : 0);
  }
  index.U64(size);
  index.U32(2);
  index.U32(Crc32c(index.bytes()));
  index.Raw("MILLRUN1", 8);
  EXPECT_EQ(ReadWholeFile(path_).value(), segment.bytes() + index.bytes());
}

TEST_P(RunFileTest, EveryFlippedBitOfIndexAndFooterIsNoticed) {
  Write({{{"k", "v"}}, {{"l", "w"}}});
  const std::string good = ReadWholeFile(path_).value();
  const std::size_t index_offset = Index().value()[1].offset + Index().value()[1].length;
  for (std::size_t at = index_offset; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      Overwrite(bad);
      ASSERT_EQ(Index().status().code(), StatusCode::kCorrupt) << "byte " << at << " bit " << bit;
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    Overwrite(good.substr(0, size));
    ASSERT_EQ(Index().status().code(), StatusCode::kCorrupt) << "cut to " << size;
  }
}

TEST_P(RunFileTest, FlippedSegmentFailsVerification) {
  Write({{{"key", "value"}}});
  std::string bytes = ReadWholeFile(path_).value();
  const SegmentInfo info = Index().value()[0];
  bytes[3] ^= 1;
  const Status status = VerifySegment(std::string_view(bytes).substr(0, info.length), info, "of map 7");
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_NE(status.message().find("of map 7"), std::string::npos);
  EXPECT_FALSE(VerifySegment(std::string_view(bytes).substr(0, info.length - 1), info, "s").ok());
}

// With damaged bytes that nobody checked, the cursor ends with or without a failure, but stays within them (which asan
// checks).
TEST_P(RunFileTest, DamagedSegmentsAreNeverReadOutOfRange) {
  const std::uint64_t seed = 5;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Partitions partitions(1);
  for (int i = 0; i < 3000; ++i)
    partitions[0].emplace_back(RandomText(random, random.Below(9)), std::string(random.Below(200), 'x'));
  Write(partitions);
  const SegmentInfo info = Index().value()[0];
  const std::string good = ReadWholeFile(path_).value().substr(0, info.length);
  int failures = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<char> bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(random.Below(good.size() + 1)));
    for (std::uint64_t flips = random.Below(4); flips > 0 && !bytes.empty(); --flips) {
      bytes[random.Below(round % 2 == 0 ? std::min<std::size_t>(bytes.size(), 40) : bytes.size())] =
          static_cast<char>(random.Below(256));
    }
    bytes.shrink_to_fit();
    SegmentCursor cursor({bytes.data(), bytes.size()}, GetParam(), "s");
    std::uint64_t sum = 0;
    while (cursor.Next()) {
      for (const char c : cursor.key()) sum += static_cast<unsigned char>(c);
      for (const char c : cursor.value()) sum += static_cast<unsigned char>(c);
    }
    EXPECT_LE(sum, std::uint64_t{255} * info.raw_length * 2);
    EXPECT_FALSE(cursor.Next());
    if (!cursor.status().ok()) {
      EXPECT_EQ(cursor.status().code(), StatusCode::kCorrupt);
      ++failures;
    }
  }
  EXPECT_GT(failures, 200);
}

TEST(SegmentCursorTest, LengthsBeyondTheSegmentAreCorrupt) {
  for (const std::string_view bytes :
       {std::string_view("\x05\x01kv"), std::string_view("\x01"), std::string_view("\x80"),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01kv"),
        std::string_view("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01kv"),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01kv")}) {
    SegmentCursor cursor(bytes, false, "of map 3");
    EXPECT_FALSE(cursor.Next());
    EXPECT_EQ(cursor.status().code(), StatusCode::kCorrupt);
    EXPECT_NE(cursor.status().message().find("of map 3"), std::string::npos);
  }
}

TEST(SegmentCursorTest, FramesThatClaimTooMuchAreCorrupt) {
  Encoder frame;
  frame.U32(4);
  frame.U32(0xffffffff);
  frame.Raw("abcd", 4);
  SegmentCursor cursor(frame.bytes(), true, "s");
  EXPECT_FALSE(cursor.Next());
  EXPECT_EQ(cursor.status().code(), StatusCode::kCorrupt);
}

TEST(SegmentCursorTest, MovesWithItsPlace) {
  Encoder bytes;
  bytes.Raw(
      "\x01\x01"
      "ax\x01\x01"
      "by",
      8);
  SegmentCursor first(bytes.bytes(), false, "s");
  ASSERT_TRUE(first.Next());
  SegmentCursor second = std::move(first);
  EXPECT_EQ(second.key(), "a");
  ASSERT_TRUE(second.Next());
  EXPECT_EQ(second.value(), "y");
}

std::vector<Record> WordRecords(Random& random, int count) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) records.emplace_back("word" + std::to_string(random.Below(5000)), "v");
  return records;
}

class DecidedRunTest : public RunFileTest {
 protected:
  void WriteDecided(const Partitions& partitions, bool encoded) {
    asked_.clear();
    RunWriter writer = RunWriter::Create(path_, [this](std::string_view first) {
                         asked_.emplace_back(first);
                         return GetParam();
                       }).value();
    WriteTo(writer, partitions, encoded);
  }
  std::vector<std::string> asked_;
};

INSTANTIATE_TEST_SUITE_P(Compression, DecidedRunTest, testing::Bool());

TEST_P(DecidedRunTest, IsTheRunThatWouldHaveBeenWrittenWithTheAnswerKnown) {
  Random random(11);
  const std::vector<Partitions> runs = {
      {{{"key", "value"}}},
      {{{"a", "1"}, {"b", "2"}}, {}, {{"c", "3"}}},
      {{{"long", std::string(10 << 20, 'v')}, {"short", ""}}},
      {WordRecords(random, 30000), WordRecords(random, 10), WordRecords(random, 30000)},
  };
  for (const Partitions& partitions : runs) {
    for (const bool encoded : {false, true}) {
      WriteDecided(partitions, encoded);
      const std::string decided = ReadWholeFile(path_).value();
      ExpectContent(partitions);
      EXPECT_EQ(asked_.size(), 1u);
      Write(partitions, encoded);
      EXPECT_TRUE(decided == ReadWholeFile(path_).value());
    }
  }
}

TEST_P(DecidedRunTest, IsAskedWithTheFirstFrameOfRecords) {
  Partitions partitions(2);
  for (int i = 0; i < 2000; ++i) partitions[1].emplace_back("k" + std::to_string(10000 + i), std::string(100, 'v'));
  WriteDecided(partitions, false);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_LE(asked_[0].size(), kFrameBytes);
  EXPECT_GT(asked_[0].size(), kFrameBytes - 200);
  EXPECT_EQ(asked_[0].substr(2, 6), "k10000");
  const std::vector<SegmentInfo> index = Index().value();
  EXPECT_FALSE(index[0].compressed) << "it holds nothing";
  EXPECT_EQ(index[1].compressed, GetParam());
}

TEST_P(DecidedRunTest, WithoutRecordsNobodyIsAsked) {
  WriteDecided(Partitions(3), false);
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(Index().value().size(), 3u);
}

TEST(RunWriterTest, SaysWhichFileCannotBeMade) {
  const Result<RunWriter> writer = RunWriter::Create("/nonexistent-directory/run", false);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().code(), StatusCode::kNotFound);
  EXPECT_NE(writer.status().message().find("/nonexistent-directory/run"), std::string::npos);
}

TEST(RunWriterTest, FailureSticks) {
  RunWriter writer = RunWriter::Create("/dev/full", false).value();
  writer.BeginPartition();
  EXPECT_EQ(writer.Add("k", std::string(1 << 20, 'x')).code(), StatusCode::kNoSpace);
  EXPECT_EQ(writer.Add("k", "v").code(), StatusCode::kNoSpace);
  EXPECT_FALSE(writer.EndPartition().ok());
  writer.BeginPartition();
  EXPECT_EQ(writer.Finish().code(), StatusCode::kNoSpace);
}

}  // namespace
}  // namespace millrace::run
