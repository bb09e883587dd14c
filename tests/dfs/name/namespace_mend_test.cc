// SPDX-License-Identifier: Apache-2.0
// Tests that a namespace of which some changes are lost is made to fit together, whichever they are.
#include "dfs/name/namespace_mend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "base/random.h"
#include "dfs/name/namespace.h"
#include "dfs/name/namespace_codec.h"
#include "tests/dfs/name/block_numbers.h"
#include "tests/fakes/memory_store.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A namespace, what each of its steps stored, and the store without some of them.
class NamespaceMendTest : public testing::Test {
 protected:
  WriteBatch& Step() { return steps_.emplace_back(); }
  void MakeDirectory(const std::string& path) { ASSERT_TRUE(names_->MakeDirectory(path, "ann", 1, &Step()).ok()); }
  void Rename(const std::string& from, const std::string& to) {
    ASSERT_TRUE(names_->Rename(from, to, 1, &Step()).ok());
  }
  FileId Open(const std::string& path) {
    const Result<FileId> file = names_->Create(path, {}, 1, &Step());
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? *file : 0;
  }
  BlockId Put(const std::string& path) {
    const FileId file = Open(path);
    const BlockId block = *names_->AddBlock(file, &Step());
    std::vector<BlockId> freed;
    EXPECT_TRUE(names_->Complete(file, {{block, 10, 1}}, 1, &Step(), &freed).ok());
    return block;
  }

  // Stores all steps but these, mends that, and loads it.
  std::vector<std::string> MendWithout(const std::set<std::size_t>& lost) {
    store_ = MakeMemoryStore();
    std::set<std::string> newer;
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (lost.contains(n)) continue;
      EXPECT_TRUE(store_->Write(steps_[n], Durability::kSynced).ok());
      for (const WriteBatch::Change& change : steps_[n].changes()) {
        if (!lost.empty() && n > *lost.begin()) newer.insert(change.key);
      }
    }
    WriteBatch mend;
    const auto told = MendNamespace(
        *store_, [&newer](std::string_view key) { return newer.contains(std::string(key)); }, &mend);
    EXPECT_TRUE(told.ok()) << told.status().message();
    EXPECT_TRUE(store_->Write(mend, Durability::kSynced).ok());
    mended_ = std::make_unique<Namespace>(SeededNumbers(1000));
    const Status loaded = mended_->Load(*store_);
    EXPECT_TRUE(loaded.ok()) << loaded.message();
    return told.ok() ? *told : std::vector<std::string>();
  }

  std::optional<Namespace> names_{std::in_place, SeededNumbers(1)};
  std::vector<WriteBatch> steps_;
  std::unique_ptr<KeyValueStore> store_;
  std::unique_ptr<Namespace> mended_;
};

TEST_F(NamespaceMendTest, WhatFitsIsLeftAlone) {
  MakeDirectory("/a");
  Put("/a/f");
  (void)Open("/a/open");
  EXPECT_THAT(MendWithout({}), IsEmpty());
  EXPECT_TRUE(mended_->Stat("/a/f").ok());
  EXPECT_EQ(mended_->OpenFiles().size(), 1u);
}

TEST_F(NamespaceMendTest, WhatLiesInADirectoryThatIsLostIsFound) {
  MakeDirectory("/a");
  const BlockId block = Put("/a/f");
  EXPECT_THAT(MendWithout({0}), ElementsAre(HasSubstr("/lost+found/directory-")));
  ASSERT_TRUE(mended_->OwnerOf(block).has_value());
  EXPECT_THAT(mended_->OwnerOf(block)->path, testing::MatchesRegex("/lost\\+found/directory-[0-9]+/f"));
}

TEST_F(NamespaceMendTest, OfTwoPlacesTheNewerOneStays) {
  const BlockId block = Put("/a");
  const std::size_t lost = steps_.size();
  Rename("/a", "/b");
  Rename("/b", "/c");
  EXPECT_THAT(MendWithout({lost}), ElementsAre("\"/a\" is gone: it is \"/c\" as well"));
  EXPECT_EQ(mended_->OwnerOf(block)->path, "/c");
  EXPECT_FALSE(mended_->Stat("/a").ok());
}

