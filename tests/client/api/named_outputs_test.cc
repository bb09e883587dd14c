// SPDX-License-Identifier: Apache-2.0
// Named outputs: which files a task writes, in which formats, and that all of them are handed over together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <vector>

#include "base/file.h"
#include "client/solo/solo.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A line is "order days". Orders that were long under way go to outputs of their own.
struct Orders {
  static constexpr NamedOutput<"late"> kLate{};
  static constexpr NamedOutput<"lost", FixedOutput<9>> kLost{};
  static constexpr NamedOutput<"never"> kNever{};
  using Outputs = NamedOutputs<kLate, kLost, kNever>;
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) {
    const std::size_t space = line.find(' ');
    std::uint64_t days = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), days);
    emit(line.substr(0, space), days);
  }
  void Reduce(std::string_view order, auto& days, auto& emit) {
    for (const std::uint64_t day : days) {
      if (day > 99) {
        emit.To(kLost, order, day);
      } else if (day > 30) {
        emit.To(kLate, order, day);
      } else {
        emit(order, day);
      }
    }
  }
  void FinishReduce(auto& emit) { emit.To(kLate, "end"); }
};

constexpr const char* kOrders = "a 5\nb 31\nc 100\nd 30\ne 77\n";

std::string Aside(const TaskFiles& files, const std::string& name) {
  const auto found = files.tree->written.find("/out/_temporary/" + name);
  return found == files.tree->written.end() ? "none" : found->second;
}

TEST(NamedOutputsTest, AReduceWritesThemBesideItsPartFile) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Orders>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", kOrders)}, driver.Path("m0"));
  EXPECT_THAT(driver.WaitForEnd().named, IsEmpty());
  driver.LaunchReduce(0, {driver.Path("m0")});
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(end.output_name, "part-r-00000");
  EXPECT_THAT(end.named, UnorderedElementsAre("late-r-00000", "lost-r-00000")) << "what nothing is written to is not";
  EXPECT_EQ(Aside(files, "job3.r.0.0/part-r-00000"), "a\t5\nd\t30\n");
  EXPECT_EQ(Aside(files, "job3.r.0.0/late-r-00000"), "b\t31\ne\t77\nend\n");
  EXPECT_EQ(Aside(files, "job3.r.0.0/lost-r-00000"), std::string("c\0\0\0\0\0\0\0\x64", 9));
  EXPECT_EQ(end.counters["outputs.late"], 3);
  EXPECT_EQ(end.counters["outputs.lost"], 1);
  EXPECT_FALSE(end.counters.contains("outputs.never"));
  EXPECT_EQ(end.counters["millrace.output_records"], 6);
  EXPECT_EQ(end.counters["millrace.output_bytes"], 4 + 5 + 5 + 5 + 4 + 9);
  EXPECT_EQ(files.tree->attempts["/out/_temporary/job3.r.0.0/late-r-00000"], "job3.r.0.0");
}

// Without Key and Value: what is no number goes to an output of its own.
struct Numbers {
  static constexpr NamedOutput<"bad"> kBad{};
  using Outputs = NamedOutputs<kBad>;
  void Map(std::string_view line, auto& emit) {
    if (line.find_first_not_of("0123456789") == line.npos) {
      emit(line);
    } else {
      emit.To(kBad, line.size(), line);
    }
  }
};

TEST(NamedOutputsTest, AMapWithoutReducesWritesThem) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Numbers>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "1\nx y\n22\n")}, "");
  EXPECT_THAT(driver.WaitForEnd().named, ElementsAre("bad-m-00000"));
  EXPECT_EQ(Aside(files, "job3.m.0.0/part-m-00000"), "1\n22\n");
  EXPECT_EQ(Aside(files, "job3.m.0.0/bad-m-00000"), "3\tx y\n");
  driver.LaunchMap(1, {AddLocal(files, 2, "b", "333\n")}, "");
  EXPECT_THAT(driver.WaitForEnd().named, IsEmpty()) << "the next task of the process begins again";
}

// Writes a record of a wrong length to a named output, and more.
struct WrongLength : Orders {
  static constexpr NamedOutput<"short", FixedOutput<2>> kShort{};
  using Outputs = NamedOutputs<kLate, kShort>;
  void Reduce(std::string_view order, auto&, auto& emit) { emit.To(kShort, order, "too long"), ++reduced; }
  void FinishReduce(auto& emit) { emit("reduced", reduced); }
  int reduced = 0;
};

TEST(NamedOutputsTest, AFailureOfOneFailsTheAttemptAtOnce) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<WrongLength>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", kOrders)}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  EXPECT_THAT(driver.WaitForEnd().error, HasSubstr("9 bytes"));
  EXPECT_THAT(files.tree->written, IsEmpty()) << "nothing is handed over";
}

TEST(NamedOutputsTest, InOneProcessTheyAreFilesOfTheOutput) {
  const TempDir directory = *TempDir::Make("named");
  ASSERT_TRUE(WriteFileDurably(directory.path() + "/in", kOrders).ok());
  solo::SoloRun run;
  run.output = directory.path() + "/out";
  run.reduces = 1;
  run.inputs = {directory.path() + "/in"};
  const Result<std::vector<CounterValue>> counters = solo::RunSolo(internal::BindJob<Orders>(), "orders", run);
  ASSERT_TRUE(counters.ok()) << counters.status().message();
  EXPECT_EQ(*ReadWholeFile(run.output + "/part-r-00000"), "a\t5\nd\t30\n");
  EXPECT_EQ(*ReadWholeFile(run.output + "/late-r-00000"), "b\t31\ne\t77\nend\n");
  EXPECT_EQ(ReadWholeFile(run.output + "/lost-r-00000")->size(), 9U);
  EXPECT_FALSE(ReadWholeFile(run.output + "/never-r-00000").ok());
}

}  // namespace
}  // namespace millrace
