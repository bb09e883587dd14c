// SPDX-License-Identifier: Apache-2.0
// Tests what Load makes of what is stored: inconsistent stores are refused, and ids are never used again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "dfs/name/namespace.h"
#include "dfs/name/namespace_codec.h"
#include "tests/dfs/name/block_numbers.h"
#include "tests/fakes/memory_store.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;

using Rows = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<KeyValueStore> StoreOf(const Rows& rows) {
  std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  WriteBatch batch;
  for (const auto& [key, value] : rows) batch.Put(key, value);
  EXPECT_TRUE(store->Write(batch, Durability::kSynced).ok());
  return store;
}

std::string Dir(FileId id) { return EncodeDirectory({id, 1, "ann", "team", 0750}); }
std::string FileOf(FileId id, const std::vector<Block>& blocks) {
  return EncodeFile({id, 1, "ann", "team", 0640}, 3, kMinBlockSize, blocks);
}
std::string Open(std::string_view path) {
  return EncodeOpenFile({.path = path,
                         .owner = "ann",
                         .writer = "w",
                         .created = 1,
                         .replication = 3,
                         .block_size = kMinBlockSize,
                         .overwrite = false,
                         .orphaned = false,
                         .mode = 0600});
}

TEST(NamespaceLoad, DirectoriesMayBeMetAfterWhatIsInThem) {
  // 9 is in 20, which is in the root. Entries are stored by the number of their directory, so those of 9 come first.
  const auto store = StoreOf({{"i", EncodeIdLimit(100)},
                              {EncodeEntryKey(5, "f"), FileOf(30, {{31, 7, 0xfeedf00d}})},
                              {EncodeEntryKey(9, "b"), Dir(5)},
                              {EncodeEntryKey(20, "a"), Dir(9)},
                              {EncodeEntryKey(0, "top"), Dir(20)}});
  Namespace names(SeededNumbers(7));
  const Status loaded = names.Load(*store);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  EXPECT_EQ(names.Stat("/top/a/b/f")->length, 7u);
  EXPECT_EQ(*names.Blocks("/top/a/b/f"), (std::vector<Block>{{31, 7, 0xfeedf00d}}));
  EXPECT_EQ(names.Total().directories, 4u);
}

