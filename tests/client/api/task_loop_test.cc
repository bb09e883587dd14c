#include "client/process/task_loop.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "client/process/progress_reporter.h"
#include "examples/grep/grep.h"
#include "examples/invertedindex/invertedindex.h"
#include "examples/wordcount/wordcount.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

using Piece = TaskDriver::Piece;

// A file of one block, local.
Piece AddLocal(FakeFiles& files, std::uint64_t block, const std::string& name, const std::string& bytes) {
  files.local[block] = bytes;
  files.files["/in/" + name] = bytes;
  return {"/in/" + name, name, bytes.size(), 0, bytes.size(), block};
}

TEST(TaskLoopTest, MapsAndReducesWords) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(2), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "to be or\tnot\n\n  to be  \n")}, driver.Path("m0"));
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_input_records"], 3);
  EXPECT_EQ(end.counters["millrace.map_output_records"], 6);
  EXPECT_EQ(end.counters["millrace.combine_output_records"], 4);
  EXPECT_EQ(end.counters["millrace.bytes_read_local"], 24);
  EXPECT_FALSE(end.output);
  driver.LaunchMap(1, {AddLocal(files, 2, "b", "be\n"), AddLocal(files, 3, "c", "or be")}, driver.Path("m1"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.connections, 0) << "a map with local blocks and reduces asked the master";

  std::string all;
  for (std::uint32_t reduce = 0; reduce < 2; ++reduce) {
    driver.LaunchReduce(reduce, {driver.Path("m0"), driver.Path("m1")});
    end = driver.WaitForEnd();
    ASSERT_EQ(end.error, "");
    EXPECT_TRUE(end.output);
    EXPECT_EQ(end.output_name, "part-r-0000" + std::to_string(reduce));
    const std::string path = "/out/_temporary/job3.r." + std::to_string(reduce) + ".0/" + end.output_name;
    EXPECT_EQ(files.attempts[path], "job3.r." + std::to_string(reduce) + ".0");
    EXPECT_EQ(files.written[path].size(), end.output_bytes);
    all += files.written[path];
  }
  EXPECT_EQ(files.connections, 1);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
    lines.push_back(all.substr(at, all.find('\n', at) - at));
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (std::vector<std::string>{"be\t4", "not\t1", "or\t2", "to\t2"}));
  EXPECT_EQ(driver.Close(), 0);
}

struct Lines {
  using Key = std::string;
  using Value = std::string;
  void Map(std::string_view line, auto& emit) { emit(std::string(line), "is a line of the input"); }
  void Reduce(const std::string& key, Values<std::string>& values, auto& emit) {
    for (const std::string& value : values) emit(key, value);
  }
};

// Whatever the link of its worker was when a map ran, its reduce gives the same.
TEST(TaskLoopTest, SomeMapsOfAJobAreCompressedAndSomeAreNot) {
  std::string text;
  for (int i = 0; i < 30000; ++i) text += "line " + std::to_string(100000 + i * 7919 % 30000) + "\n";
  constexpr double kSlow = 1e6, kFast = 3e9, kUnknown = 0;
  std::vector<std::string> outputs;
  for (const std::string mode : {"none", "zstd", "auto"}) {
    FakeFiles files;
    TaskDriver driver(internal::BindJob<Lines>(), files);
    ASSERT_EQ(driver.SetUpJob(1, {{"map.compress", mode}}), "");
    std::vector<std::string> runs;
    std::vector<bool> compressed;
    for (const double rate : {kUnknown, kSlow, kFast, kSlow}) {
      const auto map = static_cast<std::uint32_t>(runs.size());
      runs.push_back(driver.Path("m" + std::to_string(map)));
      driver.LaunchMap(map, {AddLocal(files, map + 1, "f" + std::to_string(map), text)}, runs.back(), "", rate);
      TaskDriver::End end = driver.WaitForEnd();
      ASSERT_EQ(end.error, "");
      compressed.push_back(end.counters["millrace.map_stored_bytes"] < end.counters["millrace.map_output_bytes"] / 2);
    }
    const bool all = mode == "zstd", some = mode != "none";
    EXPECT_EQ(compressed, (std::vector<bool>{all, some, all, some})) << mode;
    driver.LaunchReduce(0, runs);
    ASSERT_EQ(driver.WaitForEnd().error, "");
    outputs.push_back(files.written["/out/_temporary/job3.r.0.0/part-r-00000"]);
  }
  EXPECT_EQ(std::ranges::count(outputs[0], '\n'), 4 * 30000);
  EXPECT_TRUE(outputs[1] == outputs[0]);
  EXPECT_TRUE(outputs[2] == outputs[0]);
}

