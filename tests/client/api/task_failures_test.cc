#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "client/process/crash_report.h"
#include "examples/wordcount/wordcount.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

using Piece = TaskDriver::Piece;

TEST(TaskFailuresTest, ASegmentThatDoesNotMatchItsChecksumFailsTheReduce) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x")}, driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")}, 1);
  EXPECT_NE(driver.WaitForEnd().error.find(driver.Path("m0")), std::string::npos);
  EXPECT_TRUE(files.tree->written.empty());
}

struct Thrower {
  using Key = std::int32_t;
  using Value = Nothing;
  void Map(std::string_view line, auto& emit) {
    if (line == "throw") throw std::runtime_error("no\nsense");
    if (line == "odd") throw 7;
    emit(std::int32_t{-1});
  }
};

TEST(TaskFailuresTest, AnExceptionFailsTheAttemptAndTheProcessGoesOn) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Thrower>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "throw\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "the job's map threw an exception: no sense; at /in/a, byte 0");
  driver.LaunchMap(0, {AddLocal(files, 2, "b", "odd\n")}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error, "");
  driver.LaunchMap(0, {AddLocal(files, 3, "c", "fine\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"], "-1\n");  // identity, value Nothing
}

// A job that throws or aborts where -D where says: before the first record, at a line "bad", or at the end.
struct FailsWhere {
  using Key = std::string;
  using Value = Nothing;
  static void Options(JobOptions& options) {
    options.Choice("where", "record", {"start", "record", "finish"}, "where it fails");
    options.Bool("abort", false, "abort instead of a throw");
  }
  Status Start(TaskContext& context) {
    where_ = context.options().text("where");
    abort_ = context.options().boolean("abort");
    FailIf(where_ == "start");
    return Status::Ok();
  }
  void Map(std::string_view line, auto& emit) {
    FailIf(where_ == "record" && line == "bad");
    emit(std::string(line));
  }
  void FinishMap(auto&) { FailIf(where_ == "finish"); }
  void FailIf(bool fail) const {
    if (fail && abort_) std::abort();
    if (fail) throw std::runtime_error(std::string(5000, 'x'));
  }
  std::string where_;
  bool abort_ = false;
};

// Maps three files, the second of which has the bad line at byte 7. Returns the attempt's error.
std::string RunFailsWhere(const std::string& where, const std::string& abort) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<FailsWhere>(), files);
  EXPECT_EQ(driver.SetUpJob(1, {{"where", where}, {"abort", abort}}), "");
  driver.LaunchMap(0,
                   {AddLocal(files, 1, "a", "good\n"), AddLocal(files, 2, "b\n", "a line\nbad\n"),
                    AddLocal(files, 3, "c", "good\n")},
                   driver.Path("m0"));
  return driver.WaitForEnd().error;
}

TEST(TaskFailuresTest, AnExceptionOfAMapIsToldWithItsPlaceHoweverLongItsText) {
  const std::string threw = "the job's map threw an exception: " + std::string(2048, 'x') + "...; ";
  EXPECT_EQ(RunFailsWhere("start", "false"), threw + "before its first record");
  EXPECT_EQ(RunFailsWhere("record", "false"), threw + "at /in/b?, byte 7");
  EXPECT_EQ(RunFailsWhere("finish", "false"), threw + "after its last record");
}

TEST(TaskFailuresTest, AMapWithoutRecordsThatFailsAtItsEndIsNotBeforeOne) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<FailsWhere>(), files);
  ASSERT_EQ(driver.SetUpJob(1, {{"where", "finish"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "empty", "")}, driver.Path("m0"));
  EXPECT_TRUE(driver.WaitForEnd().error.ends_with("; after its last record"));
}

// The job aborts, since a sanitizer handles SIGSEGV itself.
TEST(TaskFailuresDeathTest, ACrashOfAMapIsReportedWithItsPlaceAndEndsTheProcessAllTheSame) {
  const auto crash = [](const std::string& where) {
    ReportCrashes();
    RunFailsWhere(where, "true");
  };
  const testing::KilledBySignal aborted(SIGABRT);
  EXPECT_EXIT(crash("start"), aborted, "millrace: SIGABRT; before its first record\n");
  EXPECT_EXIT(crash("record"), aborted, "millrace: SIGABRT; at /in/b\\?, byte 7\n");
  EXPECT_EXIT(crash("finish"), aborted, "millrace: SIGABRT; after its last record\n");
}

