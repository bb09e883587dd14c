// SPDX-License-Identifier: Apache-2.0
// Views that a job keeps for too long, and values that it takes twice.
#include "client/job/lent_views.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "client/api/job.h"
#include "client/process/crash_report.h"
#include "client/solo/solo.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Asks the kernel, which returns an error where a load would end the test.
bool IsReadable(std::string_view bytes) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  return write(write_end.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

TEST(LentViewsTest, WhatIsLentHasTheBytesUntilItsTimeIsOver) {
  LentViews lent(Lent::kValue);
  const std::string first = "first", second(10'000, 'x');
  const std::string_view one = lent.Lend(first);
  EXPECT_EQ(one, first);
  EXPECT_NE(static_cast<const void*>(one.data()), first.data());
  EXPECT_TRUE(IsReadable(one));
  const std::string_view two = lent.Lend(second);
  EXPECT_FALSE(IsReadable(one));
  EXPECT_EQ(two, second);
  lent.Recall();
  EXPECT_FALSE(IsReadable(two.substr(0, 1)));
  EXPECT_FALSE(IsReadable(two.substr(9'999)));
  lent.Recall();
  EXPECT_EQ(lent.Lend(first), first);
}

TEST(LentViewsTest, TheFirstAreCopiesAndThenOneOfMany) {
  LentViews lent(Lent::kValue);
  const std::string bytes = "bytes";
  std::vector<std::uint64_t> copies;
  constexpr std::uint64_t kAll = LentViews::kFirst + 3 * LentViews::kThenOneIn;
  for (std::uint64_t i = 0; i < kAll; ++i) {
    const std::string_view view = lent.Lend(bytes);
    ASSERT_EQ(view, bytes);
    if (view.data() != bytes.data()) copies.push_back(i);
  }
  ASSERT_EQ(copies.size(), LentViews::kFirst + 3);
  EXPECT_EQ(copies[LentViews::kFirst - 1], LentViews::kFirst - 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(copies[LentViews::kFirst + i], LentViews::kFirst - 1 + (i + 1) * LentViews::kThenOneIn);
  }
}

TEST(LentViewsTest, NothingAndVeryMuchIsLentAsItIs) {
  LentViews lent(Lent::kRecord);
  const std::string empty, most(LentViews::kMostBytes, 'x'), more(LentViews::kMostBytes + 1, 'x');
  EXPECT_EQ(static_cast<const void*>(lent.Lend(empty).data()), empty.data());
  EXPECT_EQ(static_cast<const void*>(lent.Lend(more).data()), more.data());
  EXPECT_NE(static_cast<const void*>(lent.Lend(most).data()), most.data());
}

TEST(LentViewsTest, PagesSufficeForAnyNumberOfTheLongest) {
  LentViews lent(Lent::kRecord);
  const std::string most(LentViews::kMostBytes, 'y');
  for (std::uint32_t i = 0; i < LentViews::kFirst; ++i) ASSERT_EQ(lent.Lend(most), most);
}

TEST(LentViewsTest, AnAddressIsKnownByWhatWasLentThere) {
  const std::string bytes = "bytes";
  const char* record = nullptr;
  {
    LentViews records(Lent::kRecord), values(Lent::kValue);
    record = records.Lend(bytes).data();
    const char* const value = values.Lend(bytes).data();
    records.Recall();
    EXPECT_EQ(WhatWasLent(record), Lent::kRecord);
    EXPECT_EQ(WhatWasLent(value), Lent::kValue);
    EXPECT_EQ(WhatWasLent(bytes.data()), Lent::kNothing);
    EXPECT_EQ(WhatWasLent(nullptr), Lent::kNothing);
  }
  EXPECT_EQ(WhatWasLent(record), Lent::kNothing);
}

// More attempts at once than are known do without.
TEST(LentViewsTest, ManyAtOnceAreRightToo) {
  const std::string bytes = "bytes";
  std::vector<std::unique_ptr<LentViews>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(std::make_unique<LentViews>(Lent::kKey));
    EXPECT_EQ(all.back()->Lend(bytes), bytes);
    EXPECT_EQ(all.back()->Lend(bytes), bytes);
  }
}

// The most usual join: of each line "key value".
template <class Kept>
struct Joins {
  using Key = std::string_view;
  using Value = std::string_view;
  void Map(std::string_view line, auto& emit) {
    const std::size_t space = line.find(' ');
    emit(line.substr(0, space), line.substr(space + 1));
  }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    std::vector<Kept> kept;
    for (const std::string_view value : values) kept.emplace_back(value);
    for (const Kept& value : kept) emit(key, value);
  }
};
// Keeps the record before.
template <class Kept>
struct Changes {
  using Key = std::uint64_t;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) {
    emit(line == before_ ? 1 : 0, 1);
    before_ = Kept(line);
  }
  Kept before_;
};
// Keeps the last key until the end.
template <class Kept>
struct Last {
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) { emit(line, 1); }
  void Reduce(std::string_view key, auto&, auto&) { last_ = Kept(key); }
  void FinishReduce(auto& emit) { emit(last_, 1); }
  Kept last_;
};
// Keeps the first value of the last key, at which it stops.
template <class Kept>
struct First {
  using Key = std::string_view;
  using Value = std::string_view;
  void Map(std::string_view line, auto& emit) { emit(line.substr(0, 1), line); }
  void Reduce(std::string_view, auto& values, auto&) {
    for (const std::string_view value : values) {
      first_ = Kept(value);
      return;
    }
  }
  void FinishReduce(auto& emit) { emit(first_, std::string_view("first")); }
  Kept first_;
};
// Keeps the keys of the values of a group.
template <class Kept>
struct Groups {
  using Key = std::string_view;
  using Value = std::uint64_t;
  static std::string_view Group(const Key& key) { return key.substr(0, 1); }
  void Map(std::string_view line, auto& emit) { emit(line, 1); }
  void Reduce(std::string_view first, auto& values, auto& emit) {
    std::vector<Kept> kept;
    for ([[maybe_unused]] const std::uint64_t value : values) kept.emplace_back(values.key());
    for (const Kept& key : kept) emit(first, key);
  }
};
struct Twice {
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) { emit(line, 1); }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    std::uint64_t sum = 0, squares = 0;
    for (const std::uint64_t value : values) sum += value;
    for (const std::uint64_t value : values) squares += value * value;
    emit(key, std::to_string(sum) + " " + std::to_string(squares));
  }
};
struct StopsEarly {
  using Key = std::string_view;
  using Value = std::uint64_t;
  void Map(std::string_view line, auto& emit) { emit(line, 1); }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    for (const std::uint64_t value : values) return emit(key, value);
  }
};

