// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_record.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/bytes.h"
#include "base/kv/key_value_store.h"
#include "base/random.h"

namespace millrace::master {
namespace {

JobRecord Sample() {
  JobRecord record;
  record.id = JobId{42};
  record.request.name = "a name with\nnewline";
  record.request.inputs = {"/a", std::string("/b\0c", 4)};
  record.request.output = "/out";
  record.request.reduces = 7;
  record.request.executable = {"/job", 300, 9};
  record.request.pool = "ads";
  record.request.parameters = {{"grep.pattern", "a\tb"}, {"x", ""}};
  record.request.split_by = SplitBy::kFixed;
  record.request.record_bytes = 100;
  record.request.slow_start = 0.25;
  record.request.map_time = 30 * kSecond;
  record.request.reduce_time = 1;
  record.request.locality_waits = {0, 5 * kSecond, 7};
  record.figures.preempted_attempts = 3;
  record.figures.speculative_attempts = 4;
  record.submitted = -5;
  record.ended = 1'700'000'000'000'000;
  record.request.max_failed_maps = 10;
  record.figures.maps_left_out = 2;
  record.left_out = {{3, "/in, bytes 7 to 9"}, {4, "numbers 0 to 9"}};
  record.figures.records_left_out = 5;
  record.left_out_records = {{3, "/in", 1 << 30}, {4, "", 8}};
  record.outcome = JobOutcomeRecord{sched::JobOutcome::kFailed, "why"};
  record.figures.launched_at[3] = 9;
  record.figures.maps_done = 6;
  record.figures.reduces_done = 1;
  record.figures.bytes_read = ~std::uint64_t{0};
  record.counters[{"g", "n"}] = -3;
  record.request.after = {{3}, {300}};
  record.request.even_if_failed = true;
  record.hold = Hold::kOperator;
  record.held_back = 60 * kSecond;
  return record;
}

TEST(JobRecordTest, RoundTrip) {
  const JobRecord record = Sample();
  const Result<JobRecord> read = DecodeJob(JobKey(record.id), EncodeJob(record));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->id, record.id);
  EXPECT_EQ(read->request.inputs, record.request.inputs);
  EXPECT_EQ(read->request.parameters, record.request.parameters);
  EXPECT_EQ(read->request.executable, record.request.executable);
  EXPECT_EQ(read->request.slow_start, 0.25);
  EXPECT_EQ(read->request.split_by, SplitBy::kFixed);
  EXPECT_EQ(read->request.map_time, 30 * kSecond);
  EXPECT_EQ(read->request.reduce_time, 1);
  EXPECT_EQ(read->request.locality_waits, record.request.locality_waits);
  EXPECT_EQ(read->figures.preempted_attempts, 3u);
  EXPECT_EQ(read->figures.speculative_attempts, 4u);
  EXPECT_EQ(read->request.max_failed_maps, 10u);
  EXPECT_EQ(read->figures.maps_left_out, 2u);
  EXPECT_EQ(read->left_out, record.left_out);
  EXPECT_EQ(read->figures.records_left_out, 5u);
  EXPECT_EQ(read->left_out_records, record.left_out_records);
  EXPECT_EQ(read->submitted, -5);
  EXPECT_EQ(read->outcome->reason, "why");
  EXPECT_EQ(read->figures.launched_at[3], 9u);
  EXPECT_EQ(read->figures.maps_done, 6u);
  EXPECT_EQ(read->figures.reduces_done, 1u);
  EXPECT_EQ(read->figures.bytes_read, ~std::uint64_t{0});
  EXPECT_EQ(read->counters, record.counters);
  EXPECT_EQ(read->request.after, record.request.after);
  EXPECT_TRUE(read->request.even_if_failed);
  EXPECT_FALSE(read->waits);
  EXPECT_EQ(read->hold, Hold::kOperator);
  EXPECT_EQ(read->queued(), 0) << "it is held";
  EXPECT_EQ(read->held_back, record.held_back);
  EXPECT_EQ(EncodeJob(*read), EncodeJob(record));
}

// The bytes are those that are on the disks of clusters.
TEST(JobRecordTest, ARecordHasTheBytesOfItsVersion) {
  const JobRecord record = Sample();
  Encoder out;
  out.U8(6);
  for (const char* text : {"a name with\nnewline", "", "/out", "/job", "ads", ""}) out.Text(text);
  out.Varint(2), out.Text("/a"), out.Text(std::string("/b\0c", 4));                        // inputs
  out.Varint(2), out.Text("grep.pattern"), out.Text("a\tb"), out.Text("x"), out.Text("");  // parameters
  out.U8(2), out.U8(2);                                                                    // priority, split by
  for (const std::uint64_t n : {7, 300, 9, 100, 0, 4}) out.Varint(n);  // reduces ... deadline, attempts
  out.U64(0x3fd0000000000000);                                         // slow start: 0.25
  out.Varint(30'000'000), out.Varint(1);                               // times of tasks
  out.Varint(3), out.Varint(0), out.Varint(5'000'000), out.Varint(7);  // waits
  out.Varint(10);                                                      // failed maps
  out.U64(static_cast<std::uint64_t>(-5)), out.U64(0), out.U64(1'700'000'000'000'000);
  out.U8(1), out.U8(1), out.Text("why");                                    // it failed
  for (const std::uint64_t n : {0, 0, 0, 0, 0, 9, 0, 0, 0}) out.Varint(n);  // figures
  out.Varint(~std::uint64_t{0});                                            // bytes read
  for (const std::uint64_t n : {0, 0, 3, 4, 2, 5, 6, 1}) out.Varint(n);     // ... records left out, tasks done
  out.Varint(2), out.Varint(3), out.Text("/in, bytes 7 to 9"), out.Varint(4), out.Text("numbers 0 to 9");
  out.Varint(2), out.Varint(3), out.Text("/in"), out.Varint(1 << 30), out.Varint(4), out.Text(""), out.Varint(8);
  out.Varint(1), out.Text("g"), out.Text("n"), out.U64(static_cast<std::uint64_t>(-3));  // counters
  out.U8(2), out.U8(2);                                                                  // even if failed; held
  out.Varint(2), out.Varint(3), out.Varint(300), out.Varint(0), out.U64(60'000'000);     // after, waits for, held back
  EXPECT_EQ(EncodeJob(record), out.Take());
}

// The engine does not know such a job, so that the record alone has what its start needs.
TEST(JobRecordTest, AWaitingJobIsStoredWithAllThatItsStartNeeds) {
  JobRecord record = Sample();
  record.outcome.reset();
  record.waits = true;
  record.waits_for = {{300}};
  JobRequest& request = record.request;
  request.no_speculation = request.decompresses = true;
  request.skip_bad_records = 3, request.maps = 4, request.records = std::uint64_t{1} << 40, request.pack = 5;
  request.input_sample = std::string("a\0b", 3);
  request.uncut = {"/in/x", "/in/y"};
  request.cuts = {{SplitBy::kFile, true}, {SplitBy::kBlock, false}};
  const Result<JobRecord> read = DecodeJob(JobKey(record.id), EncodeJob(record));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->request, record.request);
  EXPECT_EQ(read->waits_for, record.waits_for);
  EXPECT_TRUE(read->waits);
  EXPECT_EQ(read->queued(), 0);
  const std::string bytes = EncodeJob(record);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(DecodeJob(JobKey(JobId{1}), bytes.substr(0, n)).ok()) << n;
}

// The record is as version 1 wrote it, without what version 2 added.
TEST(JobRecordTest, TheFirstVersionIsRead) {
  Encoder out;
  out.U8(1);
  for (const char* text : {"name", "owner", "/out", "/job", "pool", "token"}) out.Text(text);
  out.Varint(1), out.Text("/in");                                             // inputs
  out.Varint(1), out.Text("key"), out.Text("v");                              // parameters
  out.U8(3), out.U8(0);                                                       // priority, split by
  for (const std::uint64_t n : {2, 100, 7, 0, 60'000'000, 4}) out.Varint(n);  // reduces ... deadline, attempts
  out.U64(0x3fe0000000000000);                                                // slow start: 0.5
  for (const std::uint64_t time : {10, 11, 12}) out.U64(time);
  out.U8(1), out.U8(0), out.Text("");                     // it succeeded
  for (std::uint64_t n = 1; n <= 12; ++n) out.Varint(n);  // figures
  out.Varint(0);                                          // counters
  const Result<JobRecord> read = DecodeJob(JobKey(JobId{5}), out.Take());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->request.pool, "pool");
  EXPECT_EQ(read->request.deadline, 60 * kSecond);
  EXPECT_EQ(read->request.slow_start, 0.5);
  EXPECT_TRUE(read->request.locality_waits.empty());
  EXPECT_EQ(read->ended, 12);
  EXPECT_EQ(read->figures.killed_attempts, 8u);
  EXPECT_EQ(read->figures.bytes_written, 12u);
  EXPECT_EQ(read->figures.preempted_attempts, 0u);
  EXPECT_FALSE(read->waits);
  EXPECT_EQ(read->queued(), read->submitted) << "no job waited for others then";
}

