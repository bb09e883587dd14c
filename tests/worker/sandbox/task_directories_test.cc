// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox/task_directories.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>

namespace millrace::sandbox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TaskDirectoriesTest : public testing::TestWithParam<TaskDirectories::Lookup> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeDirectories(top_ + "/jobs/1").ok());
    ASSERT_TRUE(MakeDirectories(top_ + "/secret").ok());
    ASSERT_TRUE(WriteFileDurably(top_ + "/secret/key", "secret").ok());
    directories_.emplace(TaskDirectories::Open({top_ + "/jobs"}, GetParam()).value());
  }
  [[nodiscard]] std::string Job(const std::string& name) const { return top_ + "/jobs/1/" + name; }
  // Puts everything into the directory that is no plain file.
  void PlaceAll() {
    ASSERT_EQ(symlink((top_ + "/secret/key").c_str(), Job("link").c_str()), 0);
    ASSERT_EQ(symlink((top_ + "/new").c_str(), Job("hanging").c_str()), 0);
    ASSERT_EQ(symlink("loop", Job("loop").c_str()), 0);
    ASSERT_EQ(mkfifo(Job("pipe").c_str(), 0600), 0);
    ASSERT_EQ(mkdir(Job("directory").c_str(), 0700), 0);
    ASSERT_EQ(link((top_ + "/secret/key").c_str(), Job("second").c_str()), 0);
  }
  static constexpr const char* kForeign[] = {"link", "hanging", "loop", "pipe", "directory", "second"};

  TempDir directory_ = TempDir::Make("task-directories").value();
  std::string top_ = directory_.path();
  std::optional<TaskDirectories> directories_;
};

INSTANTIATE_TEST_SUITE_P(Lookups, TaskDirectoriesTest,
                         testing::Values(TaskDirectories::Lookup::kAtOnce, TaskDirectories::Lookup::kStepByStep));

