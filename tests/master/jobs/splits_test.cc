// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/splits.h"

#include <gmock/gmock.h>

#include "tests/master/tracker_fixture.h"
#include "tests/node_ids.h"

namespace millrace::master {
namespace {

using ::testing::ElementsAre;

class SplitsTest : public TrackerFixture {
 protected:
  SplitsTest() { AddWorker("a", 1, 1); }
  std::vector<std::string> Names(const std::vector<std::string>& inputs, const Cutting& cutting = {}) {
    const Result<std::vector<Split>> splits = ComputeSplits(files->names(), inputs, cutting);
    if (!splits.ok()) return {"! " + splits.status().message()};
    std::vector<std::string> names;
    for (const Split& split : *splits)
      names.push_back(split.name + "@" + std::to_string(split.offset >> 20) + "+" + std::to_string(split.length >> 20));
    return names;
  }
};

TEST_F(SplitsTest, EveryBlockOfAFileIsASplit) {
  AddFile("/d/big", 3, {1_n});
  EXPECT_THAT(Names({"/d/big"}), ElementsAre("big@0+1", "big@1+1", "big@2+1"));
  EXPECT_THAT(Names({"/d/big"}, {{SplitBy::kFile}}), ElementsAre("big@0+3"));
}

TEST_F(SplitsTest, CompressedFilesAreNotCut) {
  for (const char* path : {"/d/a", "/d/b.gz", "/d/c.zst", "/d/d.bz2", "/d/e"}) AddFile(path, 2, {1_n});
  const auto cut = ElementsAre("a@0+1", "a@1+1", "b.gz@0+1", "b.gz@1+1", "c.zst@0+1", "c.zst@1+1", "d.bz2@0+1",
                               "d.bz2@1+1", "e@0+1", "e@1+1");
  EXPECT_THAT(Names({"/d"}), cut) << "for a job that reads their bytes as they are";
  const Cutting by_name{{SplitBy::kBlock, true}};
  EXPECT_THAT(Names({"/d"}, by_name),
              ElementsAre("a@0+1", "a@1+1", "b.gz@0+2", "c.zst@0+2", "d.bz2@0+2", "e@0+1", "e@1+1"));
  EXPECT_THAT(Names({"/d/b.gz", "/d/*.zst"}, by_name), ElementsAre("b.gz@0+2", "c.zst@0+2"));
  EXPECT_THAT(Names({"/d"}, {{SplitBy::kFixed, true}}), Names({"/d"}, by_name));
  const Cutting by_bytes{{SplitBy::kBlock, true}, {}, {"/d/e", "/d/a", "/elsewhere", "/d/b.gz"}};
  EXPECT_THAT(Names({"/d"}, by_bytes), ElementsAre("a@0+2", "b.gz@0+2", "c.zst@0+2", "d.bz2@0+2", "e@0+2"));
  AddFile("/d/f.gz", 0, {1_n});
  EXPECT_THAT(Names({"/d/f.gz"}, by_name), ElementsAre()) << "an empty file has no split, whatever its name";
}

TEST_F(SplitsTest, AWholeFileHasAllItsBlocks) {
  AddFile("/d/a.gz", 3, {1_n});
  const std::vector<Split> splits = *ComputeSplits(files->names(), {"/d"}, {{SplitBy::kBlock, true}});
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].blocks.size(), 3u);
  EXPECT_EQ(splits[0].length, splits[0].file_length);
  EXPECT_EQ(splits[0].first_block_offset, 0u);
}

TEST_F(SplitsTest, ADirectoryGivesItsFilesByTheirPathBelowIt) {
  AddFile("/d/b", 1, {1_n});
  AddFile("/d/sub/a", 1, {1_n});
  AddFile("/d/_SUCCESS", 1, {1_n});
  AddFile("/d/.hidden", 1, {1_n});
  AddFile("/d/_logs/x", 1, {1_n});
  EXPECT_THAT(Names({"/d"}), ElementsAre("b@0+1", "sub/a@0+1"));
  EXPECT_THAT(Names({"/d/_SUCCESS"}), ElementsAre("_SUCCESS@0+1")) << "named itself it is meant";
}

