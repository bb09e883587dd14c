// SPDX-License-Identifier: Apache-2.0
// Jobs of other shapes than word count: a partitioner of their own, fixed-length and record files out, key-value and
// fixed-length records in, counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "client/format/record_file.h"
#include "client/process/task_loop.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

using Piece = TaskDriver::Piece;

std::string Written(const TaskFiles& files, std::uint32_t reduce) {
  const std::string number = std::to_string(reduce);
  return files.tree->written.at("/out/_temporary/job3.r." + number + ".0/part-r-0000" + number);
}

// Runs one map over `piece` and `reduces` reduces. Returns the output of each reduce.
std::vector<std::string> RunJob(TaskDriver& driver, TaskFiles& files, const Piece& piece, std::uint32_t reduces) {
  EXPECT_EQ(driver.SetUpJob(reduces), "");
  driver.LaunchMap(0, {piece}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  std::vector<std::string> parts;
  for (std::uint32_t reduce = 0; reduce < reduces; ++reduce) {
    driver.LaunchReduce(reduce, {driver.Path("m0")});
    EXPECT_EQ(driver.WaitForEnd().error, "");
    parts.push_back(Written(files, reduce));
  }
  return parts;
}

// Partitions keys by their first letter: a to m, then the rest.
struct FirstLetter {
  using Input = KeyValueText;
  using Key = std::string_view;
  using Value = std::string_view;
  static std::uint32_t Partition(const Key& key, std::uint32_t n) { return n > 1 && key.substr(0, 1) > "m" ? 1 : 0; }
  Status Start(TaskContext& context) {
    long_values_ = &context.counter("letters", "long values");
    return Status::Ok();
  }
  void Map(const auto& record, auto& emit) {
    if (record.value.size() > 1) ++*long_values_;
    emit(record.key, record.value);
  }
  Counter* long_values_ = nullptr;
};

TEST(JobShapesTest, APartitionerOfTheJobsOwnDecides) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<FirstLetter>(), files);
  const Piece piece = AddLocal(files, 1, "a", "zoo\t1\nant\t2\nmole\t3\nnest\t4\n");
  EXPECT_EQ(RunJob(driver, files, piece, 2), (std::vector<std::string>{"ant\t2\nmole\t3\n", "nest\t4\nzoo\t1\n"}));
}

struct Unpartitioned {
  using Key = std::string_view;
  using Value = Nothing;
  void Map(std::string_view line, auto& emit) { emit(line); }
};

// With a Combine keys are hashed by another collector.
struct UnpartitionedSum {
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) { emit(line, 1); }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
};

template <class J>
std::vector<std::string> PartsOf(const std::string& lines, std::uint32_t reduces) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<J>(), files);
  return RunJob(driver, files, AddLocal(files, 1, "a", lines), reduces);
}

TEST(JobShapesTest, HashPartitionIsWhatAJobWithoutPartitionHas) {
  constexpr std::uint32_t kReduces = 3;
  std::string lines;
  std::vector<std::string> sorted(kReduces), summed(kReduces);
  for (int i = 10; i < 90; ++i) {
    const std::string line = "a key of more than 16 bytes " + std::to_string(i),
                      key = i % 2 == 0 ? line : line.substr(22);
    lines += key + "\n";
  }
  std::map<std::string, int> keys;
  std::istringstream in(lines);
  for (std::string key; std::getline(in, key);) ++keys[key];
  for (const auto& [key, count] : keys) {
    sorted[HashPartition(key, kReduces)] += key + "\n";
    summed[HashPartition(key, kReduces)] += key + "\t" + std::to_string(count) + "\n";
  }
  EXPECT_EQ(PartsOf<Unpartitioned>(lines, kReduces), sorted);
  EXPECT_EQ(PartsOf<UnpartitionedSum>(lines, kReduces), summed);
}

TEST(JobShapesTest, CountersAreThoseOfTheAttempt) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<FirstLetter>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\t22\ny\t1\nz\t333\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().counters["letters.long values"], 2);
  driver.LaunchMap(1, {AddLocal(files, 2, "b", "x\t1\n")}, driver.Path("m1"));
  EXPECT_EQ(driver.WaitForEnd().counters["letters.long values"], 0) << "a warm process begins again at zero";
}

struct OutOfRange : FirstLetter {
  static std::uint32_t Partition(const Key&, std::uint32_t n) { return n; }
};

TEST(JobShapesTest, APartitionThatDoesNotExistFailsTheAttempt) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<OutOfRange>(), files);
  ASSERT_EQ(driver.SetUpJob(2), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\t1\n")}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error, "");
}

