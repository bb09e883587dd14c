// SPDX-License-Identifier: Apache-2.0
// Tests the second copy of a database: that it is kept, told of when it is not, and gives back whatever the first lost.
#include "base/kv/mirrored_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/kv/rocks_files.h"
#include "base/random.h"
#include "tests/histories.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

using Pairs = std::map<std::string, std::string>;

// A store whose disk can be made to refuse what is written.
class RefusingStore final : public RocksStore {
 public:
  RefusingStore(std::unique_ptr<RocksStore> store, const bool& refuses) : store_(std::move(store)), refuses_(refuses) {}
  Status Write(const WriteBatch& batch, Durability durability) override {
    return refuses_ ? NoSpace("the disk is full") : store_->Write(batch, durability);
  }
  Result<std::optional<std::string>> Get(std::string_view key) const override { return store_->Get(key); }
  Status Scan(std::string_view prefix, std::string_view from,
              const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    return store_->Scan(prefix, from, visit);
  }
  Result<BackupFacts> BackUp(const std::string& directory, const BackupPlan& plan) override {
    return store_->BackUp(directory, plan);
  }
  std::uint64_t room_needed() const override { return store_->room_needed(); }
  std::uint64_t last_operation() const override { return store_->last_operation(); }
  Status CopyTo(const std::string& directory) override { return store_->CopyTo(directory); }
  void UseSpare(bool use) override { store_->UseSpare(use); }
  std::uint64_t spare_left() const override { return store_->spare_left(); }

 private:
  const std::unique_ptr<RocksStore> store_;
  const bool& refuses_;
};

class MirroredStoreTest : public testing::Test {
 protected:
  Result<std::unique_ptr<MirroredStore>> TryOpen() {
    MILLRACE_ASSIGN(
        std::unique_ptr<RocksStore> store,
        OpenRocksStore(
            first_, [this](const std::string&) -> Result<std::uint64_t> { return free_of_first_; }, kSpare));
    return OpenMirror(
        std::make_unique<RefusingStore>(std::move(store), first_refuses_), copy_,
        [this](const std::string&) -> Result<std::uint64_t> { return free_; },
        [this](const std::string& line) { told_.push_back(line); });
  }
  std::unique_ptr<MirroredStore> Open() {
    auto opened = TryOpen();
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  void Put(KeyValueStore& store, const std::string& key, const std::string& value) {
    WriteBatch batch;
    batch.Put(key, value);
    ASSERT_TRUE(store.Write(batch, Durability::kSynced).ok());
    written_[key] = value;
  }
  static Result<Pairs> All(const KeyValueStore& store) {
    Pairs all;
    MILLRACE_TRY(store.Scan("", "", [&all](std::string_view key, std::string_view value) {
      all.emplace(key, value);
      return true;
    }));
    return all;
  }
  // Says in the state that it takes, under "note", if that may lack something.
  Result<RepairFacts> Repair(bool apply = true, bool knows_copy = true) {
    WriteBatch note;
    note.Put("note", "it may lack something");
    return RepairRocksStore(
        first_, apply, [](const KeyValueStore& store, const RepairFacts&) { return All(store).status(); }, nullptr,
        knows_copy ? copy_ : std::string(), note);
  }
  // Copies both while they are open. What a database has no use for may go meanwhile, so it tries until nothing does.
  void CopyLive(const std::string& to) {
    std::error_code error;
    do {
      fs::remove_all(to);
      fs::create_directory(to);
      for (const char* one : {"/one", "/two"}) {
        if (fs::copy(directory_->path() + one, to + one, fs::copy_options::recursive, error); error) break;
      }
    } while (error);
  }
  void CutTheLogOfTheFirst() {
    std::string newest;
    const auto names = ListDirectory(first_);
    for (const std::string& name : *names) {
      if (name.ends_with(".log")) newest = std::max(newest, first_ + "/" + name);
    }
    fs::resize_file(newest, fs::file_size(newest) - 3);
  }

  static constexpr std::uint64_t kSpare = std::uint64_t{64} << 10;

  Result<TempDir> directory_ = TempDir::Make("mirror");
  std::string first_ = directory_->path() + "/one/database", copy_ = directory_->path() + "/two/database";
  std::uint64_t free_ = std::uint64_t{1} << 40, free_of_first_ = free_;
  bool first_refuses_ = false;
  std::vector<std::string> told_;
  Pairs written_;
};

TEST_F(MirroredStoreTest, BothHaveEverything) {
  for (int round = 0; round < 3; ++round) {
    auto store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->copy_problem(), "");
    for (int i = 0; i < 20; ++i) Put(*store, "key" + std::to_string(20 * round + i), "v");
    EXPECT_EQ(*All(*store), written_);
  }
  EXPECT_THAT(told_, IsEmpty()) << "the copy was made once";
  EXPECT_EQ(*All(**OpenRocksStore(copy_)), written_);
}

