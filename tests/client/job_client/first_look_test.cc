// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/first_look.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/compress/compress.h"
#include "tests/fakes/fake_dfs.h"

namespace millrace::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FirstLookTest : public ::testing::Test {
 protected:
  // Makes a file whose blocks have 8 bytes, or `block_size`.
  void Add(const std::string& path, const std::string& bytes, std::uint64_t block_size = 8) {
    tree_->MakeFile(path, bytes);
    tree_->entries[path].options.block_size = block_size;
  }

  // Looks into inputs that are no text.
  Result<std::vector<std::string>> Uncut(const std::vector<std::string>& inputs) {
    std::vector<OpenedInput> opened;
    for (const std::string& input : inputs) opened.push_back({input, false});
    return LookIntoInput(*files_, opened);
  }
  Status LookForText(const std::string& input) { return LookIntoInput(*files_, {{input, true}}).status(); }

  std::shared_ptr<dfs::testing::FakeTree> tree_ = std::make_shared<dfs::testing::FakeTree>();
  std::unique_ptr<dfs::DfsClient> files_ = dfs::testing::MakeFakeClient(tree_);
};

TEST_F(FirstLookTest, FindsWhatOnlyTheBytesTell) {
  const std::string gzip = CompressGzip("one two"), zstd = CompressZstd("one two"), bzip2 = CompressBzip2("one two");
  Add("/d/a", gzip);
  Add("/d/b.gz", gzip);  // the master sees that
  Add("/d/c", "one two three four");
  Add("/d/d", zstd);
  Add("/d/e", gzip, 1 << 20);  // it is not cut in any case
  Add("/d/f", "");
  Add("/d/_g", gzip);  // no input
  Add("/d/sub/h", bzip2);
  std::vector<std::string> read;
  tree_->on_read = [&](const std::string& path) {
    read.push_back(path);
    return Status::Ok();
  };
  const Result<std::vector<std::string>> found = Uncut({"/d"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(*found, ElementsAre("/d/a", "/d/d", "/d/sub/h"));
  EXPECT_THAT(read, ElementsAre("/d/a", "/d/c", "/d/d", "/d/sub/h")) << "no others are looked at";
  EXPECT_THAT(*Uncut({"/d/[abc]", "/d/d"}), ElementsAre("/d/a", "/d/d"));
}

TEST_F(FirstLookTest, AFileThatCannotBeReadIsLeftToItsMaps) {
  Add("/d/a", CompressGzip("one two"));
  Add("/d/b", CompressGzip("one two"));
  tree_->on_read = [](const std::string& path) { return path == "/d/a" ? Unavailable("no replica") : Status::Ok(); };
  EXPECT_THAT(*Uncut({"/d"}), ElementsAre("/d/b"));
}

TEST_F(FirstLookTest, MoreThanARequestHoldsAreRefused) {
  const std::string gzip = CompressGzip("one two");
  for (int i = 0; i < 2000; ++i) Add("/d/" + std::string(250, 'x') + std::to_string(i), gzip);
  EXPECT_TRUE(Uncut({"/d/*1"}).ok());
  const Status status = Uncut({"/d"}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("too many compressed files whose names do not say so"));
}

TEST_F(FirstLookTest, AFileThatIsNoTextIsRefusedWhereTextIsRead) {
  Add("/d/a", "some text\n");
  Add("/d/b", "PK\x03\x04 and more");
  const Status status = LookForText("/d");
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("\"/d/b\" is a zip archive"));
  EXPECT_TRUE(LookForText("/d/a").ok());
  EXPECT_TRUE(Uncut({"/d"}).ok());
  Add("/e/short", "PK\x03\x04", 1 << 20);
  EXPECT_THAT(LookForText("/e").message(), HasSubstr("/e/short"));
  Add("/p/parquet", "PAR1 columns and rows" + std::string("\x04\0\0\0PAR1", 8));
  EXPECT_THAT(LookForText("/p").message(), HasSubstr("a Parquet file"));
}

TEST_F(FirstLookTest, OfManyShortFilesSomeAreLookedAt) {
  constexpr int kFiles = 1000;
  for (int i = 0; i < kFiles; ++i) Add("/d/" + std::to_string(10'000 + i), "text\n", 1 << 20);
  Add("/d/long", "some more text\n");
  std::vector<std::string> read;
  tree_->on_read = [&](const std::string& path) {
    read.push_back(path);
    return Status::Ok();
  };
  EXPECT_TRUE(LookForText("/d").ok());
  ASSERT_EQ(read.size(), kMostTextLooks + 1);
  EXPECT_EQ(read.front(), "/d/10000");
  EXPECT_EQ(read.back(), "/d/long") << "a file of more than a block is looked at in any case";
  EXPECT_GE(read[kMostTextLooks - 1], "/d/10900") << "they are from all over";
  EXPECT_EQ(std::ranges::adjacent_find(read), read.end());
}

TEST_F(FirstLookTest, WhatCannotBeReadPassesForText) {
  Add("/d/b", "PK\x03\x04 and more");
  tree_->on_read = [](const std::string&) { return Unavailable("no replica"); };
  EXPECT_TRUE(LookForText("/d").ok());
}

TEST_F(FirstLookTest, AnInputThatIsNotThereFails) {
  EXPECT_EQ(Uncut({"/none"}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace millrace::job