TEST_F(NamespaceMendTest, KeysAreNamed) {
  MakeDirectory("/a/b");
  Put("/a/b/f");
  const FileId open = Open("/a/open");
  (void)MendWithout({});
  std::string key;
  for (const WriteBatch& step : steps_) {
    for (const WriteBatch::Change& change : step.changes()) {
      if (change.key.ends_with("f") && change.key.starts_with(kEntryPrefix)) key = change.key;
    }
  }
  EXPECT_EQ(*DescribeStoredKey(*store_, key), "\"/a/b/f\"");
  EXPECT_EQ(*DescribeStoredKey(*store_, EncodeOpenKey(open)), "\"/a/open\", which was being written");
  EXPECT_EQ(*DescribeStoredKey(*store_, "j/12345678"), "");
  EXPECT_EQ(*DescribeStoredKey(*store_, EncodeEntryKey(99, "x")), "\"/?/x\"");
}

// Random histories without some of their steps, which stood one after another.
class NamespaceMendHistories : public NamespaceMendTest {
 protected:
  std::string RandomPath() {
    std::string path;
    for (std::uint64_t depth = 1 + random_.Below(3); depth > 0; --depth)
      path += "/" + std::string(1, static_cast<char>('a' + random_.Below(3)));
    return path;
  }
  void Run() {
    std::vector<FileId> open;
    for (int n = 0; n < 40; ++n) {
      std::vector<BlockId> freed;
      const std::uint64_t choice = random_.Below(10);
      if (choice < 2) {
        (void)names_->MakeDirectory(RandomPath(), "ann", n, &Step());
      } else if (choice < 5) {
        const Result<FileId> file = names_->Create(RandomPath(), {.overwrite = true}, n, &Step());
        if (file.ok()) open.push_back(*file);
      } else if (choice < 7 && !open.empty()) {
        const FileId file = open.back();
        open.pop_back();
        const Result<BlockId> block = names_->AddBlock(file, &Step());
        if (!block.ok()) continue;
        if (random_.Below(3) == 0) (void)names_->Sync(file, 0, {{*block, 5, 1}}, &Step());
        if (random_.Below(3) > 0) (void)names_->Complete(file, {{*block, 5, 1}}, n, &Step(), &freed);
      } else if (choice < 9) {
        (void)names_->Rename(RandomPath(), RandomPath(), n, &Step());
      } else {
        (void)names_->Remove(RandomPath(), true, &Step(), &freed);
      }
    }
    std::erase_if(steps_, [](const WriteBatch& step) { return step.empty(); });
  }
  Random random_{0};
};

// Each file that the lost steps did not store is somewhere.
TEST_F(NamespaceMendHistories, AnyLossIsMendedAndCostsNoOtherFile) {
  constexpr std::uint64_t kSeeds = 3000;
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_ = Random(seed);
    names_.emplace(SeededNumbers(1));
    steps_.clear();
    Run();
    if (steps_.empty()) continue;
    std::set<std::size_t> lost;
    const std::size_t first = random_.Below(steps_.size());
    for (std::uint64_t count = 1 + random_.Below(3); count > 0; --count)
      lost.insert(std::min(first + count - 1, steps_.size() - 1));
    (void)MendWithout(lost);
    std::set<BlockId> stored_by_lost;
    for (const std::size_t n : lost) {
      for (const WriteBatch::Change& change : steps_[n].changes()) {
        if (!change.value || !change.key.starts_with(kEntryPrefix)) continue;
        const Result<StoredEntry> entry = DecodeEntry(*change.value);
        ASSERT_TRUE(entry.ok());
        for (const Block& block : entry->blocks) stored_by_lost.insert(block.id);
      }
    }
    ASSERT_TRUE(names_
                    ->Walk("/",
                           [&](const FileStatus& file) {
                             if (file.directory) return true;
                             const auto blocks = names_->Blocks(file.path);
                             for (const Block& block : *blocks) {
                               EXPECT_TRUE(stored_by_lost.contains(block.id) || mended_->OwnerOf(block.id).has_value())
                                   << file.path;
                             }
                             return true;
                           })
                    .ok());
  }
}

}  // namespace
}  // namespace millrace::dfs