TEST_F(MirroredStoreTest, ACopyThatIsBehindOrDamagedOrGoneIsMadeAnew) {
  Put(*Open(), "first", "1");
  Put(**OpenRocksStore(first_), "second", "2");
  EXPECT_EQ(Open()->copy_problem(), "");
  EXPECT_THAT(told_, ElementsAre(HasSubstr("is made again: it is not up to date")));
  fs::remove(copy_ + "/CURRENT");
  EXPECT_EQ(Open()->copy_problem(), "");
  fs::remove_all(copy_);
  EXPECT_EQ(Open()->copy_problem(), "");
  EXPECT_EQ(*All(**OpenRocksStore(copy_)), written_);
}

TEST_F(MirroredStoreTest, ACopyThatFailsIsGivenUpAndThatIsSaid) {
  Put(*Open(), "first", "1");
  free_ = 0;  // the copy is opened to be read
  {
    auto store = Open();
    EXPECT_EQ(store->copy_problem(), "");
    Put(*store, "second", "2");
    Put(*store, "third", "3");
    EXPECT_THAT(store->copy_problem(), HasSubstr("acknowledged changes are on one disk"));
    EXPECT_EQ(told_.size(), 1u);
    EXPECT_EQ(*All(*store), written_);
  }
  free_ = std::uint64_t{1} << 40;
  EXPECT_EQ(Open()->copy_problem(), "");
  EXPECT_EQ(*All(**OpenRocksStore(copy_)), written_);
}

TEST_F(MirroredStoreTest, ACopyThatCannotBeMadeIsSaid) {
  ASSERT_TRUE(WriteFileDurably(directory_->path() + "/two", "a file").ok());
  auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_NE(store->copy_problem(), "");
  Put(*store, "first", "1");
}

// With its mark and all, as a snapshot of the machine brings it back.
TEST_F(MirroredStoreTest, AnOlderStateOfTheFirstIsSeenAndTheCopyTaken) {
  Put(*Open(), "first", "1");
  const std::string old = directory_->path() + "/old";
  fs::copy(directory_->path() + "/one", old, fs::copy_options::recursive);
  Put(*Open(), "second", "2");
  fs::remove_all(directory_->path() + "/one");
  fs::rename(old, directory_->path() + "/one");
  const auto refused = TryOpen();
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(refused.status().message(), HasSubstr("is an older state"));
  const auto facts = Repair();
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_THAT(facts->method, HasSubstr("second copy"));
  written_["note"] = "it may lack something";  // the mark is as old, and does not tell whether the copy was given up
  EXPECT_EQ(*All(*Open()), written_);
}

// It was given up before the first went on, and then lost with its mark, or set back with it.
TEST_F(MirroredStoreTest, ACopyThatMayHaveBeenGivenUpIsNotSaidToBeWhole) {
  Put(*Open(), "first", "1");
  const std::string old = directory_->path() + "/old";
  fs::copy(directory_->path() + "/one", old, fs::copy_options::recursive);
  for (const bool is_set_back : {false, true}) {
    SCOPED_TRACE(is_set_back);
    Put(*Open(), "second", "2");
    Put(**OpenRocksStore(first_), "third", "3");
    fs::remove_all(directory_->path() + "/one");
    if (is_set_back) fs::copy(old, directory_->path() + "/one", fs::copy_options::recursive);
    const auto facts = Repair();
    ASSERT_TRUE(facts.ok()) << facts.status().message();
    EXPECT_FALSE(facts->acknowledged_known);
    EXPECT_FALSE(facts->whole);
    EXPECT_THAT(*All(*Open()),
                ElementsAre(Pair("first", "1"), Pair("note", "it may lack something"), Pair("second", "2")));
  }
}

TEST_F(MirroredStoreTest, HowMuchACopyThatWasGivenUpLacksIsSaidIfTheMarkIsThere) {
  Put(*Open(), "first", "1");
  for (const char* key : {"second", "third"}) Put(**OpenRocksStore(first_), key, "2");
  fs::remove_all(first_);
  const auto facts = Repair();
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_TRUE(facts->acknowledged_known);
  EXPECT_EQ(facts->acknowledged - facts->operations, 2u);
  EXPECT_FALSE(facts->whole);
}