TEST(TaskLoopTest, ASplitIsCompletedFromRemoteBlocks) {
  FakeFiles files;
  const std::string file = "one two\nthree four\nfive\n";
  files.files["/in/f"] = file;
  files.remote[2] = file.substr(5, 8);  // "wo\nthree"
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {{"/in/f", "f", file.size(), 5, 8, 2}}, driver.Path("m0"));
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_input_records"], 1);
  EXPECT_GE(end.counters["millrace.bytes_read_remote"], 8 + 1 + 5);
  EXPECT_EQ(end.counters["millrace.remote_read_micros"], 2 * 100) << "for each piece of the block";
  driver.LaunchReduce(0, {driver.Path("m0")});
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.written["/out/_temporary/job3.r.0.0/part-r-00000"], "four\t1\nthree\t1\n");
}

TEST(TaskLoopTest, AReplicaThatIsGoneIsLookedUpAgain) {
  FakeFiles files;
  files.files["/in/f"] = "a b\n";
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {{"/in/f", "f", 4, 0, 4, 9}}, driver.Path("m0"));
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_output_records"], 2);
}

TEST(TaskLoopTest, WithoutRecordsThereIsAnOutputFile) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "")}, driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  EXPECT_TRUE(driver.WaitForEnd().output);
  EXPECT_EQ(files.written.count("/out/_temporary/job3.r.0.0/part-r-00000"), 1u);
}

struct WhereFrom {
  explicit WhereFrom(TaskContext& task) : context(task) {}
  void Map(std::string_view line, auto& emit) {
    emit(std::string(context.input_name()) + " " + std::to_string(context.input_number()) + " " + std::string(line));
  }
  TaskContext& context;
};

TEST(TaskLoopTest, AMapKnowsOfWhichInputARecordIs) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<WhereFrom>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(
      0, {AddLocal(files, 1, "a", "1\n2"), AddLocal(files, 2, "empty", ""), AddLocal(files, 3, "b", "3\n")}, "");
  TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_input_records"], 3);
  EXPECT_EQ(files.written["/out/_temporary/job3.m.0.0/part-m-00000"], "a 0 1\na 0 2\nb 2 3\n");
}

TEST(TaskLoopTest, WithoutReducesMapsWriteTheOutput) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(4, {AddLocal(files, 1, "a", "x y\nx\n")}, "");
  const TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.output_name, "part-m-00004");
  EXPECT_EQ(files.written["/out/_temporary/job3.m.4.0/part-m-00004"], "x\t1\ny\t1\nx\t1\n");
}

struct Counting {
  using Input = Numbers;
  void Map(std::uint64_t number, auto& emit) { emit(number); }
};

TEST(TaskLoopTest, NumbersAreMappedWithoutFiles) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<Counting>(), files);
  ASSERT_EQ(driver.SetUpJob(0, {{"input.maps", "3"}, {"input.records", "11"}}), "");
  driver.LaunchMap(1, {{"", "", 11, 4, 4, 0}}, "");
  const TaskDriver::End end = driver.WaitForEnd();
  ASSERT_EQ(end.error, "");
  EXPECT_EQ(end.counters.at("millrace.map_input_records"), 4);
  EXPECT_EQ(end.counters.at("millrace.map_input_bytes"), 0);
  EXPECT_EQ(files.written["/out/_temporary/job3.m.1.0/part-m-00001"], "4\n5\n6\n7\n");
}

