// SPDX-License-Identifier: Apache-2.0
#include "base/rotated_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace millrace {
namespace {

class RotatedFileTest : public testing::Test {
 protected:
  [[nodiscard]] static std::string Text(const std::string& path) {
    const Result<std::string> text = ReadWholeFile(path);
    return text.ok() ? *text : "none";
  }
  const TempDir directory_ = std::move(*TempDir::Make("rotated"));
  const std::string path_ = directory_.path() + "/x.log";
};

TEST_F(RotatedFileTest, AFullFileIsPutAsideAndTheOldestGoes) {
  RotatedFile file(path_, 8, 2);
  for (const char* line : {"one\n", "two\n", "three\n", "four\n", "five\n"}) ASSERT_TRUE(file.Append(line).ok());
  EXPECT_EQ(Text(path_), "five\n");
  EXPECT_EQ(Text(directory_.path() + "/x.1.log"), "four\n");
  EXPECT_EQ(Text(directory_.path() + "/x.2.log"), "three\n");
  EXPECT_EQ(ListDirectory(directory_.path())->size(), 3u);
}

TEST_F(RotatedFileTest, WithoutOldFilesItBeginsAgain) {
  RotatedFile file(path_, 8, 0);
  for (const char* line : {"one\n", "two\n", "three\n"}) ASSERT_TRUE(file.Append(line).ok());
  EXPECT_EQ(Text(path_), "three\n");
  EXPECT_EQ(ListDirectory(directory_.path())->size(), 1u);
}

TEST_F(RotatedFileTest, ALineLongerThanTheFileIsWrittenWhole) {
  RotatedFile file(path_, 4, 1);
  ASSERT_TRUE(file.Append("a longer line\n").ok());
  ASSERT_TRUE(file.Append("next\n").ok());
  EXPECT_EQ(Text(file.OldPath(1)), "a longer line\n");
}

TEST_F(RotatedFileTest, WhatIsThereIsAppendedTo) {
  ASSERT_TRUE(RotatedFile(path_, 100, 1).Append("one\n").ok());
  RotatedFile again(path_, 100, 1);
  ASSERT_TRUE(again.Open().ok());
  ASSERT_TRUE(again.Append("two\n").ok());
  EXPECT_EQ(Text(path_), "one\ntwo\n");
}

TEST_F(RotatedFileTest, OldFilesHaveTheNumberBeforeTheExtension) {
  EXPECT_EQ(RotatedFile("/a/x.log", 1, 1).OldPath(1), "/a/x.1.log");
  EXPECT_EQ(RotatedFile("/a.b/x", 1, 1).OldPath(2), "/a.b/x.2");
  EXPECT_EQ(RotatedFile("/a/.x", 1, 1).OldPath(1), "/a/.x.1");
}

// The limit on the size of files stands for a disk that fills up in the middle of a line.
TEST_F(RotatedFileTest, NothingOfALineIsThereThatDidNotFit) {
  RotatedFile file(path_, 1000, 1);
  ASSERT_TRUE(file.Append("one\n").ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{6, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status failed = file.Append("three\n");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(Text(path_), "one\n");
  ASSERT_TRUE(file.Append("four\n").ok()) << "there is room again";
  EXPECT_EQ(Text(path_), "one\nfour\n");
}

TEST_F(RotatedFileTest, AFileThatCannotBePutAsideGrows) {
  ASSERT_EQ(::mkdir((directory_.path() + "/x.1.log").c_str(), 0700), 0);  // nothing is renamed over a directory
  RotatedFile file(path_, 4, 1);
  ASSERT_TRUE(file.Append("one\n").ok());
  ASSERT_TRUE(file.Append("two\n").ok());
  EXPECT_EQ(Text(path_), "one\ntwo\n");
  EXPECT_THAT(file.rotation().message(), testing::HasSubstr("put " + path_ + " aside"));
}

}  // namespace
}  // namespace millrace