// A master that was killed between the two marks.
TEST_F(MirroredStoreTest, ACopyWhoseMarkIsOneBehindIsWhole) {
  Put(*Open(), "first", "1");
  const std::string mark = *ReadWholeFile(copy_ + ".committed");
  Put(*Open(), "second", "2");
  ASSERT_TRUE(WriteFileDurably(copy_ + ".committed", mark).ok());
  fs::remove_all(first_);
  const auto facts = Repair();
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_TRUE(facts->whole);
  EXPECT_EQ(*All(*Open()), written_);
}

TEST_F(MirroredStoreTest, ACopyThatHasAllThatTheMarkOfALostFirstSaysIsWhole) {
  Put(*Open(), "first", "1");
  fs::remove_all(first_);
  const auto facts = Repair();
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_TRUE(facts->whole);
  EXPECT_EQ(*All(*Open()), written_);
}

TEST_F(MirroredStoreTest, AStateThatMayLackSomethingIsNotedInIt) {
  Put(*Open(), "first", "1");
  Put(*Open(), "second", "2");
  fs::remove_all(directory_->path() + "/two");
  CutTheLogOfTheFirst();
  ASSERT_EQ(TryOpen().status().code(), StatusCode::kCorrupt);
  const auto facts = Repair();
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_FALSE(facts->whole);
  EXPECT_THAT(*All(*Open()), ElementsAre(Pair("first", "1"), Pair("note", "it may lack something")));
}

