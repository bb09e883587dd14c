// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <vector>

#include "client/format/record_file.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string, std::string>>;
constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

std::string Write(const Pairs& records, std::uint64_t seed = 1) {
  std::string file;
  RecordWriter writer(
      [&](std::string_view bytes) {
        file += bytes;
        return Status::Ok();
      },
      Random(seed));
  for (const auto& [key, value] : records) EXPECT_TRUE(writer.Append(key, value).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return file;
}

Result<RecordReader> Open(const std::string& file, std::uint64_t begin = 0, std::uint64_t end = kEnd) {
  return RecordReader::Open(
      [&file](std::uint64_t offset, std::size_t size, char* out) {
        EXPECT_LE(offset, file.size());
        EXPECT_LE(size, file.size() - offset);
        std::memcpy(out, file.data() + offset, size);
        return Status::Ok();
      },
      file.size(), begin, end, "part-0");
}

// Adds the records of the split. Returns the failure that ended it, if any.
Status Read(const std::string& file, Pairs& records, std::uint64_t begin = 0, std::uint64_t end = kEnd) {
  MILLRACE_ASSIGN(RecordReader reader, Open(file, begin, end));
  while (true) {
    MILLRACE_ASSIGN(const std::optional<Record> record, reader.Next());
    if (!record) return Status::Ok();
    records.emplace_back(record->key, record->value);
  }
}

Pairs ReadAll(const std::string& file) {
  Pairs records;
  const Status status = Read(file, records);
  EXPECT_TRUE(status.ok()) << status.message();
  return records;
}

std::string RandomText(Random& random, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.Next());
  return text;
}

// Returns records that fill `blocks` blocks, one for each: a record as large as a block, which compresses to little.
Pairs SmallBlocks(int blocks) {
  Pairs records;
  for (int i = 0; i < blocks; ++i) records.emplace_back("k" + std::to_string(i), std::string(kRecordBlockBytes, 'a'));
  return records;
}

TEST(RecordFileTest, GivesBackWhatWasWritten) {
  EXPECT_EQ(ReadAll(Write({})), Pairs{});
  const Pairs odd = {{"", ""}, {"", "v"}, {"k", ""}, {std::string("\0\n\xff", 3), "b"}, {"k", ""}};
  EXPECT_EQ(ReadAll(Write(odd)), odd);
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Pairs many;
  for (int i = 0; i < 3000; ++i) {
    many.emplace_back(RandomText(random, random.Below(40)),
                      std::string(random.Below(400), 'v') + RandomText(random, random.Below(200)));
  }
  many.emplace_back("large", RandomText(random, 3 << 20));
  many.emplace_back("after", "it");
  EXPECT_EQ(ReadAll(Write(many)), many);
}

TEST(RecordFileTest, WhatShrinksIsCompressedAndWhatDoesNotIsNot) {
  Random random(3);
  const std::string noise = RandomText(random, 1 << 20);
  const std::string noisy = Write({{"k", noise}});
  EXPECT_LT(noisy.size(), noise.size() + 200);
  EXPECT_NE(noisy.find(noise), std::string::npos);
  EXPECT_LT(Write({{"k", std::string(1 << 20, 'a')}}).size(), 2000u);
}

TEST(RecordFileTest, BlocksAreSmall) {
  Random random(4);
  Pairs records;
  for (int i = 0; i < 1000; ++i) records.emplace_back("k", RandomText(random, 1000));
  const std::string file = Write(records);
  Pairs first;
  ASSERT_TRUE(Read(file, first, 0, 33).ok());         // the block that starts after the header, at byte 32
  EXPECT_EQ(first.size(), kRecordBlockBytes / 1004);  // 1 + 1 for the key, 2 + 1000 for the value
}

TEST(RecordFileTest, EverySplitPointGivesEachRecordOnce) {
  const Pairs records = SmallBlocks(6);
  const std::string file = Write(records);
  ASSERT_LT(file.size(), 4000u);
  for (std::uint64_t point = 0; point <= file.size(); ++point) {
    Pairs found;
    ASSERT_TRUE(Read(file, found, 0, point).ok()) << point;
    ASSERT_TRUE(Read(file, found, point, file.size()).ok()) << point;
    ASSERT_EQ(found, records) << point;
  }
}

