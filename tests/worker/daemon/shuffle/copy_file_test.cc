// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/copy_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::shuffle {
namespace {

class CopyFileTest : public testing::Test {
 protected:
  TempDir dir_ = std::move(*TempDir::Make("copy-file"));
  sandbox::TaskDirectories directories_ = sandbox::TaskDirectories::Open({dir_.path()}).value();
  std::string path_ = dir_.path() + "/copy";
  CopyFile file_{directories_, path_};
};

TEST_F(CopyFileTest, GivesRoomOnceAndAgainWhenItIsReleased) {
  EXPECT_EQ(file_.Reserve(10).offset, 0u);
  const auto second = file_.Reserve(20);
  EXPECT_EQ(second.offset, 10u);
  EXPECT_EQ(file_.Reserve(5).offset, 30u);
  file_.Release(second);
  EXPECT_EQ(file_.Reserve(21).offset, 35u);  // does not fit
  EXPECT_EQ(file_.Reserve(15).offset, 10u);
  EXPECT_EQ(file_.Reserve(5).offset, 25u);
  EXPECT_EQ(file_.Reserve(1).offset, 56u);
}

TEST_F(CopyFileTest, TakesBackRoomAtTheEnd) {
  const auto first = file_.Reserve(std::uint64_t{1} << 40);
  file_.Release(first);
  EXPECT_EQ(file_.Reserve(1).offset, 0u);
}

TEST_F(CopyFileTest, IsCreatedByTheFirstWriteAndReplacesWhatWasThere) {
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
  ASSERT_TRUE(WriteFileDurably(path_, "something older and longer").ok());
  ASSERT_TRUE(file_.Write("", 0).ok());
  EXPECT_EQ(*ReadWholeFile(path_), "");
  ASSERT_TRUE(file_.Write("def", 3).ok());
  ASSERT_TRUE(file_.Write("abc", 0).ok());
  EXPECT_EQ(*ReadWholeFile(path_), "abcdef");
}

TEST_F(CopyFileTest, WhatATaskPutInItsPlaceGoesAndIsNotWrittenTo) {
  const std::string block = dir_.path() + "/block";
  ASSERT_TRUE(WriteFileDurably(block, "a block of somebody else").ok());
  const auto place = [&](const std::string& what) {
    if (what == "link") return ::symlink(block.c_str(), path_.c_str());
    if (what == "hanging link") return ::symlink((dir_.path() + "/new").c_str(), path_.c_str());
    if (what == "second name") return ::link(block.c_str(), path_.c_str());
    if (what == "pipe") return ::mkfifo(path_.c_str(), 0600);
    return ::mkdir(path_.c_str(), 0) == 0 ? 0 : -1;
  };
  for (const std::string what : {"link", "hanging link", "second name", "pipe", "directory"}) {
    ASSERT_EQ(place(what), 0) << what;
    CopyFile file(directories_, path_);
    ASSERT_TRUE(file.Write("copied", 0).ok()) << what;
    EXPECT_EQ(*ReadWholeFile(path_), "copied") << what;
    EXPECT_EQ(*ReadWholeFile(block), "a block of somebody else") << what;
    EXPECT_NE(::access((dir_.path() + "/new").c_str(), F_OK), 0) << what;
    ASSERT_EQ(::unlink(path_.c_str()), 0);
  }
}

TEST_F(CopyFileTest, ALinkOnTheWayIsNotFollowed) {
  ASSERT_TRUE(MakeDirectories(dir_.path() + "/elsewhere").ok());
  ASSERT_EQ(::symlink("elsewhere", (dir_.path() + "/reduce").c_str()), 0);
  CopyFile file(directories_, dir_.path() + "/reduce/copy");
  EXPECT_EQ(file.Write("copied", 0).code(), StatusCode::kInvalid);
  EXPECT_TRUE(ListDirectory(dir_.path() + "/elsewhere")->empty());
}

TEST_F(CopyFileTest, SaysWhichFileFailed) {
  CopyFile nowhere(directories_, dir_.path() + "/missing/copy");
  const Status status = nowhere.Write("x", 0);
  EXPECT_NE(status.message().find("missing/copy"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millrace::shuffle