TEST(JobRecordTest, InputsAreDescribed) {
  Split split;
  split.path = "/in/a";
  split.file_length = split.length = 100;
  EXPECT_EQ(DescribeInput({split}), "/in/a");
  EXPECT_EQ(DescribeInput({split, split, split}), "/in/a, and 2 more");
  split.offset = 40;
  split.length = 20;
  EXPECT_EQ(DescribeInput({split}), "/in/a, bytes 40 to 60");
  split.path.clear();
  EXPECT_EQ(DescribeInput({split}), "numbers 40 to 60");
}

TEST(JobRecordTest, RecordsOfAMapsInputAreDescribedAndNoOthers) {
  Split split;
  split.path = "/in/a";
  split.file_length = 100;
  split.offset = 40;
  split.length = 20;
  Split numbers = split;
  numbers.path.clear();
  const MapSplits map = {split, numbers};
  EXPECT_EQ(DescribeRecord(map, {0, 40, 0}), "the record at byte 40 of /in/a");
  EXPECT_EQ(DescribeRecord(map, {1, 59, 0}), "number 59");
  EXPECT_EQ(DescribeRecord(map, {0, 39, 0}), std::nullopt);
  EXPECT_EQ(DescribeRecord(map, {0, 61, 0}), std::nullopt);
  EXPECT_EQ(DescribeRecord(map, {0, ~std::uint64_t{0}, 0}), std::nullopt);
  EXPECT_EQ(DescribeRecord(map, {2, 40, 0}), std::nullopt);
  Split whole = split;
  whole.offset = 0;
  whole.length = whole.file_length;
  EXPECT_EQ(DescribeRecord({whole}, {0, 1000, 0}), "the record at byte 1000 of /in/a") << "it may be compressed";
  whole.path.clear();
  EXPECT_EQ(DescribeRecord({whole}, {0, 1000, 0}), std::nullopt);
}