TEST(RecordFileTest, AnyNumberOfSplitsGivesEachRecordOnce) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Pairs records;
  for (int i = 0; i < 2000; ++i) records.emplace_back(std::to_string(i), RandomText(random, random.Below(2000)));
  records.emplace_back("large", RandomText(random, 1 << 20));
  records.emplace_back("after", "it");
  const std::string file = Write(records, seed);
  for (const std::uint64_t step : {std::uint64_t{50'000}, std::uint64_t{65'600}, std::uint64_t{777'777}}) {
    Pairs found;
    for (std::uint64_t begin = 0; begin < file.size(); begin += step) {
      const Status status = Read(file, found, begin, begin + step);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(found, records) << step;
  }
}

TEST(RecordFileTest, AFlippedBitIsAlwaysDetectedAndNothingWrongIsReturned) {
  const Pairs records = SmallBlocks(3);
  const std::string whole = Write(records);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string file = whole;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << (bit % 8)));
    Pairs found;
    const Status status = Read(file, found);
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << bit;
    ASSERT_LE(found.size(), records.size());
    ASSERT_TRUE(std::equal(found.begin(), found.end(), records.begin())) << bit;
  }
}

// However the file is split, one of the splits sees the damage.
TEST(RecordFileTest, AFlippedBitIsDetectedInSplitsToo) {
  const Pairs records = SmallBlocks(4);
  const std::string whole = Write(records);
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    std::string file = whole;
    file[byte] = static_cast<char>(file[byte] ^ 0x10);
    for (std::uint64_t point = 7; point < whole.size(); point += 13) {
      Pairs found;
      const bool first = Read(file, found, 0, point).ok();
      const bool second = Read(file, found, point, whole.size()).ok();
      ASSERT_FALSE(first && second) << "byte " << byte << " split at " << point;
    }
  }
}

TEST(RecordFileTest, ACutOffFileIsDetectedByEverySplit) {
  const std::string whole = Write(SmallBlocks(3));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Pairs found;
    ASSERT_EQ(Read(whole.substr(0, size), found, 0, 40).code(), StatusCode::kCorrupt) << size;
    ASSERT_EQ(Read(whole.substr(0, size), found, size / 2, size).code(), StatusCode::kCorrupt) << size;
  }
  Pairs found;
  EXPECT_EQ(Read(whole + "x", found).code(), StatusCode::kCorrupt);
}

TEST(RecordFileTest, ABlockTakenOutOrDoubledIsDetected) {
  const std::string one = Write(SmallBlocks(1));
  const std::string three = Write(SmallBlocks(3));  // the same marker: the same seed
  const std::size_t block = (three.size() - one.size()) / 2;
  Pairs found;
  EXPECT_EQ(Read(three.substr(0, 32) + three.substr(32 + block), found).code(), StatusCode::kCorrupt);
  EXPECT_EQ(Read(three.substr(0, 32 + block) + three.substr(32), found).code(), StatusCode::kCorrupt);
}

TEST(RecordFileTest, DamageNamesFileAndOffset) {
  std::string file = Write(SmallBlocks(2));
  file[32 + 60] = static_cast<char>(file[32 + 60] ^ 1);
  Pairs found;
  const Status status = Read(file, found);
  EXPECT_THAT(status.message(), HasSubstr("part-0"));
  EXPECT_THAT(status.message(), HasSubstr("byte 32:"));
  auto reader = Open(file);
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(reader->Next().ok());
  EXPECT_FALSE(reader->Next().ok());
}

TEST(RecordFileTest, WhatIsNoRecordFileIsSaidToBeNone) {
  Pairs found;
  EXPECT_EQ(Read("", found).code(), StatusCode::kCorrupt);
  EXPECT_EQ(Read(std::string(1000, 'x'), found).code(), StatusCode::kCorrupt);
}

TEST(RecordFileTest, AFailingSinkAndSourceSayWhy) {
  RecordWriter writer([](std::string_view) { return NoSpace("disk full"); }, Random(1));
  EXPECT_TRUE(writer.Append("k", "v").ok());
  EXPECT_EQ(writer.Finish().code(), StatusCode::kNoSpace);
  EXPECT_EQ(writer.Append("k", "v").code(), StatusCode::kNoSpace);
  const auto refuse = [](std::uint64_t, std::size_t, char*) { return Unavailable("no replica"); };
  EXPECT_EQ(RecordReader::Open(refuse, 1000, 0, 1000, "x").status().code(), StatusCode::kUnavailable);
}

TEST(RecordFileTest, TooLargeARecordIsRefusedAndLeavesTheFileWhole) {
  std::string file;
  RecordWriter writer(
      [&](std::string_view bytes) {
        file += bytes;
        return Status::Ok();
      },
      Random(1));
  EXPECT_TRUE(writer.Append("a", "1").ok());
  EXPECT_EQ(writer.Append("b", std::string(kLargestRecord, 'x')).code(), StatusCode::kInvalid);
  EXPECT_TRUE(writer.Append("c", std::string(kLargestRecord - 1, 'x')).ok());
  EXPECT_TRUE(writer.Finish().ok());
  const Pairs found = ReadAll(file);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].second.size(), kLargestRecord - 1);
}

}  // namespace
}  // namespace millrace