class KeptViewsTest : public ::testing::Test {
 protected:
  template <class J>
  Status Run() {
    const std::string input = directory_.path() + "/in";
    EXPECT_TRUE(WriteFileDurably(input, "a 1\na 2\nb 3\nb 4\nc 5\n").ok());
    const JobBinding binding = internal::BindJob<J>();
    const Result<solo::SoloRun> run = solo::ParseSoloRun({directory_.path() + "/out", "1", "--", input});
    return solo::RunSolo(binding, "job", *run).status();
  }
  // Runs the job in a process of its own. Returns its standard error, with "signal N" at the end.
  template <class J>
  std::string RunApart() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDERR_FILENO);
      ReportCrashes(nullptr);
      _exit(Run<J>().ok() ? 0 : 1);
    }
    const Fd read_end(ends[0]);
    close(ends[1]);
    std::string said;
    char bytes[4096];
    for (ssize_t got = 0; (got = read(read_end.get(), bytes, sizeof bytes)) > 0;)
      said.append(bytes, static_cast<std::size_t>(got));
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) said += "signal " + std::to_string(WTERMSIG(status));
    return said + (WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status)) : "");
  }
  std::string Output() { return *ReadWholeFile(directory_.path() + "/out/part-r-00000"); }

  TempDir directory_ = *TempDir::Make("kept-views");
};

// A sanitizer reports by itself, and ends the process as it likes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
void ExpectFault(const std::string& said, const std::string&) {
  EXPECT_THAT(said, ::testing::Not(HasSubstr("exit 0")));
}
#else
void ExpectFault(const std::string& said, const std::string& sentence) {
  EXPECT_THAT(said, HasSubstr("millrace: SIGSEGV, " + sentence));
  EXPECT_THAT(said, HasSubstr("signal " + std::to_string(SIGSEGV)));
}
#endif

TEST_F(KeptViewsTest, OfValues) {
  ExpectFault(RunApart<Joins<std::string_view>>(), "a view of a value was kept after the next one was taken");
  EXPECT_EQ(RunApart<Joins<std::string>>(), "exit 0");
  EXPECT_EQ(Output(), "a\t1\na\t2\nb\t3\nb\t4\nc\t5\n");
}

TEST_F(KeptViewsTest, OfRecords) {
  ExpectFault(RunApart<Changes<std::string_view>>(), "a view of a record was kept after its Map");
  EXPECT_EQ(RunApart<Changes<std::string>>(), "exit 0");
}

TEST_F(KeptViewsTest, OfKeys) {
  ExpectFault(RunApart<Last<std::string_view>>(), "a view of a key was kept after its Reduce");
  EXPECT_EQ(RunApart<Last<std::string>>(), "exit 0");
  EXPECT_EQ(Output(), "c 5\t1\n");
}

TEST_F(KeptViewsTest, OfAValueAfterWhichReduceStops) {
  ExpectFault(RunApart<First<std::string_view>>(), "a view of a value was kept after the next one was taken");
  EXPECT_EQ(RunApart<First<std::string>>(), "exit 0");
  EXPECT_EQ(Output(), "c 5\tfirst\n");
}

TEST_F(KeptViewsTest, OfKeysOfValues) {
  ExpectFault(RunApart<Groups<std::string_view>>(), "a view of a value was kept after the next one was taken");
  EXPECT_EQ(RunApart<Groups<std::string>>(), "exit 0");
  EXPECT_EQ(Output(), "a 1\ta 1\na 1\ta 2\nb 3\tb 3\nb 3\tb 4\nc 5\tc 5\n");
}

TEST_F(KeptViewsTest, ValuesThatAreTakenTwiceFailTheJob) {
  EXPECT_THAT(Run<Twice>().message(), HasSubstr("Reduce iterates over the values of a key a second time"));
  EXPECT_TRUE(Run<StopsEarly>().ok());
}

}  // namespace
}  // namespace millrace