TEST_P(TaskDirectoriesTest, PlainFilesAreMadeAppendedToAndRead) {
  ASSERT_TRUE(WriteAll(directories_->Create(Job("file"))->get(), "a", "file").ok());
  ASSERT_TRUE(WriteAll(directories_->Append(Job("file"))->get(), "b", "file").ok());
  ASSERT_TRUE(directories_->Append(Job("other")).ok());
  EXPECT_EQ(*ReadWholeFile(Job("file")), "ab");
  EXPECT_EQ(*FileSize(directories_->Read(Job("file"))->get(), "file"), 2U);
  EXPECT_EQ(directories_->Create(Job("file")).status().code(), StatusCode::kExists);
  EXPECT_EQ(directories_->Read(Job("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(directories_->Read(Job("none/below")).status().code(), StatusCode::kNotFound);
}

TEST_P(TaskDirectoriesTest, NothingElseIsOpenedAndNothingIsWaitedFor) {
  PlaceAll();
  for (const char* name : kForeign) {
    EXPECT_EQ(directories_->Read(Job(name)).status().code(), StatusCode::kInvalid) << name;
    EXPECT_EQ(directories_->Append(Job(name)).status().code(), StatusCode::kInvalid) << name;
    EXPECT_EQ(directories_->Create(Job(name)).status().code(), StatusCode::kExists) << name;
  }
  EXPECT_NE(access((top_ + "/new").c_str(), F_OK), 0) << "a link is not followed to make a file";
}

// The kernel has whoever opens such a file wait for 45 seconds, or, if he does not wait, says so.
TEST_P(TaskDirectoriesTest, AFileOfWhichSomebodyHasALeaseIsNotWaitedFor) {
  ASSERT_TRUE(directories_->Create(Job("leased")).ok());
  struct sigaction before = {}, ignore = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGIO, &ignore, &before), 0);
  const auto began = std::chrono::steady_clock::now();
  for (const int kind : {F_RDLCK, F_WRLCK}) {
    const Fd holder(open(Job("leased").c_str(), kind == F_RDLCK ? O_RDONLY : O_RDWR));
    ASSERT_EQ(fcntl(holder.get(), F_SETLEASE, kind), 0) << errno;
    EXPECT_EQ(directories_->Append(Job("leased")).status().code(), StatusCode::kInvalid);
    EXPECT_EQ(directories_->Read(Job("leased")).status().code(),
              kind == F_WRLCK ? StatusCode::kInvalid : StatusCode::kOk);
  }
  ASSERT_EQ(sigaction(SIGIO, &before, nullptr), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_TRUE(directories_->Append(Job("leased")).ok()) << "once nobody has one";
  ASSERT_TRUE(directories_->Replace(Job("leased")).ok());
}

TEST_P(TaskDirectoriesTest, WhateverIsInThePlaceOfAFileIsReplaced) {
  PlaceAll();
  ASSERT_TRUE(WriteFileDurably(Job("directory/file"), "x").ok());
  for (const char* name : kForeign) {
    const auto file = directories_->Replace(Job(name));
    ASSERT_TRUE(file.ok()) << name << file.status().message();
    ASSERT_TRUE(WriteAll(file->get(), name, name).ok());
    EXPECT_EQ(*ReadWholeFile(Job(name)), name);
  }
  EXPECT_EQ(*ReadWholeFile(top_ + "/secret/key"), "secret");
}

TEST_P(TaskDirectoriesTest, NoDirectoryOnTheWayIsALink) {
  ASSERT_EQ(symlink((top_ + "/secret").c_str(), Job("way").c_str()), 0);
  EXPECT_EQ(directories_->Read(Job("way/key")).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(directories_->Replace(Job("way/key")).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(directories_->MakeDirectory(Job("way/new"), {}).code(), StatusCode::kInvalid);
  EXPECT_EQ(directories_->RemoveFile(Job("way/key")).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(directories_->RemoveTree(Job("way/key")).code(), StatusCode::kInvalid);
  EXPECT_EQ(directories_->Rename(Job("way/key"), Job("mine")).code(), StatusCode::kInvalid);
  EXPECT_EQ(directories_->ForEach(Job("way"), [](const auto&, const auto&) { return true; }).code(),
            StatusCode::kInvalid);
  EXPECT_EQ(*ListDirectory(top_ + "/secret"), std::vector<std::string>{"key"});
  EXPECT_EQ(*ReadWholeFile(top_ + "/secret/key"), "secret");
}

TEST_P(TaskDirectoriesTest, OnlyPathsBelowItsDirectoriesAreItsOwn) {
  for (const std::string& path :
       {top_ + "/secret/key", top_ + "/jobs/../secret/key", top_ + "/jobs/1/../../secret/key", top_ + "/jobs2/key",
        top_ + "/jobs/1//x", top_ + "/jobs/1/./x", std::string("1/x"), std::string()}) {
    EXPECT_EQ(directories_->Read(path).status().code(), StatusCode::kInvalid) << path;
    EXPECT_EQ(directories_->RemoveTree(path).code(), StatusCode::kInvalid) << path;
  }
  EXPECT_EQ(directories_->RemoveTree(top_ + "/jobs").code(), StatusCode::kInvalid) << "it is itself such a directory";
}

TEST_P(TaskDirectoriesTest, LinksAboveItsDirectoriesAreTheOperatorsOwn) {
  ASSERT_EQ(symlink("jobs", (top_ + "/elsewhere").c_str()), 0);
  const auto other = TaskDirectories::Open({top_ + "/elsewhere"}, GetParam()).value();
  EXPECT_TRUE(other.Create(top_ + "/elsewhere/1/file").ok());
  EXPECT_TRUE(directories_->Read(Job("file")).ok());
}

TEST_P(TaskDirectoriesTest, DirectoriesAreMadeOverWhateverIsThere) {
  PlaceAll();
  for (const char* name : {"fresh", "link", "hanging", "loop", "pipe", "directory", "second"}) {
    ASSERT_TRUE(directories_->MakeDirectory(Job(name), {}).ok()) << name;
    struct stat info = {};
    ASSERT_EQ(lstat(Job(name).c_str(), &info), 0);
    EXPECT_TRUE(S_ISDIR(info.st_mode)) << name;
  }
  EXPECT_EQ(*ReadWholeFile(top_ + "/secret/key"), "secret");
}

TEST_P(TaskDirectoriesTest, ADirectoryIsHandedOver) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  ASSERT_TRUE(directories_->MakeDirectory(Job("own"), {.mode = 0700, .owner = 70001, .group = 70001}).ok());
  ASSERT_TRUE(directories_->MakeDirectory(Job("read"), {.mode = 02750, .group = 70001}).ok());
  struct stat own = {}, read = {};
  ASSERT_TRUE(stat(Job("own").c_str(), &own) == 0 && stat(Job("read").c_str(), &read) == 0);
  EXPECT_EQ(std::tuple(own.st_uid, own.st_gid, own.st_mode & 07777), std::tuple(70001U, 70001U, 0700U));
  EXPECT_EQ(std::tuple(read.st_uid, read.st_gid, read.st_mode & 07777), std::tuple(0U, 70001U, 02750U));
}

TEST_P(TaskDirectoriesTest, ThingsAreListedRenamedAndRemovedAsWhatTheyAre) {
  PlaceAll();
  std::vector<std::string> links;
  ASSERT_TRUE(directories_->ForEach(Job("directory"), [](const auto&, const auto&) { return false; }).ok());
  ASSERT_TRUE(directories_
                  ->ForEach(top_ + "/jobs/1",
                            [&](const std::string& name, const struct stat& info) {
                              if (S_ISLNK(info.st_mode)) links.push_back(name);
                              return true;
                            })
                  .ok());
  std::sort(links.begin(), links.end());
  EXPECT_THAT(links, ElementsAre("hanging", "link", "loop"));
  EXPECT_FALSE(*directories_->RemoveFile(Job("directory")));
  ASSERT_TRUE(directories_->Rename(Job("directory"), top_ + "/jobs/aside").ok());
  EXPECT_EQ(directories_->Rename(Job("link"), top_ + "/jobs/aside").code(), StatusCode::kExists);
  EXPECT_TRUE(directories_->RemoveTree(top_ + "/jobs/aside").ok());
  for (const char* name : {"link", "hanging", "loop", "pipe", "second", "none"})
    EXPECT_TRUE(*directories_->RemoveFile(Job(name))) << name;
  EXPECT_THAT(*ListDirectory(top_ + "/jobs/1"), IsEmpty());
  EXPECT_EQ(*ReadWholeFile(top_ + "/secret/key"), "secret");
}

TEST_P(TaskDirectoriesTest, WhatTakesTheDiskIsCountedAndNoLinkFollowed) {
  ASSERT_TRUE(MakeDirectories(Job("scratch/below")).ok());
  const std::uint64_t none = directories_->BytesOnDisk(Job("scratch"), 100);
  ASSERT_TRUE(WriteFileDurably(top_ + "/secret/large", std::string(1 << 20, 'x')).ok());
  ASSERT_EQ(symlink((top_ + "/secret").c_str(), Job("scratch/link").c_str()), 0);
  ASSERT_EQ(symlink(".", Job("scratch/loop").c_str()), 0);
  ASSERT_TRUE(WriteFileDurably(Job("scratch/sparse"), "").ok());
  ASSERT_EQ(truncate(Job("scratch/sparse").c_str(), off_t{1} << 40), 0);
  EXPECT_LT(directories_->BytesOnDisk(Job("scratch"), 100), none + (1 << 18));
  ASSERT_TRUE(WriteFileDurably(Job("scratch/below/file"), std::string(1 << 20, 'x')).ok());
  EXPECT_GE(directories_->BytesOnDisk(Job("scratch"), 100), std::uint64_t{1} << 20);
  EXPECT_GE(directories_->BytesOnDisk(Job("scratch/below/file"), 0), std::uint64_t{1} << 20);
  EXPECT_EQ(directories_->BytesOnDisk(Job("absent"), 100), 0U);
}

}  // namespace
}  // namespace millrace::sandbox
