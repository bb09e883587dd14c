// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "client/process/crash_report.h"
#include "client/process/memory_limit.h"
#include "examples/words/wordcount.h"
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

// Returns the message of a task that has read a file as lines.
TaskDriver::End EndOver(const std::string& bytes, const std::string& decompress) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  EXPECT_EQ(driver.SetUpJob(1, {{"input.decompress", decompress}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", bytes)}, driver.Path("m0"));
  return driver.WaitForEnd();
}

TEST(TaskFailuresTest, AFileThatIsNoTextFailsThePermanentWay) {
  const TaskDriver::End end = EndOver("PK\x03\x04 and more", "true");
  EXPECT_EQ(end.error,
            "\"/in/a\" is a zip archive, and the job reads text in UTF-8; unpack it first, or have it read as it is by "
            "-D input.decompress=false");
  EXPECT_TRUE(end.permanent);
  EXPECT_EQ(EndOver("PK\x03\x04 and more", "false").error, "");
  const TaskDriver::End cut = EndOver("\x1f\x8b\x08\x01 and more", "true");
  EXPECT_NE(cut.error, "");
  EXPECT_FALSE(cut.permanent) << "another replica may be right";
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
  EXPECT_EQ(driver.WaitForEnd().error, "the job's Map threw an exception: no sense; at /in/a, byte 0");
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
  const std::string threw = " threw an exception: " + std::string(2048, 'x') + "...; ";
  EXPECT_EQ(RunFailsWhere("start", "false"), "the job's Start" + threw + "before its first record");
  EXPECT_EQ(RunFailsWhere("record", "false"), "the job's Map" + threw + "at /in/b?, byte 7");
  EXPECT_EQ(RunFailsWhere("finish", "false"), "the job's FinishMap" + threw + "after its last record");
}

TEST(TaskFailuresTest, AMapWithoutRecordsThatFailsAtItsEndIsNotBeforeOne) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<FailsWhere>(), files);
  ASSERT_EQ(driver.SetUpJob(1, {{"where", "finish"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "empty", "")}, driver.Path("m0"));
  EXPECT_TRUE(driver.WaitForEnd().error.ends_with("; after its last record"));
}

// Throws in the function that -D where names.
template <class KeyOfJob>
struct ThrowsIn {
  using Key = KeyOfJob;
  using Value = std::uint64_t;
  static void Options(JobOptions& options) { options.Text("where", "", "the function that throws"); }
  inline static std::string where;
  explicit ThrowsIn(TaskContext& context) {
    where = context.options().text("where");
    Throw("constructor");
  }
  void Map(const std::string_view line, auto& emit) {
    if constexpr (std::integral<Key>) emit(static_cast<Key>(line.size()) - 10, std::uint64_t{1});
    if constexpr (!std::integral<Key>) emit(Key(line), std::uint64_t{1});
  }
  void Reduce(const Key&, auto&, auto&) { Throw("Reduce"); }
  void FinishReduce(auto&) { Throw("FinishReduce"); }
  static void Throw(std::string_view here) {
    if (where == here) throw std::runtime_error("bad");
  }
};

// Returns the error of the attempt that fails, whichever it is.
template <class Job>
std::string ErrorOf(const std::string& where, const std::string& line) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Job>(), files);
  EXPECT_EQ(driver.SetUpJob(1, {{"where", where}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", line + "\n")}, driver.Path("m0"));
  if (const std::string error = driver.WaitForEnd().error; !error.empty()) return error;
  driver.LaunchReduce(0, {driver.Path("m0")});
  return driver.WaitForEnd().error;
}

TEST(TaskFailuresTest, AnExceptionOfAReduceIsToldWithItsKey) {
  using Text = ThrowsIn<std::string>;
  const std::string threw = "the job's Reduce threw an exception: bad; at the key ";
  EXPECT_EQ(ErrorOf<Text>("Reduce", "word"), threw + "\"word\"");
  EXPECT_EQ(ErrorOf<Text>("Reduce", "\"\x01\xff\\"), threw + "\"\\x22\\x01\\xff\\x5c\"");
  EXPECT_EQ(ErrorOf<Text>("Reduce", std::string(100, 'k')), threw + "\"" + std::string(80, 'k') + "\"...");
  EXPECT_EQ(ErrorOf<ThrowsIn<std::int32_t>>("Reduce", "abc"), threw + "-7");
  EXPECT_EQ(ErrorOf<Text>("FinishReduce", "word"),
            "the job's FinishReduce threw an exception: bad; after its last key");
  EXPECT_EQ(ErrorOf<Text>("constructor", "word"),
            "the job's constructor threw an exception: bad; before its first record");
  EXPECT_EQ(ErrorOf<Text>("nowhere", "word"), "");
}

struct ThrowsInCombine {
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) { emit(line, std::uint64_t{1}); }
  static std::uint64_t Combine(std::uint64_t, std::uint64_t) { throw std::runtime_error("bad"); }
};

TEST(TaskFailuresTest, AnExceptionOfCombineAfterTheLastRecordNamesIt) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<ThrowsInCombine>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\nx\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "the job's Combine threw an exception: bad; after its last record");
}