TEST(JobRecordTest, NoPrefixOfARecordDecodes) {
  const std::string bytes = EncodeJob(Sample());
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(DecodeJob(JobKey(JobId{1}), bytes.substr(0, n)).ok()) << n;
}

TEST(JobRecordTest, DamagedBytesNeverCrash) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::string bytes = EncodeJob(Sample());
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    damaged[random.Below(damaged.size())] = static_cast<char>(random.Next());
    (void)DecodeJob(JobKey(JobId{1}), damaged);
  }
}

const std::vector<MapSplits> kSplits = {
    {{"/a b", "b", 30, 10, 20, {{5, 10}, {6, 10}}, 10}, {"/c", "c", 7, 0, 7, {{8, 7}}, 0}}, {{}}};

TEST(JobRecordTest, SplitsOfMapsRoundTrip) {
  const Result<std::vector<MapSplits>> read = DecodeSplits(EncodeSplits(kSplits));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  ASSERT_EQ((*read)[0].size(), 2u);
  ASSERT_EQ((*read)[1].size(), 1u);
  EXPECT_EQ((*read)[0][0].path, "/a b");
  EXPECT_EQ((*read)[0][0].blocks, kSplits[0][0].blocks);
  EXPECT_EQ((*read)[0][0].first_block_offset, 10u);
  EXPECT_EQ((*read)[0][1].name, "c");
  EXPECT_EQ((*read)[0][1].length, 7u);
  EXPECT_EQ((*read)[0][1].blocks, kSplits[0][1].blocks);
  EXPECT_EQ(EncodeSplits(*read), EncodeSplits(kSplits));
  EXPECT_TRUE(DecodeSplits(EncodeSplits({}))->empty()) << "a job without input";
}