// Both have as many operations then.
TEST_F(MirroredStoreTest, ACopyOfAnotherHistoryIsNotTakenForTheSame) {
  Put(*Open(), "first", "1");
  Put(*Open(), "second", "2");
  CutTheLogOfTheFirst();
  ASSERT_TRUE(Repair(true, false).ok());
  const auto opened = TryOpen();
  EXPECT_EQ(opened.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(opened.status().message(), HasSubstr("but differ"));
  EXPECT_EQ(*All(**OpenRocksStore(copy_)), written_) << "nobody but a user can tell which of both is right";
  const auto facts = Repair();
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_THAT(facts->problem, HasSubstr("if the first is right, move the copy away"));
  written_["note"] = "it may lack something";  // what the first went on with
  EXPECT_EQ(*All(*Open()), written_);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(MirroredStoreTest, WhatTheFirstRefusesForWantOfRoomTheCopyDoesNotHave) {
  Put(*Open(), "first", "1");
  free_of_first_ = 0;
  auto store = Open();
  ASSERT_NE(store, nullptr);
  WriteBatch batch;
  batch.Put("second", "2");
  EXPECT_EQ(store->Write(batch, Durability::kSynced).code(), StatusCode::kNoSpace);
  store.reset();
  free_of_first_ = free_;
  store = Open();
  ASSERT_NE(store, nullptr) << "it is not taken for an older state";
  Put(*store, "second", "3");
  EXPECT_EQ(store->copy_problem(), "");
  EXPECT_THAT(told_, IsEmpty());
}

// The copy has it then, as after a master that was killed while the first was still writing.
TEST_F(MirroredStoreTest, WhatTheFirstFailsToWriteIsNotHeldAgainstItAtTheNextStart) {
  for (const bool is_full : {false, true}) {
    SCOPED_TRACE(is_full);
    Put(*Open(), "first", "1");
    auto store = Open();
    first_refuses_ = true;
    WriteBatch batch;
    batch.Put("second", "2");
    EXPECT_EQ(store->Write(batch, Durability::kSynced).code(), StatusCode::kNoSpace);
    first_refuses_ = false;
    EXPECT_FALSE(store->Write(batch, Durability::kSynced).ok()) << "the copy would have it twice";
    store.reset();
    free_of_first_ = is_full ? 0 : free_;
    store = Open();
    ASSERT_NE(store, nullptr) << "nothing that was acknowledged is missing";
    EXPECT_EQ(*All(*store), written_);
    EXPECT_EQ(store->copy_problem() != "", is_full) << store->copy_problem();
    EXPECT_EQ(fs::exists(copy_), !is_full) << "the first goes on with something else";
    EXPECT_EQ(fs::exists(copy_ + ".damaged-1/CURRENT"), is_full);
    store.reset();
    free_of_first_ = free_;
    EXPECT_EQ(Open()->copy_problem(), "");
    EXPECT_EQ(*All(**OpenRocksStore(copy_)), written_);
  }
}

TEST_F(MirroredStoreTest, ItWritesWhereTheSystemGivesNoMoreThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto write_without_threads = [this] {
    const auto store = Open();
    // The limit counts all processes of a user, and none of root's.
    const rlimit none{1, 1};
    if (::geteuid() == 0 && ::setuid(61'235) != 0) std::_Exit(2);
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) std::_Exit(3);
    Put(*store, "first", "1");
    std::_Exit(store->copy_problem().empty() && *All(*store) == written_ ? 0 : 4);
  };
  EXPECT_EXIT(write_without_threads(), testing::ExitedWithCode(0), "");
}

// Nothing but a user can tell what it was.
TEST_F(MirroredStoreTest, ACopyThatCannotBeReadIsPutAsideAndNotRemoved) {
  Put(*Open(), "first", "1");
  fs::remove(copy_ + "/CURRENT");
  ASSERT_TRUE(WriteFileDurably(copy_ + "/letter", "dear Ann").ok());
  EXPECT_EQ(Open()->copy_problem(), "");
  EXPECT_EQ(*ReadWholeFile(copy_ + ".damaged-1/letter"), "dear Ann");
  EXPECT_THAT(told_, ElementsAre(HasSubstr("is made again: there are files, but no database"),
                                 HasSubstr("lies in " + copy_ + ".damaged-1")));
  EXPECT_EQ(*All(**OpenRocksStore(copy_)), written_);
}

// As after an old image of the first disk.
TEST_F(MirroredStoreTest, ACopyThatGoesFurtherIsNotReplacedIfItsMarkCannotBeRead) {
  Put(*Open(), "first", "1");
  const std::string old = directory_->path() + "/old";
  fs::copy(directory_->path() + "/one", old, fs::copy_options::recursive);
  Put(*Open(), "second", "2");
  fs::remove_all(directory_->path() + "/one");
  fs::rename(old, directory_->path() + "/one");
  ASSERT_TRUE(WriteFileDurably(copy_ + ".committed", "?").ok());
  const auto refused = TryOpen();
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(refused.status().message(), HasSubstr("goes on to operation 2"));
  EXPECT_TRUE(fs::exists(copy_ + "/CURRENT"));
  fs::rename(copy_, directory_->path() + "/away");
  EXPECT_THAT(*All(*Open()), ElementsAre(Pair("first", "1"))) << "as the refusal said";
}

TEST_F(MirroredStoreTest, AnOlderCopyStaysUntilANewOneIsWhole) {
  Put(*Open(), "first", "1");
  Put(**OpenRocksStore(first_), "second", "2");
  free_of_first_ = 0;  // of a database that is open to be read no copy is made
  EXPECT_NE(Open()->copy_problem(), "");
  EXPECT_THAT(*All(**OpenRocksStore(copy_)), ElementsAre(Pair("first", "1")));
}

// Whatever is written into the spare log is in the copy, too; after any start, also of what a killed master left, both
// go on together.
TEST_F(MirroredStoreTest, TheSpareLogAndTheCopyStayTogether) {
  PlayHistories(15, [this](std::uint64_t seed) {
    Random random(seed);
    written_.clear();
    told_.clear();
    free_of_first_ = free_;
    for (const char* one : {"/one", "/two"}) fs::remove_all(directory_->path() + one);
    auto store = Open();
    for (int step = 0; step < 40; ++step) {
      ASSERT_NE(store, nullptr);
      switch (random.Below(6)) {
        case 0:  // a full disk, or one that has room again
          free_of_first_ = free_of_first_ == 0 ? free_ : 0;
          store->UseSpare(free_of_first_ == 0);
          break;
        case 1: {
          WriteBatch batch;
          const std::string key = "key" + std::to_string(random.Below(10));
          batch.Remove(key);
          ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
          written_.erase(key);
          break;
        }
        case 2:
          store.reset();
          store = Open();
          ASSERT_NE(store, nullptr);
          store->UseSpare(free_of_first_ == 0);
          break;
        case 3: {  // the process is killed: what is on disk stays as it is
          const std::string killed = directory_->path() + "/killed";
          CopyLive(killed);
          store.reset();
          for (const char* one : {"/one", "/two"}) {
            fs::remove_all(directory_->path() + one);
            fs::rename(killed + one, directory_->path() + one);
          }
          store = Open();
          ASSERT_NE(store, nullptr);
          store->UseSpare(free_of_first_ == 0);
          break;
        }
        default:
          Put(*store, "key" + std::to_string(random.Below(10)), std::string(random.Below(200), 'v'));
      }
      ASSERT_EQ(*All(*store), written_);
      ASSERT_EQ(store->copy_problem(), "");
    }
    store.reset();
    ASSERT_THAT(told_, IsEmpty());
    ASSERT_EQ(*All(**OpenRocksStore(copy_)), written_);
  });
}

TEST_F(MirroredStoreTest, AFirstThatIsGoneIsMadeOfTheCopy) {
  Put(*Open(), "first", "1");
  fs::remove_all(directory_->path() + "/one");
  const auto dry = Repair(false);
  ASSERT_TRUE(dry.ok()) << dry.status().message();
  EXPECT_THAT(dry->problem, HasSubstr("does not exist"));
  EXPECT_FALSE(fs::exists(first_)) << "nothing was changed";
  ASSERT_TRUE(Repair().ok());
  written_["note"] = "it may lack something";  // the mark is gone, too
  EXPECT_EQ(*All(*Open()), written_);
}

TEST_F(MirroredStoreTest, WithoutEitherThereIsNothingToRepair) {
  EXPECT_EQ(Repair().status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(first_));
}

// Damage in a table is found when the table is read.
TEST_F(MirroredStoreTest, NoCopyIsReplacedByWhatCannotBeRead) {
  Put(*Open(), "first", "1");
  Put(*Open(), "second", "2");  // the first one is in a table now
  const auto names = ListDirectory(first_);
  int tables = 0;
  for (const std::string& name : *names) {
    if (!name.ends_with(".sst") || tables++ > 0) continue;
    std::string bytes = *ReadWholeFile(first_ + "/" + name);
    bytes[2] ^= 1;
    ASSERT_TRUE(WriteFileDurably(first_ + "/" + name, bytes).ok());
  }
  ASSERT_GT(tables, 0);
  for (const bool is_behind : {false, true}) {
    SCOPED_TRACE(is_behind);
    if (is_behind) Put(**OpenRocksStore(first_), "third", "3");
    const auto opened = TryOpen();
    EXPECT_EQ(opened.status().code(), StatusCode::kCorrupt);
    EXPECT_THAT(opened.status().message(), HasSubstr("`millrace master repair` takes it"));
    EXPECT_THAT(*All(**OpenRocksStore(copy_)), ElementsAre(Pair("first", "1"), Pair("second", "2")));
  }
}

// Nothing that was acknowledged is lost by damage in the first, wherever it is.
TEST_F(MirroredStoreTest, DamageAnywhereInTheFirstLosesNothing) {
  PlayHistories(1, [this](std::uint64_t seed) {
    Random random(seed);
    written_.clear();
    for (const char* one : {"/one", "/two", "/whole"}) fs::remove_all(directory_->path() + one);
    for (int i = 0; i < 3; ++i) {
      auto store = Open();
      for (int n = 0; n < 40; ++n)
        Put(*store, "key" + std::to_string(random.Below(60)), std::string(random.Below(3000), 'v'));
    }
    const std::string whole = directory_->path() + "/whole";
    fs::copy(directory_->path() + "/one", whole, fs::copy_options::recursive);
    int repaired = 0;
    for (int n = 0; n < 150; ++n) {
      SCOPED_TRACE("damage " + std::to_string(n));
      fs::remove_all(directory_->path() + "/one");
      fs::copy(whole, directory_->path() + "/one", fs::copy_options::recursive);
      std::vector<std::string> files = {first_ + ".committed"};
      const auto names = ListDirectory(first_);
      for (const std::string& name : *names) {
        if (name != "OWNER" && name != "LOCK" && !name.starts_with("LOG")) files.push_back(first_ + "/" + name);
      }
      const std::string& victim = files[random.Below(files.size())];
      const std::uint64_t size = fs::file_size(victim), kind = random.Below(4);
      if (kind == 0) {
        fs::remove(victim);
      } else if (kind == 1 || size == 0) {
        fs::resize_file(victim, size == 0 ? 0 : random.Below(size));
      } else {
        std::string bytes = *ReadWholeFile(victim);
        bytes[random.Below(size)] ^= static_cast<char>(1 + random.Below(255));
        ASSERT_TRUE(WriteFileDurably(victim, bytes).ok());
      }
      auto store = TryOpen();
      const auto read = store.ok() ? All(**store) : Result<Pairs>(store.status());
      if (!read.ok()) {
        if (store.ok()) store->reset();
        const auto facts = Repair();
        ASSERT_TRUE(facts.ok()) << victim << ": " << facts.status().message();
        ++repaired;
        store = TryOpen();
        ASSERT_TRUE(store.ok()) << victim << ": " << store.status().message();
      }
      auto now = All(**store);
      ASSERT_TRUE(now.ok()) << victim << ": " << now.status().message();
      now->erase("note");  // if the mark was damaged
      ASSERT_EQ(*now, written_) << victim;
    }
    EXPECT_GT(repaired, 20);
  });
}

}  // namespace
}  // namespace millrace