struct Eater {
  void Map(std::string_view line, auto& emit) {
    std::vector<std::string> eaten;
    for (int i = 0; i < 4096 && line == "eat"; ++i) eaten.emplace_back(std::size_t{1} << 20, 'x');
    emit(line);
  }
};

// The limit binds the whole process, so the test is one of its own.
TEST(TaskFailuresDeathTest, AJobThatEatsItsMemoryIsToldOfTheLimit) {
  const auto eat = [] {
    LimitMemory(std::uint64_t{1} << 30);
    if (!MemoryLimit()) return std::fputs("no limit, since there is a sanitizer\n", stderr), std::_Exit(0);
    TaskFiles files;
    TaskDriver driver(internal::BindJob<Eater>(), files);
    (void)driver.SetUpJob(0);
    driver.LaunchMap(0, {AddLocal(files, 1, "a", "good\neat\n")}, "");
    std::fprintf(stderr, "%s\n", driver.WaitForEnd().error.c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(eat(), testing::ExitedWithCode(0),
              "no limit, since|the job's Map ran out of its memory: limit 1 GiB \\(task.memory_limit\\); "
              "at /in/a, byte 5\n");
}

// The job aborts, since a sanitizer handles SIGSEGV itself.
TEST(TaskFailuresDeathTest, ACrashOfAMapIsReportedWithItsPlaceAndEndsTheProcessAllTheSame) {
  const auto crash = [](const std::string& where) {
    ReportCrashes(nullptr);
    RunFailsWhere(where, "true");
  };
  const testing::KilledBySignal aborted(SIGABRT);
  EXPECT_EXIT(crash("start"), aborted, "millrace: SIGABRT, in Start; before its first record\n");
  EXPECT_EXIT(crash("record"), aborted, "millrace: SIGABRT, in Map; at /in/b\\?, byte 7\n");
  EXPECT_EXIT(crash("finish"), aborted, "millrace: SIGABRT, in FinishMap; after its last record\n");
}

TEST(TaskFailuresDeathTest, WithoutAMapACrashIsReportedWithoutAPlace) {
  const auto crash = [] {
    ReportCrashes(nullptr);
    std::abort();
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGABRT), "millrace: SIGABRT\n");
}

// The default action comes first, since a sanitizer has put its own handler there.
TEST(TaskFailuresDeathTest, ACrashAtAnAddressNamesIt) {
  const auto crash = [] {
    std::signal(SIGSEGV, SIG_DFL);
    ReportCrashes(nullptr);
    volatile std::uintptr_t nowhere = 0x10;
    *reinterpret_cast<volatile char*>(nowhere) = 1;
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGSEGV), "millrace: SIGSEGV, null pointer \\(address 0x10\\)\n");
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
    EXPECT_EQ(driver.WaitForEnd().error, "the job's Map threw an exception: bad");
    EXPECT_EQ(task::ReadRecordNote(OpenFile(driver.Path("note"), O_RDONLY)), place);
    bad.insert(bad.begin(), place);  // in any order
  }
  driver.LaunchMap(0, pieces, driver.Path("m0"), "", 0, bad);
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.skipped_records"], 3);
  EXPECT_EQ(end.counters["millrace.map_input_records"], 3);
  EXPECT_EQ(task::ReadRecordNote(OpenFile(driver.Path("note"), O_RDONLY)), std::nullopt);
}

TEST(TaskFailuresTest, AFailureOutsideOfRecordsIsNotPutOnOne) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<BadLines>(), files);
  ASSERT_EQ(driver.SetUpJob(1, {{"job.skip_bad_records", "1"}, {"bad.finish", "true"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "the job's FinishMap threw an exception: at the end; after its last record");
  EXPECT_EQ(task::ReadRecordNote(OpenFile(driver.Path("note"), O_RDONLY)), std::nullopt);
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
  EXPECT_EQ(task::ReadRecordNote(OpenFile(directory.path() + "/note", O_RDONLY)), (task::RecordPlace{1, 0, 2}));
}

}  // namespace
}  // namespace millrace
