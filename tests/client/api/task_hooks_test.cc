// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

// Sends words that come before those of a file to reduce 0, and the others to reduce 1.
struct TwoRanges {
  using Key = std::string_view;
  using Value = Nothing;
  static void Options(JobOptions& options) { options.Text("border", "", "file with the first key of reduce 1"); }
  Status Start(TaskContext& context) {
    MILLRACE_ASSIGN(border_, context.ReadFile(context.options().text("border")));
    return Status::Ok();
  }
  void Map(std::string_view line, auto& emit) { emit(line); }
  std::uint32_t Partition(const std::string_view& key, std::uint32_t) const { return key < border_ ? 0 : 1; }

 private:
  std::string border_;
};
struct TwoCounts : TwoRanges {
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) { emit(line, 1); }
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
};

template <class J>
std::vector<std::string> InTwoRanges() {
  TaskFiles files;
  files.tree->MakeFile("/border/part-0", "m");
  files.tree->MakeFile("/border/_SUCCESS", "not to be read");
  TaskDriver driver(internal::BindJob<J>(), files);
  EXPECT_EQ(driver.SetUpJob(2, {{"border", "/border"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "z\na\nm\nl")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  std::vector<std::string> parts;
  for (std::uint32_t reduce = 0; reduce < 2; ++reduce) {
    driver.LaunchReduce(reduce, {driver.Path("m0")});
    const TaskDriver::End end = driver.WaitForEnd();
    EXPECT_EQ(end.error, "");
    parts.push_back(files.tree->written["/out/_temporary/job3.r." + std::to_string(reduce) + ".0/" + end.output_name]);
  }
  return parts;
}

TEST(TaskHooksTest, PartitionMayAskWhatStartHasRead) {
  EXPECT_EQ(InTwoRanges<TwoRanges>(), (std::vector<std::string>{"a\nl\n", "m\nz\n"}));
  EXPECT_EQ(InTwoRanges<TwoCounts>(), (std::vector<std::string>{"a\t1\nl\t1\n", "m\t1\nz\t1\n"}));
}

// Counts in memory and emits at the end.
struct Totals {
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view, auto&) { ++lines_; }
  void FinishMap(auto& emit) { emit("lines", lines_); }
  void Reduce(std::string_view, auto& values, auto&) {
    for (const std::uint64_t value : values) lines_ += value;
  }
  void FinishReduce(auto& emit) { emit("all", lines_); }

 private:
  std::uint64_t lines_ = 0;
};

TEST(TaskHooksTest, AJobMayEmitAtTheEnd) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Totals>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\ny\n"), AddLocal(files, 2, "b", "z\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0"), driver.Path("m0")});
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"], "all\t6\n");
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 3, "c", "x\n")}, "");
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.m.0.0/part-m-00000"], "lines\t1\n") << "without reduces too";
}

TEST(TaskHooksTest, AFileThatIsNotThereFailsTheAttempt) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<TwoRanges>(), files);
  ASSERT_EQ(driver.SetUpJob(2, {{"border", "/nowhere"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "z")}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error.find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace millrace
