// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/clock.h"
#include "examples/words/wordcount.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

TEST(TaskInputsTest, ASplitIsCompletedFromRemoteBlocks) {
  TaskFiles files;
  const std::string file = "one two\nthree four\nfive\n";
  files.tree->MakeFile("/in/f", file);
  files.tree->entries["/in/f"].options.block_size = 5;  // so block 8 begins at byte 5
  files.remote[8] = file.substr(5, 8);                  // "wo\nthree"
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {{"/in/f", "f", file.size(), 5, 8, 8}}, driver.Path("m0"));
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_input_records"], 1);
  EXPECT_GE(end.counters["millrace.bytes_read_remote"], 8 + 1 + 5);
  EXPECT_EQ(end.counters["millrace.remote_read_micros"], 2 * 100) << "for each piece of the block";
  driver.LaunchReduce(0, {driver.Path("m0")});
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"], "four\t1\nthree\t1\n");
}

TEST(TaskInputsTest, AReplicaThatIsGoneIsLookedUpAgain) {
  TaskFiles files;
  files.tree->MakeFile("/in/f", "a b\n");
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {{"/in/f", "f", 4, 0, 4, 9}}, driver.Path("m0"));
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_output_records"], 2);
}

// Runs a map over a file whose replicas are all away until it has waited `pauses` times.
TaskDriver::End MapWithReplicasAway(std::size_t pauses, const Status& why, std::vector<Micros>* waited) {
  TaskFiles files;
  files.tree->MakeFile("/in/f", "a b\n");
  files.tree->on_read = [=](const std::string&) { return waited->size() >= pauses ? Status::Ok() : why; };
  files.pause = [=](Micros time) { waited->push_back(time); };
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  EXPECT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {{"/in/f", "f", 4, 0, 4, 9}}, driver.Path("m0"));
  return driver.WaitForEnd();
}

TEST(TaskInputsTest, ReplicasThatAreAwayAreWaitedFor) {
  std::vector<Micros> waited;
  const TaskDriver::End end = MapWithReplicasAway(3, Unavailable("no replica answers"), &waited);
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(waited, (std::vector<Micros>{1 * kSecond, 2 * kSecond, 4 * kSecond}));
}

TEST(TaskInputsTest, ReplicasThatStayAwayFailTheAttemptAndWhatIsNoReplicaIsNotWaitedFor) {
  std::vector<Micros> waited;
  EXPECT_NE(MapWithReplicasAway(100, Corrupt("every replica is damaged"), &waited).error, "");
  EXPECT_EQ(waited, (std::vector<Micros>{1 * kSecond, 2 * kSecond, 4 * kSecond, 8 * kSecond}));
  waited.clear();
  EXPECT_NE(MapWithReplicasAway(100, NotFound("the file is gone"), &waited).error, "");
  EXPECT_TRUE(waited.empty());
}

struct WhereFrom {
  explicit WhereFrom(TaskContext& task) : context(task) {}
  void Map(std::string_view line, auto& emit) {
    emit(std::string(context.input_name()) + " " + std::to_string(context.input_number()) + " " + std::string(line));
  }
  TaskContext& context;
};

TEST(TaskInputsTest, AMapKnowsOfWhichInputARecordIs) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<WhereFrom>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(
      0, {AddLocal(files, 1, "a", "1\n2"), AddLocal(files, 2, "empty", ""), AddLocal(files, 3, "b", "3\n")}, "");
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_input_records"], 3);
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.m.0.0/part-m-00000"], "a 0 1\na 0 2\nb 2 3\n");
}

struct Counting {
  using Input = Numbers;
  void Map(std::uint64_t number, auto& emit) { emit(number); }
};

struct WhichInput {
  explicit WhichInput(TaskContext& task) : context(task) {}
  void Map(std::string_view line, auto& emit) {
    emit(std::to_string(context.input_index()) + " " + std::string(context.input_path()) + " " + std::string(line));
  }
  TaskContext& context;
};

TEST(TaskInputsTest, AMapKnowsOfWhichInputAndFileARecordIs) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<WhichInput>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  const auto add = [&](std::uint64_t block, const std::string& path, std::uint32_t input, const std::string& bytes) {
    files.local[block] = bytes;
    files.tree->MakeFile(path, bytes);
    return TaskDriver::Piece{path, "part-r-00000", bytes.size(), 0, bytes.size(), block, input};
  };
  driver.LaunchMap(0,
                   {add(1, "/users/part-r-00000", 0, "ann\n"), add(2, "/orders/part-r-00000", 1, "tea\n"),
                    add(3, "/users/part-r-00000", 2, "bob\n")},
                   "");
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.m.0.0/part-m-00000"],
            "0 /users/part-r-00000 ann\n1 /orders/part-r-00000 tea\n2 /users/part-r-00000 bob\n");
}

TEST(TaskInputsTest, NumbersAreMappedWithoutFiles) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Counting>(), files);
  ASSERT_EQ(driver.SetUpJob(0, {{"input.maps", "3"}, {"input.records", "11"}}), "");
  driver.LaunchMap(1, {{"", "", 11, 4, 4, 0}}, "");
  const TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters.at("millrace.map_input_records"), 4);
  EXPECT_EQ(end.counters.at("millrace.map_input_bytes"), 0);
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.m.1.0/part-m-00001"], "4\n5\n6\n7\n");
}

}  // namespace
}  // namespace millrace