// Sorts records of 4 bytes.
struct SortFours {
  using Input = FixedRecords<4>;
  using Output = FixedOutput<4>;
  using Key = std::string_view;
  using Value = Nothing;
  void Map(std::string_view record, auto& emit) { emit(record); }
};

TEST(JobShapesTest, FixedLengthRecordsInAndOut) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<SortFours>(), files);
  const Piece piece = AddLocal(files, 1, "a", std::string("dd\0dbbbb\nccc", 12));
  EXPECT_EQ(RunJob(driver, files, piece, 1)[0], std::string("\ncccbbbbdd\0d", 12));
}

// Keeps the first and the last of a line's numbers, folded by an operation that does not commute.
struct FirstAndLast {
  struct Value {
    std::uint64_t first = 0, last = 0, count = 0;
  };
  using Input = KeyValueText;
  using Key = std::string_view;
  void Map(const auto& record, auto& emit) {
    const std::uint64_t number = std::stoull(std::string(record.value));
    emit(record.key, {number, number, 1});
  }
  static Value Combine(Value a, Value b) { return {a.first, b.last, a.count + b.count}; }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    Value all;
    bool any = false;
    for (const Value& value : values) {
      all = any ? Combine(all, value) : value;
      any = true;
    }
    emit(key, std::to_string(all.first) + ' ' + std::to_string(all.last) + ' ' + std::to_string(all.count));
  }
};

// The second map's keys are all different, so that its run is sorted and the first one's is not.
TEST(JobShapesTest, MapsFoldInTheirOrderWhetherTheirRunsAreSortedOrNot) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<FirstAndLast>(), files);
  ASSERT_EQ(driver.SetUpJob(2), "");
  std::string folded, single;
  std::map<std::string, std::string> expected;
  for (int key = 0; key < 300; ++key) {
    const std::string name = std::string(static_cast<std::size_t>(key) % 40, 'n') + std::to_string(key);
    for (const char* number : {"7", "1", "5"}) folded += name + '\t' + number + '\n';
    if (key % 2 == 0) single += name + "\t3\n";
    expected[name] = key % 2 == 0 ? "7 3 4" : "7 5 3";
  }
  driver.LaunchMap(0, {AddLocal(files, 1, "a", folded)}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchMap(1, {AddLocal(files, 2, "b", single)}, driver.Path("m1"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  std::string all;
  for (std::uint32_t reduce = 0; reduce < 2; ++reduce) {
    driver.LaunchReduce(reduce, {driver.Path("m0"), driver.Path("m1")});
    TaskDriver::End end = driver.WaitForEnd();
    EXPECT_EQ(end.error, "");
    const std::string part = Written(files, reduce);
    EXPECT_EQ(end.counters["millrace.reduce_input_groups"], std::count(part.begin(), part.end(), '\n'));
    all += part;
  }
  std::map<std::string, std::string> got;
  std::istringstream lines(all);
  for (std::string key, value; std::getline(std::getline(lines, key, '\t'), value);) got[key] = value;
  EXPECT_EQ(got, expected);
}

// The lengths of chunks.
struct ChunkLengths {
  using Input = TextChunks;
  using Key = std::string_view;
  using Value = Nothing;
  void Map(std::string_view chunk, auto& emit) { emit(std::to_string(chunk.size())); }
};

TEST(JobShapesTest, ManyLinesAtATime) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<ChunkLengths>(), files);
  EXPECT_EQ(RunJob(driver, files, AddLocal(files, 1, "a", "one\r\n\ntwo\nthree"), 1)[0], "10\n5\n");
}

struct ToRecords {
  using Output = RecordOutput;
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) { emit(line, line.size()); }
};

TEST(JobShapesTest, RecordFilesOut) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<ToRecords>(), files);
  const std::string part = RunJob(driver, files, AddLocal(files, 1, "a", "three\n\nab\n"), 1)[0];
  const auto read_at = [&part](std::uint64_t offset, std::size_t size, char* out) {
    std::memcpy(out, part.data() + offset, size);
    return Status::Ok();
  };
  Result<RecordReader> reader = RecordReader::Open(read_at, part.size(), 0, part.size(), "part");
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  std::vector<std::string> keys;
  while (true) {
    const Result<std::optional<Record>> record = reader->Next();
    ASSERT_TRUE(record.ok()) << record.status().message();
    if (!*record) break;
    keys.emplace_back((*record)->key);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"", "ab", "three"}));
}

}  // namespace
}  // namespace millrace