TEST_F(SplitsTest, PatternsWorkWithinComponents) {
  for (const char* path : {"/y/2019/a.txt", "/y/2020/a.txt", "/y/2020/b.log", "/y/2021/a.txt"}) AddFile(path, 1, {1_n});
  EXPECT_THAT(Names({"/y/202?/*.txt"}), ElementsAre("a.txt@0+1", "a.txt@0+1"));
  EXPECT_THAT(Names({"/y/20[12]?"}), ElementsAre("a.txt@0+1", "a.txt@0+1", "b.log@0+1", "a.txt@0+1"));
  EXPECT_THAT(Names({"/y/19*"}), ElementsAre(::testing::HasSubstr("matches no file")));
}

TEST_F(SplitsTest, PatternsMatchMarksAndLogsOnlyIfTheyBeginLikeThem) {
  for (const char* path : {"/d/a", "/d/_SUCCESS", "/d/_logs/x", "/d/.crc"}) AddFile(path, 1, {1_n});
  EXPECT_THAT(Names({"/d/*"}), ElementsAre("a@0+1"));
  EXPECT_THAT(Names({"/d/?SUCCESS"}), ElementsAre(::testing::HasSubstr("matches no file")));
  EXPECT_THAT(Names({"/d/_*"}), ElementsAre("_SUCCESS@0+1", "x@0+1"));
  EXPECT_THAT(Names({"/d/.*"}), ElementsAre(".crc@0+1"));
}

TEST_F(SplitsTest, ASplitKnowsWhichInputNamedIt) {
  for (const char* path : {"/users/part", "/orders/part", "/y/1/part", "/y/2/part"}) AddFile(path, 2, {1_n});
  const auto inputs_of = [&](SplitBy by) {
    std::vector<std::string> found;
    const auto splits = ComputeSplits(files->names(), {"/users", "/y/?", "/orders/part", "/users"}, {{by}});
    EXPECT_TRUE(splits.ok()) << splits.status().message();
    if (!splits.ok()) return found;
    for (const Split& split : *splits) found.push_back(std::to_string(split.input) + split.path);
    return found;
  };
  EXPECT_THAT(inputs_of(SplitBy::kFile),
              ElementsAre("0/users/part", "1/y/1/part", "1/y/2/part", "2/orders/part", "3/users/part"));
  EXPECT_THAT(inputs_of(SplitBy::kBlock),
              ElementsAre("0/users/part", "0/users/part", "1/y/1/part", "1/y/1/part", "1/y/2/part", "1/y/2/part",
                          "2/orders/part", "2/orders/part", "3/users/part", "3/users/part"));
}

TEST_F(SplitsTest, EachInputMayBeCutInAWayOfItsOwn) {
  for (const char* path : {"/users/a", "/users/b.gz", "/orders/a", "/orders/b.gz"}) AddFile(path, 2, {1_n});
  const Cutting cutting{{SplitBy::kFile}, {{SplitBy::kBlock, true}, {SplitBy::kFile}, {SplitBy::kFixed}}, {}};
  EXPECT_THAT(Names({"/users", "/orders", "/users/*"}, cutting),
              ElementsAre("a@0+1", "a@1+1", "b.gz@0+2", "a@0+2", "b.gz@0+2", "a@0+1", "a@1+1", "b.gz@0+1", "b.gz@1+1"));
}

TEST_F(SplitsTest, APatternIsAllThatItMatchesAlsoWhereAFileBearsItAsItsName) {
  for (const char* path : {"/d/a*", "/d/ab", "/d/[x]", "/e*/f", "/e1/f", "/e1/g"}) AddFile(path, 1, {1_n});
  EXPECT_THAT(Names({"/d/a*"}), ElementsAre("a*@0+1", "ab@0+1"));
  EXPECT_THAT(Names({"/d/a\\*"}), ElementsAre("a*@0+1"));
  EXPECT_THAT(Names({"/d/[x]"}), ElementsAre("[x]@0+1")) << "nothing matches, and it is there";
  AddFile("/d/x", 1, {1_n});
  EXPECT_THAT(Names({"/d/[x]"}), ElementsAre("x@0+1"));
  EXPECT_THAT(Names({"/e*"}), ElementsAre("f@0+1", "f@0+1", "g@0+1"));
  EXPECT_THAT(Names({"/{d/ab,e1/{g,f}}"}), ElementsAre("ab@0+1", "f@0+1", "g@0+1"));
  EXPECT_THAT(Names({"/d/{ab,none}"}), ElementsAre("ab@0+1"));
  EXPECT_THAT(Names({"/d/{a?,a*}"}), ElementsAre("a*@0+1", "ab@0+1")) << "each once";
  EXPECT_THAT(Names({"/d/{no,none}"}), ElementsAre(::testing::HasSubstr("matches no file")));
}