TEST(NamespaceLoad, RefusesWhatDoesNotFitAndNamesTheKey) {
  const std::string limit = EncodeIdLimit(100);
  std::string bad_kind = Dir(5);
  bad_kind[1] = 7;
  std::string next_version = Dir(5);
  next_version[0] = 4;
  const struct {
    Rows rows;
    std::string named;
  } table[] = {
      {{{"i", "x"}}, "i"},
      {{{"i", limit}, {"f/short", Dir(5)}}, "f/short"},
      {{{"i", limit}, {EncodeEntryKey(0, ""), Dir(5)}}, "f/0"},
      {{{"i", limit}, {EncodeEntryKey(0, "a/b"), Dir(5)}}, "f/0/\"a/b\""},
      {{{"i", limit}, {EncodeEntryKey(0, ".."), Dir(5)}}, "f/0/\"..\""},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), bad_kind}}, "f/0/\"a\""},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), next_version}}, "version 4"},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), Dir(5) + "x"}}, "f/0/\"a\""},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), ""}}, "f/0/\"a\""},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), Dir(100)}}, "never given out"},
      {{{EncodeEntryKey(0, "a"), Dir(1)}}, "never given out"},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), Dir(0)}}, "never given out"},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), FileOf(5, {{0, 1}})}}, "number 0"},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), FileOf(5, {{6, kMinBlockSize + 1}})}}, "f/0/\"a\""},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), FileOf(5, {{6, 1}, {6, 1}})}}, "two places"},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), FileOf(5, {{6, 1}})}, {EncodeEntryKey(0, "b"), FileOf(7, {{6, 1}})}},
       "f/0/\"b\""},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), Dir(5)}, {EncodeEntryKey(0, "b"), Dir(5)}}, "two places"},
      {{{"i", limit}, {EncodeEntryKey(4, "a"), Dir(5)}}, "f/4/\"a\""},
      {{{"i", limit}, {"f", Dir(5)}}, "not the root"},
      {{{"i", limit}, {"f", FileOf(0, {})}}, "not the root"},
      {{{"i", limit}, {"f", "x"}}, "\"f\""},
      {{{"i", limit}, {EncodeEntryKey(0, "a"), EncodeDirectory({5, 1, "ann", "", 02000})}}, "a mode of 1024"},
      {{{"i", limit}, {EncodeEntryKey(5, "a"), Dir(6)}, {EncodeEntryKey(6, "b"), Dir(5)}}, "within itself"},
      {{{"i", limit}, {EncodeEntryKey(5, "a"), Dir(5)}}, "within itself"},
      {{{"i", limit}, {"o/x", Open("/f")}}, "o/x"},
      {{{"i", limit}, {EncodeOpenKey(5), "x"}}, "o/5"},
      {{{"i", limit}, {EncodeOpenKey(5), Open("/f/../g")}}, "o/5"},
      {{{"i", limit}, {EncodeOpenKey(5), Open("/f")}, {EncodeOpenKey(6), Open("/f")}}, "o/6"},
      {{{"i", limit}, {EncodeOpenBlockKey(5, 6), ""}}, "o/5/0000000000000006"},
      {{{"i", limit},
        {EncodeEntryKey(0, "a"), FileOf(7, {{6, 1}})},
        {EncodeOpenKey(5), Open("/f")},
        {EncodeOpenBlockKey(5, 6), ""}},
       "two places"},
      {{{"i", limit}, {EncodeOpenKey(5), Open("/f")}, {EncodeOpenBlockKey(5, 6), "x"}}, "o/5/0000000000000006"},
      {{{"i", limit}, {EncodeOpenKey(5), Open("/f")}, {EncodeOpenBlockKey(5, 6), EncodeSynced({1, 3, 9})}},
       "o/5/0000000000000006: a block before it is missing"},
      {{{"i", limit},
        {EncodeOpenKey(5), Open("/f")},
        {EncodeOpenBlockKey(5, 6), EncodeSynced({0, 3, 9})},
        {EncodeOpenBlockKey(5, 7), EncodeSynced({0, 3, 9})}},
       "o/5/0000000000000007: two blocks have its place"},
      {{{"i", limit},
        {EncodeOpenKey(5), Open("/f")},
        {EncodeOpenBlockKey(5, 6), EncodeSynced({0, kMinBlockSize + 1, 9})}},
       "longer than the block size"},
  };
  for (const auto& row : table) {
    Namespace names(SeededNumbers(7));
    const Status loaded = names.Load(*StoreOf(row.rows));
    EXPECT_EQ(loaded.code(), StatusCode::kCorrupt) << row.named;
    EXPECT_THAT(loaded.message(), HasSubstr(row.named));
  }
}

TEST(NamespaceLoad, EveryCutOrChangedByteOfAValueIsRefusedOrHarmless) {
  const std::string value = FileOf(5, {{6, 1}, {7, 2}});
  for (std::size_t size = 0; size < value.size(); ++size) {
    Namespace names(SeededNumbers(7));
    const Status cut =
        names.Load(*StoreOf({{"i", EncodeIdLimit(100)}, {EncodeEntryKey(0, "a"), value.substr(0, size)}}));
    EXPECT_EQ(cut.code(), StatusCode::kCorrupt) << "cut at " << size;
  }
  for (std::size_t at = 0; at < value.size() * 8; ++at) {
    std::string changed = value;
    changed[at / 8] = static_cast<char>(changed[at / 8] ^ (1 << at % 8));
    Namespace names(SeededNumbers(7));
    const Status status = names.Load(*StoreOf({{"i", EncodeIdLimit(100)}, {EncodeEntryKey(0, "a"), changed}}));
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kCorrupt);
  }
}