// Words before those of a file go to reduce 0, the others to reduce 1.
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
  FakeFiles files;
  files.files["/border/part-0"] = "m";
  files.files["/border/_SUCCESS"] = "not to be read";
  TaskDriver driver(internal::BindJob<J>(), files);
  EXPECT_EQ(driver.SetUpJob(2, {{"border", "/border"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "z\na\nm\nl")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  std::vector<std::string> parts;
  for (std::uint32_t reduce = 0; reduce < 2; ++reduce) {
    driver.LaunchReduce(reduce, {driver.Path("m0")});
    const TaskDriver::End end = driver.WaitForEnd();
    EXPECT_EQ(end.error, "");
    parts.push_back(files.written["/out/_temporary/job3.r." + std::to_string(reduce) + ".0/" + end.output_name]);
  }
  return parts;
}

TEST(TaskLoopTest, PartitionMayAskWhatStartHasRead) {
  EXPECT_EQ(InTwoRanges<TwoRanges>(), (std::vector<std::string>{"a\nl\n", "m\nz\n"}));
  EXPECT_EQ(InTwoRanges<TwoCounts>(), (std::vector<std::string>{"a\t1\nl\t1\n", "m\t1\nz\t1\n"}));
}

// Counts in memory and tells at the end.
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

TEST(TaskLoopTest, AJobMayEmitAtTheEnd) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<Totals>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\ny\n"), AddLocal(files, 2, "b", "z\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0"), driver.Path("m0")});
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.written["/out/_temporary/job3.r.0.0/part-r-00000"], "all\t6\n");
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 3, "c", "x\n")}, "");
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.written["/out/_temporary/job3.m.0.0/part-m-00000"], "lines\t1\n") << "without reduces too";
}

TEST(TaskLoopTest, AFileThatIsNotThereFailsTheAttempt) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<TwoRanges>(), files);
  ASSERT_EQ(driver.SetUpJob(2, {{"border", "/nowhere"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "z")}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error.find("/nowhere"), std::string::npos);
}

TEST(TaskLoopTest, ASegmentThatDoesNotMatchItsChecksumFailsTheReduce) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<examples::WordCount>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x")}, driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")}, 1);
  EXPECT_NE(driver.WaitForEnd().error.find(driver.Path("m0")), std::string::npos);
  EXPECT_TRUE(files.written.empty());
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