TEST_F(SplitsTest, EmptyFilesGiveASplitOnlyWhole) {
  AddFile("/d/empty", 0, {1_n});
  EXPECT_THAT(Names({"/d"}), ElementsAre());
  EXPECT_THAT(Names({"/d"}, {{SplitBy::kFile}}), ElementsAre("empty@0+0"));
}

TEST_F(SplitsTest, AllOfTheInputMustBeOpenToItsReader) {
  for (const char* path : {"/d/a", "/d/e/b", "/d/_logs/c"}) AddFile(path, 1, {1_n});
  const dfs::Principal eve{.user = "eve", .groups = {}, .superuser = false};
  Step step = At();
  const auto set = [&](const char* path, dfs::Mode mode) { ASSERT_TRUE(files->SetMode(path, mode, &step.batch).ok()); };
  const auto read = [&](const char* input) {
    return ComputeSplits(files->names(), {input}, {{SplitBy::kBlock}}, eve).status();
  };
  const char* const kInputs[] = {"/d", "/d/*", "/d/e", "/d/e/b", "/d/e/?", "/d/?/b"};
  set("/d/_logs", 0700);
  set("/d/_logs/c", 0600);
  for (const char* input : kInputs) EXPECT_TRUE(read(input).ok()) << input << ": what is left out is not looked at";
  const struct {
    const char* path;
    dfs::Mode mode;
    std::vector<bool> denied;  // of each input
    const char* says;
  } table[] = {
      {"/d/e/b", 0600, {true, true, true, true, true, true}, "eve may not read \"/d/e/b\""},
      {"/d/e", 0711, {true, true, true, false, true, false}, "eve may not list \"/d/e\""},
      {"/d/e", 0700, {true, true, true, true, true, true}, "\"/d/e\""},
      {"/d/e", 0744, {true, true, true, true, true, true}, "\"/d/e\""},
      {"/d", 0711, {true, true, false, false, false, true}, "eve may not list \"/d\""},
      {"/d", 0700, {true, true, true, true, true, true}, "\"/d\""},
  };
  for (const auto& row : table) {
    const dfs::Mode before = files->names().Stat(row.path)->mode;
    set(row.path, row.mode);
    for (std::size_t i = 0; i < std::size(kInputs); ++i) {
      const Status status = read(kInputs[i]);
      EXPECT_EQ(status.code(), row.denied[i] ? StatusCode::kDenied : StatusCode::kOk)
          << kInputs[i] << " with " << row.path << " " << dfs::OctalText(row.mode) << ": " << status.message();
      if (row.denied[i]) {
        EXPECT_THAT(status.message(), ::testing::HasSubstr(row.says));
      }
    }
    EXPECT_TRUE(ComputeSplits(files->names(), {"/d"}, {{SplitBy::kBlock}}).ok()) << "everybody";
    set(row.path, before);
  }
}

TEST_F(SplitsTest, NumbersAreSpreadOverTheMaps) {
  for (const std::uint64_t records :
       {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{9}, std::uint64_t{11}, ~std::uint64_t{0}}) {
    std::uint64_t next = 0;
    for (const Split& split : NumberSplits(3, records)) {
      EXPECT_EQ(split.offset, next);
      EXPECT_EQ(split.file_length, records);
      EXPECT_GE(split.length, records / 3);
      EXPECT_LE(split.length, records / 3 + 1);
      EXPECT_TRUE(split.path.empty() && split.blocks.empty());
      next += split.length;
    }
    EXPECT_EQ(next, records);
  }
  EXPECT_EQ(NumberSplits(2000, 0).size(), 2000u);
}

TEST_F(SplitsTest, AMissingInputIsNamed) { EXPECT_THAT(Names({"/nope"}), ElementsAre(::testing::HasSubstr("/nope"))); }

}  // namespace
}  // namespace millrace::master