TEST(JobRecordTest, TheInputOfASplitRoundTrips) {
  std::vector<MapSplits> splits = kSplits;
  splits[0][1].input = 3;
  splits[1][0].input = 300;
  const Result<std::vector<MapSplits>> read = DecodeSplits(EncodeSplits(splits));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ((*read)[0][0].input, 0u);
  EXPECT_EQ((*read)[0][1].input, 3u);
  EXPECT_EQ((*read)[1][0].input, 300u);
}

// The record is as version 2 wrote it, without a split's input.
TEST(JobRecordTest, SplitsOfTheSecondVersionAreRead) {
  Encoder out;
  out.U8(2);
  out.Varint(2);  // maps
  for (const char* name : {"a", "b"}) {
    out.Varint(1);  // splits of the map
    out.Text(std::string("/in/") + name), out.Text(name);
    for (const std::uint64_t n : {30, 10, 20, 10}) out.Varint(n);  // length of the file, offset, length, first block's
    out.Varint(1);                                                 // blocks
    out.U64(5), out.Varint(20), out.U32(7);
  }
  const Result<std::vector<MapSplits>> read = DecodeSplits(out.Take());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[1][0].path, "/in/b");
  EXPECT_EQ((*read)[1][0].blocks.at(0).crc, 7u);
  EXPECT_EQ((*read)[1][0].input, 0u);
}

TEST(JobRecordTest, SplitsThatCannotBeAreRefused) {
  const std::string bytes = EncodeSplits(kSplits);
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(DecodeSplits(bytes.substr(0, n)).ok()) << n;
  EXPECT_FALSE(DecodeSplits(bytes + '\0').ok());
  EXPECT_FALSE(DecodeSplits('\1' + bytes.substr(1)).ok()) << "as they were when a map had one";
  EXPECT_EQ(DecodeSplits(EncodeSplits({kSplits[0], {}})).status().code(), StatusCode::kCorrupt) << "a map without any";
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    damaged[random.Below(damaged.size())] = static_cast<char>(random.Next());
    (void)DecodeSplits(damaged);
  }
}

TEST(JobRecordTest, ReportsRoundTrip) {
  TaskReport report{{{{"g", "n"}, 4}}, 1, 2, 3};
  const Result<TaskReport> back = DecodeReport(EncodeReport(report));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->counters, report.counters);
  EXPECT_EQ(back->bytes_written, 3u);
}

TEST(JobRecordTest, TaskKeysRoundTripInOrder) {
  const TaskId map{JobId{3}, TaskKind::kMap, 300};
  EXPECT_EQ(ParseTaskKey(TaskKey(map)), map);
  EXPECT_LT(TaskKey({JobId{3}, TaskKind::kMap, 9}), TaskKey(map));
  EXPECT_FALSE(ParseTaskKey("t/short").has_value());
  EXPECT_FALSE(ParseTaskKey("x" + TaskKey(map).substr(1)).has_value());
  EXPECT_FALSE(ParseTaskKey("t/" + KeyNumber((std::uint64_t{1} << 32) + 3) + "m" + KeyNumber(1)).has_value());
}

TEST(CountersTest, SumsStayAtTheEndsOfTheirRange) {
  using Limits = std::numeric_limits<std::int64_t>;
  Counters sums;
  for (int i = 0; i < 3; ++i)
    AddCounters({{{"g", "up"}, Limits::max() - 1}, {{"g", "down"}, Limits::min() + 1}, {{"g", "plain"}, 2}}, &sums);
  EXPECT_EQ((sums[{"g", "up"}]), Limits::max());
  EXPECT_EQ((sums[{"g", "down"}]), Limits::min());
  EXPECT_EQ((sums[{"g", "plain"}]), 6);
}

}  // namespace
}  // namespace millrace::master