TEST(TaskLoopTest, AnExceptionFailsTheAttemptAndTheProcessGoesOn) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<Thrower>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "throw\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "the job's map threw an exception: no sense");
  driver.LaunchMap(0, {AddLocal(files, 2, "b", "odd\n")}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error, "");
  driver.LaunchMap(0, {AddLocal(files, 3, "c", "fine\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.written["/out/_temporary/job3.r.0.0/part-r-00000"], "-1\n");  // identity, value Nothing
}

// Lines of which some are bad, and a FinishMap that may be.
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

TEST(TaskLoopTest, AMapNotesItsRecordAndLeavesOutWhatItIsTold) {
  FakeFiles files;
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

TEST(TaskLoopTest, AFailureOutsideOfRecordsIsNotPutOnOne) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<BadLines>(), files);
  ASSERT_EQ(driver.SetUpJob(1, {{"job.skip_bad_records", "1"}, {"bad.finish", "true"}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\n")}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "the job's map threw an exception: at the end");
  EXPECT_EQ(task::ReadRecordNote(driver.Path("note")), std::nullopt);
}

TEST(TaskLoopTest, AJobThatLeavesNothingOutNotesNothing) {
  FakeFiles files;
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

TEST(TaskLoopTest, SetUpThatIsRefused) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<examples::Grep>(), files);
  EXPECT_NE(driver.SetUpJob(1).find("grep.pattern"), std::string::npos);
  EXPECT_NE(driver.SetUpJob(1, {{"grep.pattern", "("}}).find("grep.pattern"), std::string::npos);
  EXPECT_NE(driver.SetUpJob(1, {{"grep.patern", "x"}}).find("grep.pattern"), std::string::npos);
  driver.LaunchMap(0, {}, driver.Path("m0"));
  EXPECT_NE(driver.WaitForEnd().error.find("not set up"), std::string::npos);
  EXPECT_EQ(driver.SetUpJob(1, {{"grep.pattern", "x"}, {"task.memory", "16MiB"}}), "");
}

std::string RunGrep(const std::string& pattern, const std::string& lines, const std::string& text) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<examples::Grep>(), files);
  EXPECT_EQ(driver.SetUpJob(1, {{"grep.pattern", pattern}, {"grep.lines", lines}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", text)}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  EXPECT_EQ(driver.WaitForEnd().error, "");
  return files.written["/out/_temporary/job3.r.0.0/part-r-00000"];
}

TEST(GrepTest, MatchesAreCounted) {
  EXPECT_EQ(RunGrep("a+", "false", "baa a\nxaaxaa\nnone\n"), "a\t1\naa\t3\n");
  EXPECT_EQ(RunGrep("a*", "false", "baab\n"), "aa\t1\n") << "empty matches do not count";
  EXPECT_EQ(RunGrep("^a|\\bb", "false", "aa bb\n"), "a\t1\nb\t1\n") << "anchors see the whole line";
  EXPECT_EQ(RunGrep("\\xff.", "false", "x\xff\xfe\n"), "\xff\xfe\t1\n") << "patterns are matched on bytes";
}

TEST(GrepTest, LinesComeAsOftenAsTheyOccur) {
  EXPECT_EQ(RunGrep("b", "true", "b 2\nabc\nno\nb 2\n"), "abc\nb 2\nb 2\n");
}

TEST(InvertedIndexTest, FilesAreSortedAndWithoutRepeats) {
  FakeFiles files;
  TaskDriver driver(internal::BindJob<examples::InvertedIndex>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  const std::string longest(100, 'w');
  driver.LaunchMap(0,
                   {AddLocal(files, 1, "z", "x y x " + longest + " " + longest), AddLocal(files, 2, "sub/b", "x\nx")},
                   driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchMap(1, {AddLocal(files, 3, "a", "y x"), AddLocal(files, 4, "z", "x")}, driver.Path("m1"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0"), driver.Path("m1")});
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.written["/out/_temporary/job3.r.0.0/part-r-00000"], longest + "\tz\nx\ta sub/b z\ny\ta z\n");
}

// Waits in Map until the test saw a report.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
};
struct Waiting {
  inline static Gate* gate = nullptr;
  explicit Waiting(TaskContext& context) : context_(context), seen_(context.counter("test", "lines")) {}
  void Map(std::string_view line, auto& emit) {
    ++seen_;
    context_.set_status("at " + std::string(line));
    if (line == "wait") {
      std::unique_lock lock(gate->mutex);
      gate->changed.wait(lock, [] { return gate->open; });
    }
    emit(line);
  }
  TaskContext& context_;
  Counter& seen_;
};

void Open(Gate& gate) {
  const std::lock_guard lock(gate.mutex);
  gate.open = true;
  gate.changed.notify_all();
}

TEST(TaskLoopTest, ProgressIsReportedWhileAnAttemptRuns) {
  FakeFiles files;
  Gate gate;
  Waiting::gate = &gate;
  TaskDriver driver(internal::BindJob<Waiting>(), files, std::chrono::milliseconds(1));
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "12345\nwait\n6789\n")}, "");
  while (true) {
    const task::Message message = driver.Receive();
    const auto progress = message.Root<wire::FromTask>().getProgress();
    if (std::string(progress.getStatus().cStr()) != "at wait") continue;
    EXPECT_FLOAT_EQ(progress.getFraction(), 6.0f / 16.0f);
    bool counted = false;
    for (const auto counter : progress.getCounters())
      counted |= counter.getGroup() == "test" && counter.getValue() == 2;
    EXPECT_TRUE(counted);
    break;
  }
  Open(gate);
  EXPECT_EQ(driver.WaitForEnd().counters["test.lines"], 3);
}

TEST(TaskLoopTest, ProgressGoesOnOverTheInputsOfAMap) {
  FakeFiles files;
  Gate gate;
  Waiting::gate = &gate;
  TaskDriver driver(internal::BindJob<Waiting>(), files, std::chrono::milliseconds(1));
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "12345\n"), AddLocal(files, 2, "b", "678\nwait\n9\n")}, "");
  while (true) {
    const task::Message message = driver.Receive();
    const auto progress = message.Root<wire::FromTask>().getProgress();
    if (std::string(progress.getStatus().cStr()) != "at wait") continue;
    EXPECT_FLOAT_EQ(progress.getFraction(), 10.0f / 17.0f);
    break;
  }
  Open(gate);
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.counters["test.lines"], 4);
  EXPECT_EQ(end.counters["millrace.map_input_bytes"], 17);
}

