// SPDX-License-Identifier: Apache-2.0
// Maps whose input is compressed.
#include <gtest/gtest.h>

#include <algorithm>

#include "examples/words/sequencecount.h"
#include "examples/words/wordcount.h"
#include "tests/client/api/task_driver.h"
#include "tests/compress/compress.h"

namespace millrace {
namespace {

using enum Compression;

struct Lines {
  explicit Lines(TaskContext& task) : context(task) {}
  void Map(std::string_view line, auto& emit) {
    emit(std::string(context.input_name()) + "@" + std::to_string(context.input_offset()) + " " + std::string(line));
  }
  TaskContext& context;
};

constexpr const char* kOutput = "/out/_temporary/job3.m.0.0/part-m-00000";

TEST(CompressedTaskTest, AMapReadsFilesOfEveryKindOneAfterTheOther) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Lines>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  std::uint64_t block = 1, bytes = 0;
  std::vector<TaskDriver::Piece> pieces;
  for (const Compression compression : {kGzip, kNone, kZstd, kBzip2}) {
    const std::string name = compression == kNone ? "plain" : std::string(ToString(compression));
    pieces.push_back(AddLocal(files, block++, name, Compress(compression, "one\ntwo\n")));
    bytes += pieces.back().length;
  }
  driver.LaunchMap(0, pieces, "");
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(files.tree->written[kOutput],
            "gzip@0 one\ngzip@4 two\nplain@0 one\nplain@4 two\nzstd@0 one\nzstd@4 two\nbzip2@0 one\nbzip2@4 two\n");
  EXPECT_EQ(end.counters["millrace.map_input_records"], 8);
  EXPECT_EQ(end.counters["millrace.map_input_bytes"], static_cast<std::int64_t>(bytes)) << "as they are stored";
  EXPECT_EQ(end.counters["millrace.bytes_read_local"], static_cast<std::int64_t>(bytes));
}

TEST(CompressedTaskTest, ABlockOfAnotherMachineComesInPieces) {
  TaskFiles files;
  const std::string file = CompressGzip("one two\ntwo\n");
  files.tree->MakeFile("/in/f", file);
  files.remote[2] = file;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {{"/in/f", "f", file.size(), 0, file.size(), 2}}, driver.Path("m0"));
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.bytes_read_remote"], static_cast<std::int64_t>(file.size()));
  EXPECT_EQ(files.connections, 0) << "the first bytes are looked at as they come by";
  driver.LaunchReduce(0, {driver.Path("m0")});
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"], "one\t1\ntwo\t2\n");
}

TEST(CompressedTaskTest, AFileThatIsCutOffFailsTheAttempt) {
  TaskFiles files;
  const std::string file = CompressGzip("one two\ntwo\n");
  TaskDriver driver(internal::BindJob<Lines>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "cut.gz", file.substr(0, 20))}, "");
  EXPECT_EQ(driver.WaitForEnd().error,
            "\"/in/cut.gz\" cannot be decompressed (gzip) at byte 20 of its 20: the file ends inside of it; was it cut "
            "off?");
}

TEST(CompressedTaskTest, SequencesOfWordsEndWithWhatTheFileDecompressesTo) {
  TaskFiles files;
  const std::string file = CompressGzip("a b c d");
  ASSERT_GT(file.size(), 7u) << "there are stored bytes where a reader of text would look for the end of the word";
  TaskDriver driver(internal::BindJob<examples::SequenceCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a.gz", file)}, driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"], "a|b|c\t1\nb|c|d\t1\n");
}

TEST(CompressedTaskTest, TheOptionLeavesBytesAsTheyAre) {
  TaskFiles files;
  const std::string file = CompressGzip("one two\ntwo\n");
  TaskDriver driver(internal::BindJob<Lines>(), files);
  ASSERT_EQ(driver.SetUpJob(0, {{"input.decompress", "false"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a.gz", file)}, "");
  const TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters.at("millrace.map_input_records"), std::ranges::count(file, '\n') + 1);
  EXPECT_TRUE(files.tree->written[kOutput].starts_with("a.gz@0 \x1f\x8b"));
}

struct StoredBytes {
  using Record = std::string_view;
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsStoredBytes = true;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    return source.Stream(split.offset, split.length, [&](std::string_view piece) {
      on_record(piece, std::uint64_t{0});
      return true;
    });
  }
};
struct OwnInput {
  using Input = StoredBytes;
  void Map(std::string_view bytes, auto& emit) { emit(std::to_string(bytes.size())); }
};

TEST(CompressedTaskTest, AnInputMayReadFilesAsTheyAreStored) {
  TaskFiles files;
  const std::string file = CompressGzip("one two\ntwo\n");
  TaskDriver driver(internal::BindJob<OwnInput>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a.gz", file)}, "");
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written[kOutput], std::to_string(file.size()) + "\n");
}

// The fraction at each record of a map.
struct Progress {
  explicit Progress(TaskContext& task) : context(task) {}
  void Map(std::string_view, auto&) { fractions.push_back(context.fraction()); }
  TaskContext& context;
  inline static std::vector<double> fractions;
};

TEST(CompressedTaskTest, ProgressGoesByCompressedBytes) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Progress>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  Progress::fractions.clear();
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + "\n";
  const TaskDriver::Piece zipped = AddLocal(files, 1, "a.gz", CompressGzip(text));
  const TaskDriver::Piece plain = AddLocal(files, 2, "b", std::string(zipped.length / 10, '\n'));
  driver.LaunchMap(0, {zipped, plain}, "");
  ASSERT_EQ(driver.WaitForEnd().error, "");
  const std::vector<double>& at = Progress::fractions;
  ASSERT_EQ(at.size(), 200'000 + plain.length);
  EXPECT_TRUE(std::ranges::is_sorted(at));
  const double zipped_share = static_cast<double>(zipped.length) / static_cast<double>(zipped.length + plain.length);
  EXPECT_LE(at[199'999], zipped_share);
  EXPECT_NEAR(at[100'000], zipped_share / 2, 0.2);
  EXPECT_GE(at[200'000], zipped_share) << "the next input goes on where this one ended";
  EXPECT_LT(at[200'000], zipped_share + 0.01);
  EXPECT_GT(at.back(), 0.99);
  EXPECT_LE(at.back(), 1);
}

}  // namespace
}  // namespace millrace