// The bytes are those of the format before modes, written out by hand.
TEST(NamespaceLoad, Version2IsReadWithoutGroupsAndWithTheModesOfNewEntries) {
  using namespace std::string_literals;
  const std::string limit = "\x02\x64\0\0\0\0\0\0\0"s;
  const std::string directory = "\x02\0\x05\x09\0\0\0\0\0\0\0\x03"s + "ann";
  const std::string file =
      "\x02\x01\x06\x07\0\0\0\0\0\0\0\x03"s + "bob" + "\x02\x80\x80\x40\x01"s + "\x0b\0\0\0\0\0\0\0\x0c\x0d\0\0\0"s;
  const std::string open = "\x02\x01\x04/a/g\x03"s + "ann" + "\x01"s + "w" + "\x08\0\0\0\0\0\0\0\x02\x80\x80\x40"s;
  const auto store = StoreOf(
      {{"i", limit}, {EncodeEntryKey(0, "a"), directory}, {EncodeEntryKey(5, "f"), file}, {EncodeOpenKey(7), open}});
  Namespace names(SeededNumbers(7));
  const Status loaded = names.Load(*store);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  const FileStatus a = *names.Stat("/a"), f = *names.Stat("/a/f"), root = *names.Stat("/");
  EXPECT_EQ(a.owner + "/" + a.group + "/" + OctalText(a.mode), "ann//755");
  EXPECT_EQ(f.owner + "/" + f.group + "/" + OctalText(f.mode), "bob//644");
  EXPECT_EQ(root.owner + "/" + root.group + "/" + OctalText(root.mode), "//1777");
  EXPECT_EQ(a.modified, 9);
  EXPECT_EQ(f.length, 12u);
  EXPECT_EQ(*names.Blocks("/a/f"), (std::vector<Block>{{11, 12, 13}}));
  EXPECT_EQ(names.FindOpen(7)->options.mode, kFileMode);
  EXPECT_TRUE(names.FindOpen(7)->options.overwrite);
}

// Programs from before modes refuse every version but 2, so that they lose none.
TEST(NamespaceLoad, WhatIsWrittenIsVersion3) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  Namespace names(SeededNumbers(7));
  WriteBatch batch;
  std::vector<BlockId> freed;
  ASSERT_TRUE(names.MakeDirectory("/d", "ann", 1, &batch).ok());
  const FileId file = *names.Create("/f", {}, 1, &batch);
  ASSERT_TRUE(names.Complete(file, {}, 1, &batch, &freed).ok());
  ASSERT_TRUE(names.Create("/g", {}, 1, &batch).ok());
  ASSERT_TRUE(names.SetMode("/", 0755, &batch).ok());
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  int values = 0;
  ASSERT_TRUE(store
                  ->Scan("", {},
                         [&](std::string_view key, std::string_view value) {
                           EXPECT_EQ(value.front(), 3) << DescribeKey(key);
                           ++values;
                           return true;
                         })
                  .ok());
  EXPECT_EQ(values, 5) << "the limit of ids, the root, a directory, a file, an open file";
}

TEST(NamespaceLoad, IdsNeverComeAgain) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  std::set<std::uint64_t> seen, blocks;
  for (int life = 0; life < 5; ++life) {
    Namespace names(SeededNumbers(7));  // the same numbers in each life
    ASSERT_TRUE(names.Load(*store).ok());
    for (int i = 0; i < 3000; ++i) {
      WriteBatch batch;
      const Result<FileId> file = names.Create("/" + std::to_string(life) + "-" + std::to_string(i), {}, 1, &batch);
      ASSERT_TRUE(file.ok());
      const Result<BlockId> block = names.AddBlock(*file, &batch);
      ASSERT_TRUE(block.ok());
      EXPECT_TRUE(seen.insert(*file).second) << *file;
      EXPECT_TRUE(blocks.insert(*block).second) << *block;
      ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
    }
  }
  EXPECT_FALSE(seen.contains(0));
  EXPECT_FALSE(blocks.contains(0));
}

}  // namespace
}  // namespace millrace::dfs