TEST(TaskLoopTest, ADaemonThatGoesAwayIsNoticedWhileAnAttemptRuns) {
  FakeFiles files;
  Gate gate;
  Waiting::gate = &gate;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const TempDir directory = *TempDir::Make("task");
  TaskContext::Facts facts;
  const JobOptions options;
  TaskContext context(facts, options, nullptr);
  task::Channel channel{Fd(fds[0])};
  const std::function<void()> gone = [&] { Open(gate); };
  const ProgressReporter reporter(channel, context, std::chrono::hours(1), gone);
  Fd(fds[1]).Close();
  std::unique_lock lock(gate.mutex);
  gate.changed.wait(lock, [&] { return gate.open; });
}

struct MemoryTeller {
  using Key = std::string_view;
  using Value = std::uint64_t;
  explicit MemoryTeller(TaskContext& context) : context_(context) {}
  void Map(std::string_view, auto& emit) { emit("memory", context_.facts().memory); }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    for (const std::uint64_t value : values) emit(key, value);
    emit("reduce", context_.facts().memory);
  }

 private:
  TaskContext& context_;
};

// The worker of these tests allows 8 MiB.
TEST(TaskLoopTest, AJobIsToldHowMuchMemoryItsTasksMayUse) {
  for (const auto& [asked, given] : {std::pair("1GiB", "8388608"), std::pair("4MiB", "4194304")}) {
    FakeFiles files;
    TaskDriver driver(internal::BindJob<MemoryTeller>(), files);
    ASSERT_EQ(driver.SetUpJob(1, {{"task.memory", asked}}), "");
    driver.LaunchMap(0, {AddLocal(files, 1, "a", "x\n")}, driver.Path("m0"));
    EXPECT_EQ(driver.WaitForEnd().error, "");
    driver.LaunchReduce(0, {driver.Path("m0")});
    EXPECT_EQ(driver.WaitForEnd().error, "");
    EXPECT_EQ(files.written["/out/_temporary/job3.r.0.0/part-r-00000"],
              std::string("memory\t") + given + "\nreduce\t" + given + "\n");
  }
}

struct Printer {
  void Map(std::string_view line, auto&) { std::printf("%.*s|", static_cast<int>(line.size()), line.data()); }
};

TEST(TaskLoopTest, StandardOutputGoesToTheAttemptsFile) {
  FakeFiles files;
  const int saved = ::dup(STDOUT_FILENO);
  std::string log;
  {
    TaskDriver driver(internal::BindJob<Printer>(), files);
    ASSERT_EQ(driver.SetUpJob(0), "");
    driver.LaunchMap(0, {AddLocal(files, 1, "a", "said\nthat\n")}, "", driver.Path("stdout"));
    EXPECT_EQ(driver.WaitForEnd().error, "");
    driver.Close();
    log = *ReadWholeFile(driver.Path("stdout"));
  }
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  EXPECT_EQ(log, "said|that|");
}

}  // namespace
}  // namespace millrace