TEST(TaskFailuresDeathTest, WithoutAMapACrashIsReportedWithoutAPlace) {
  const auto crash = [] {
    ReportCrashes();
    std::abort();
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGABRT), "millrace: SIGABRT\n");
}

// The default action comes first, since a sanitizer has put its own handler there.
TEST(TaskFailuresDeathTest, ACrashAtAnAddressNamesIt) {
  const auto crash = [] {
    std::signal(SIGSEGV, SIG_DFL);
    ReportCrashes();
    volatile std::uintptr_t nowhere = 0x10;
    *reinterpret_cast<volatile char*>(nowhere) = 1;
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGSEGV), "millrace: SIGSEGV, address 0x10\n");
}

// A job that fails at some lines, and perhaps in FinishMap.
struct BadLines {
  using Key = std::string;
  using Value = std::string;
  static void Options(JobOptions& options) { options.Bool("bad.finish", false, "throw at the end"); }
  explicit BadLines(TaskContext& context) : finish_(context.options().boolean("bad.finish")) {}
  void Map(std::string_view line, auto& emit) {
    if (line == "bad") throw std::runtime_error("bad");
    emit(std::string(line), "is good");
  }
  void FinishMap(auto&) {
    if (finish_) throw std::runtime_error("at the end");
  }
  bool finish_;
};

TEST(TaskFailuresTest, AMapNotesItsRecordAndLeavesOutWhatItIsTold) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<BadLines>(), files);
  ASSERT_EQ(driver.SetUpJob(1, {{"job.skip_bad_records", "1"}}), "");
  const std::vector<Piece> pieces = {AddLocal(files, 1, "a", "bad\nx\n"), AddLocal(files, 2, "b", "y\nbad\nbad\nz\n")};
  std::vector<task::RecordPlace> bad;
  for (const task::RecordPlace& place : {task::RecordPlace{0, 0, 0}, {1, 2, 0}, {1, 6, 0}}) {
    driver.LaunchMap(0, pieces, driver.Path("m0"), "", 0, bad);
    EXPECT_EQ(driver.WaitForEnd().error, "the job's map threw an exception: bad");
    EXPECT_EQ(task::ReadRecordNote(driver.Path("note")), place);
    bad.insert(bad.begin(), place);  // in any order
  }
  driver.LaunchMap(0, pieces, driver.Path("m0"), "", 0, bad);
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.skipped_records"], 3);
  EXPECT_EQ(end.counters["millrace.map_input_records"], 3);
  EXPECT_EQ(task::ReadRecordNote(driver.Path("note")), std::nullopt);
}

TEST(TaskFailuresTest, AFailureOutsideOfRecordsIsNotPutOnOne) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<BadLines>(), files);
  ASSERT_EQ(driver.SetUpJob(1, {{"job.skip_bad_records", "1"}, {"bad.finish", "true"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "the job's map threw an exception: at the end; after its last record");
  EXPECT_EQ(task::ReadRecordNote(driver.Path("note")), std::nullopt);
}

TEST(TaskFailuresTest, AJobThatLeavesNothingOutNotesNothing) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<BadLines>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "bad\n")}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error, "");
  EXPECT_FALSE(OpenFile(driver.Path("note"), 0).ok());
}

TEST(RecordWatchTest, RecordsThatAreSaidToBeginAtTheSamePlaceAreToldApart) {
  const TempDir directory = *TempDir::Make("watch");
  Result<RecordWatch> watch = RecordWatch::Make(directory.path() + "/note", {{1, 0, 1}});
  ASSERT_TRUE(watch.ok());
  watch->BeginInput(0);
  EXPECT_TRUE(watch->Begin(0));
  EXPECT_TRUE(watch->Begin(0));
  watch->BeginInput(1);
  EXPECT_TRUE(watch->Begin(0));
  EXPECT_FALSE(watch->Begin(0));
  EXPECT_TRUE(watch->Begin(0));
  EXPECT_EQ(task::ReadRecordNote(directory.path() + "/note"), (task::RecordPlace{1, 0, 2}));
}

}  // namespace
}  // namespace millrace
