#include "master/control/scheduler_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <deque>

#include "base/file.h"
#include "schedulers/offering/speculation_settings.h"
#include "schedulers/policies/simple/edf_settings.h"
#include "tests/master/fake_watched_file.h"

namespace millrace::master {
namespace {

using ::testing::HasSubstr;
using Change = FakeWatchedFile::Change;

class SchedulerFileTest : public ::testing::Test {
 protected:
  SchedulerFile Make(std::string text) {
    return SchedulerFile(std::make_unique<FakeWatchedFile>("scheduler.toml", std::move(text), &changes_),
                         MakeSilentLog());
  }
  void Poll(SchedulerFile& file) {
    file.Poll([this](const sched::Settings& settings) {
      applied_.push_back(settings.Of<sched::EdfSettings>().exclusive);
      return answer_;
    });
  }
  std::deque<Change> changes_;
  std::vector<bool> applied_;
  Status answer_;
};

TEST_F(SchedulerFileTest, WithoutAFileThereAreTheDefaults) {
  SchedulerFile file(nullptr, MakeSilentLog());
  ASSERT_TRUE(file.Load().ok());
  Poll(file);
  EXPECT_TRUE(applied_.empty());
  EXPECT_EQ(file.name(), "");
}

// In a live cluster slow tasks are duplicated unless the file says otherwise, and the settings say so outright: the
// journal keeps them, and a replay goes by the journal alone.
TEST_F(SchedulerFileTest, SlowTasksAreDuplicatedUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(SchedulerFile(nullptr, MakeSilentLog()).settings().Of<sched::SpeculationSettings>().enabled, true);
  SchedulerFile silent = Make("[fair]\norder = \"sjf\"\n");
  ASSERT_TRUE(silent.Load().ok());
  EXPECT_EQ(silent.settings().Of<sched::SpeculationSettings>().enabled, true);
  SchedulerFile against = Make("[speculation]\nenabled = false\n");
  ASSERT_TRUE(against.Load().ok());
  EXPECT_EQ(against.settings().Of<sched::SpeculationSettings>().enabled, false);
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = true\n"));
  Poll(against);
  EXPECT_EQ(against.settings().Of<sched::SpeculationSettings>().enabled, true);
}

TEST_F(SchedulerFileTest, AWrongFileAtTheStartIsAFailure) {
  EXPECT_EQ(Make("[fair]\norder = 1\n").Load().message(),
            "scheduler.toml:2: fair.order: 1 is not fair, fifo, sjf or mlq");
}

TEST_F(SchedulerFileTest, AChangeIsAppliedAndTheSameAgainIsNot) {
  SchedulerFile file = Make("");
  ASSERT_TRUE(file.Load().ok());
  Poll(file);
  EXPECT_TRUE(applied_.empty());
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = true\n"));
  changes_.push_back(std::optional<std::string>("# as before\n[edf]\nexclusive = true\n"));
  Poll(file);
  Poll(file);
  EXPECT_EQ(applied_, std::vector<bool>{true});
  EXPECT_TRUE(file.settings().Of<sched::EdfSettings>().exclusive);
  EXPECT_EQ(file.problem(), "");
}

TEST_F(SchedulerFileTest, AWrongFileIsRefusedAndTheOldOneStays) {
  SchedulerFile file = Make("[edf]\nexclusive = true\n");
  ASSERT_TRUE(file.Load().ok());
  changes_.push_back(std::optional<std::string>("\n\n[pools.ads]\nweight = -1\n"));
  Poll(file);
  EXPECT_TRUE(applied_.empty());
  EXPECT_TRUE(file.settings().Of<sched::EdfSettings>().exclusive);
  EXPECT_EQ(file.problem(), "scheduler.toml:4: pools.ads.weight: -1 is not above 0");
  Poll(file);
  EXPECT_NE(file.problem(), "") << "as long as the file is wrong";
  changes_.push_back(Invalid("scheduler.toml: cannot be read"));
  Poll(file);
  EXPECT_EQ(file.problem(), "scheduler.toml: cannot be read");
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = true\n"));
  Poll(file);
  EXPECT_EQ(file.problem(), "") << "right again, and what is in force";
  EXPECT_TRUE(applied_.empty());
}

TEST_F(SchedulerFileTest, SettingsThatTheSchedulerRefusesCountAsWrong) {
  SchedulerFile file = Make("");
  ASSERT_TRUE(file.Load().ok());
  answer_ = Invalid("cannot be");
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = true\n"));
  Poll(file);
  EXPECT_EQ(file.problem(), "cannot be");
  EXPECT_FALSE(file.settings().Of<sched::EdfSettings>().exclusive);
}

class WatchedFileTest : public ::testing::Test {
 protected:
  // The file gets the time of a given second, so that the resolution of the file system's clock does not matter.
  void Write(const std::string& text, time_t second) {
    ASSERT_TRUE(WriteFileDurably(path_, text).ok());
    const struct timespec times[2] = {{second, 0}, {second, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }
  TempDir directory_ = std::move(*TempDir::Make("watch"));
  std::string path_ = directory_.path() + "/file";
};

TEST_F(WatchedFileTest, AChangeIsGivenOnceWhenItHasSettled) {
  Write("one", 1000);
  const auto file = WatchFile(path_);
  EXPECT_EQ(*file->Read(), "one");
  EXPECT_EQ(*file->TakeChange(), std::nullopt);
  Write("two", 1001);
  EXPECT_EQ(*file->TakeChange(), std::nullopt) << "it may still be being written";
  Write("three", 1002);
  EXPECT_EQ(*file->TakeChange(), std::nullopt) << "it was";
  EXPECT_EQ(*file->TakeChange(), "three");
  EXPECT_EQ(*file->TakeChange(), std::nullopt);
}

TEST_F(WatchedFileTest, AFileThatIsGoneIsToldOnceAndComesBack) {
  Write("one", 1000);
  const auto file = WatchFile(path_);
  EXPECT_EQ(*file->Read(), "one");
  ASSERT_TRUE(RemoveTree(path_).ok());
  EXPECT_TRUE(file->TakeChange().ok());
  const Change gone = file->TakeChange();
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.status().message(), HasSubstr(path_));
  EXPECT_EQ(*file->TakeChange(), std::nullopt);
  Write("one", 1003);
  EXPECT_EQ(*file->TakeChange(), std::nullopt);
  EXPECT_EQ(*file->TakeChange(), "one");
}

}  // namespace
}  // namespace millrace::master
