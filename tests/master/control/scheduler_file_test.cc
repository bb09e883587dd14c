// SPDX-License-Identifier: Apache-2.0
#include "master/control/scheduler_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <deque>

#include "base/file.h"
#include "base/kv/key_value_store.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/simple/edf.h"
#include "tests/fakes/memory_store.h"
#include "tests/hex.h"
#include "tests/master/fake_watched_file.h"

namespace millrace::master {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Change = FakeWatchedFile::Change;

constexpr Micros kStart = 1769860800 * kSecond;  // 2026-01-31T12:00:00Z

class UnreadableFile final : public WatchedFile {
 public:
  const std::string& name() const override { return name_; }
  Result<std::string> Read() override { return NotFound("scheduler.toml: no such file"); }
  Result<std::optional<std::string>> TakeChange() override { return std::optional<std::string>(); }

 private:
  std::string name_ = "scheduler.toml";
};

class SchedulerFileTest : public ::testing::Test {
 protected:
  SchedulerFile Make(std::string text) {
    return SchedulerFile(std::make_unique<FakeWatchedFile>("scheduler.toml", std::move(text), &changes_),
                         MakeSilentLog());
  }
  // Stores the copy of the file, as a master does after a while.
  void Keep(SchedulerFile& file) {
    WriteBatch batch;
    file.Keep(&batch);
    ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  }
  void Poll(SchedulerFile& file) {
    file.Poll(now_, [this](const sched::Settings& settings) {
      applied_.push_back(settings.Of<sched::EdfSettings>().exclusive);
      return answer_;
    });
  }
  std::deque<Change> changes_;
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  Micros now_ = kStart;
  std::vector<bool> applied_;
  Status answer_;
};

TEST_F(SchedulerFileTest, WithoutAFileThereAreTheDefaults) {
  SchedulerFile file(nullptr, MakeSilentLog());
  file.Load(*store_, kSecond);
  Poll(file);
  EXPECT_TRUE(applied_.empty());
  EXPECT_EQ(file.name(), "");
}

// In a live cluster slow tasks are duplicated unless the file says otherwise, and the settings say so outright: the
// journal keeps them, and a replay goes by the journal alone.
TEST_F(SchedulerFileTest, SlowTasksAreDuplicatedUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(SchedulerFile(nullptr, MakeSilentLog()).settings().Of<sched::SpeculationSettings>().enabled, true);
  SchedulerFile silent = Make("[fair]\norder = \"sjf\"\n");
  silent.Load(*store_, kSecond);
  EXPECT_EQ(silent.settings().Of<sched::SpeculationSettings>().enabled, true);
  SchedulerFile against = Make("[speculation]\nenabled = false\n");
  against.Load(*store_, kSecond);
  EXPECT_EQ(against.settings().Of<sched::SpeculationSettings>().enabled, false);
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = true\n"));
  Poll(against);
  EXPECT_EQ(against.settings().Of<sched::SpeculationSettings>().enabled, true);
}

TEST_F(SchedulerFileTest, AWrongFileAtTheFirstStartLeavesTheDefaultsInForce) {
  SchedulerFile file = Make("[fair]\norder = 1\n");
  file.Load(*store_, kStart);
  EXPECT_EQ(file.problem(), "scheduler.toml:2: fair.order: 1 is not fair, fifo, sjf or mlq");
  EXPECT_EQ(file.settings().Of<sched::SpeculationSettings>().enabled, true);
  EXPECT_THAT(file.Line(), AllOf(HasSubstr("has been refused since 2026-01-31T12:00:00Z: scheduler.toml:2: "),
                                 HasSubstr("the default settings are in force")));
}

TEST_F(SchedulerFileTest, AWrongFileAtALaterStartLeavesTheLastGoodOneInForceUntilItIsMended) {
  SchedulerFile first = Make("[edf]\nexclusive = true\n");
  first.Load(*store_, kStart);
  EXPECT_TRUE(first.unkept());
  Keep(first);
  EXPECT_FALSE(first.unkept());
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = 17\n"));
  now_ = kStart + kHour;
  Poll(first);
  EXPECT_THAT(first.Line(), HasSubstr("its earlier contents stay in force"));
  Keep(first);

  SchedulerFile second = Make("[edf]\nexclusive = 17\n");
  second.Load(*store_, kStart + 100 * kHour);
  EXPECT_TRUE(second.settings().Of<sched::EdfSettings>().exclusive);
  EXPECT_THAT(second.Line(),
              AllOf(HasSubstr("has been refused since 2026-01-31T13:00:00Z: scheduler.toml:2: edf.exclusive"),
                    HasSubstr("a copy is in force, of its contents on 2026-01-31T12:00:00Z")))
      << "since the time at which the master before refused it";
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = 18\n"));
  now_ = kStart + 101 * kHour;
  Poll(second);
  EXPECT_THAT(second.Line(), HasSubstr("has been refused since 2026-01-31T13:00:00Z")) << "it was never right since";
  changes_.push_back(std::optional<std::string>("[edf]\nexclusive = false\n"));
  Poll(second);
  EXPECT_EQ(second.Line(), "");
  EXPECT_EQ(applied_, std::vector<bool>{false});
  Keep(second);

  SchedulerFile third(std::make_unique<UnreadableFile>(), MakeSilentLog());
  third.Load(*store_, kStart + 200 * kHour);
  EXPECT_FALSE(third.settings().Of<sched::EdfSettings>().exclusive);
  EXPECT_THAT(third.Line(),
              AllOf(HasSubstr("has been refused since 2026-02-08T20:00:00Z: scheduler.toml: no such file"),
                    HasSubstr("a copy is in force, of its contents on 2026-02-04T17:00:00Z")));
}

TEST_F(SchedulerFileTest, ACopyHasTheBytesOfItsFieldsInTheirOrder) {
  SchedulerFile file = Make("# x");
  file.Load(*store_, 300);
  Keep(file);
  // format, whether there is a copy, the copy, when it was taken, since when the file is refused
  EXPECT_EQ(**store_->Get("scheduler_file"), Hex("01 01 03'# x' 2c01000000000000 0000000000000000"));
}

// A copy that this version does not understand is none, and keeps no master from starting.
TEST_F(SchedulerFileTest, ACopyThatIsNotUnderstoodIsNone) {
  for (const std::string& record : {std::string(), std::string("\x02 of a newer kind"), std::string(40, '\xff')}) {
    WriteBatch batch;
    batch.Put("scheduler_file", record);
    ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
    SchedulerFile file = Make("[edf]\nexclusive = 17\n");
    file.Load(*store_, kStart);
    EXPECT_THAT(file.Line(), HasSubstr("the default settings are in force"));
  }
  SchedulerFile old = Make("[edf]\nexclusive = true\n");
  old.Load(*store_, kStart);
  Keep(old);
  const std::string copy = **store_->Get("scheduler_file");
  const std::size_t at = copy.find("exclusive");
  ASSERT_NE(at, copy.npos);
  WriteBatch batch;
  batch.Put("scheduler_file", std::string(copy).replace(at, 9, "renamed__"));  // as if a version had lost the key
  ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  SchedulerFile file = Make("[edf]\nexclusive = 17\n");
  file.Load(*store_, kStart);
  EXPECT_THAT(file.Line(), HasSubstr("the default settings are in force"));
}

TEST_F(SchedulerFileTest, AChangeIsAppliedAndTheSameAgainIsNot) {
  SchedulerFile file = Make("");
  file.Load(*store_, kSecond);
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
  file.Load(*store_, kSecond);
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
  file.Load(*store_, kSecond);
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
