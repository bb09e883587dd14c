// SPDX-License-Identifier: Apache-2.0
// Tests what a task can do with a descriptor of a file of the worker, as the same unix user.
#include "worker/sandbox/read_only_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>

#include "base/file.h"

namespace millrace::sandbox {
namespace {

constexpr int kCannotMount = 99;

class ReadOnlyMountsTest : public testing::TestWithParam<uid_t> {
 protected:
  void SetUp() override {
    if (geteuid() != 0 && GetParam() != geteuid()) GTEST_SKIP() << "takes root";
    ASSERT_TRUE(MakeDirectories(file_.substr(0, file_.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileDurably(file_, "a block").ok());
    ASSERT_TRUE(WriteFileDurably(other_, "another").ok());
    for (const std::string& path : {top_, top_ + "/blocks", top_ + "/blocks/00", file_, other_})
      ASSERT_EQ(chown(path.c_str(), GetParam(), GetParam()), 0);
    ASSERT_EQ(symlink((top_ + "/blocks").c_str(), (top_ + "/link").c_str()), 0);
  }
  // Runs it as the user, in a process of its own. It returns 0 if it found what it should, or else where it did not.
  void RunAsUser(const std::function<int(const ReadOnlyMounts&)>& body) {
    const pid_t child = fork();
    if (child == 0) {
      if (GetParam() != geteuid() &&
          (setresgid(GetParam(), GetParam(), GetParam()) != 0 || setresuid(GetParam(), GetParam(), GetParam()) != 0))
        _exit(98);
      const auto mounts = ReadOnlyMounts::Open(MILLRACE_LAUNCHER, {top_ + "/link"});
      if (!mounts.ok()) fprintf(stderr, "%s\n", mounts.status().message().c_str());
      _exit(mounts.ok() ? body(*mounts) : kCannotMount);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "this machine does not allow it";
    EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
  }

  TempDir directory_ = TempDir::Make("read-only").value();
  std::string top_ = directory_.path();
  std::string file_ = top_ + "/blocks/00/block", other_ = top_ + "/other";
};

TEST_P(ReadOnlyMountsTest, WhatIsOpenedByThemIsReadAndNothingElse) {
  RunAsUser([this](const ReadOnlyMounts& mounts) {
    const auto own = OpenFile(file_, O_RDONLY);
    const auto passed = mounts.Reopen(*own);
    if (!passed.ok()) return 1;
    const int fd = passed->get();
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    char bytes[7];
    if (pread(fd, bytes, sizeof bytes, 0) != 7 || std::string(bytes, 7) != "a block") return 2;
    if (fchmod(fd, 0) == 0 || errno != EROFS) return 3;
    if (chmod(path.c_str(), 0) == 0 || errno != EROFS) return 4;
    if (truncate(path.c_str(), 0) == 0 || errno != EROFS) return 5;
    if (open(path.c_str(), O_WRONLY) >= 0 || errno != EROFS) return 6;
    if (fsetxattr(fd, "user.x", "x", 1, 0) == 0 || errno != EROFS) return 7;
    if (futimens(fd, nullptr) == 0 || errno != EROFS) return 8;
    if (fchown(fd, GetParam(), GetParam()) == 0 || errno != EROFS) return 9;
    if (linkat(AT_FDCWD, path.c_str(), AT_FDCWD, (top_ + "/mine").c_str(), AT_SYMLINK_FOLLOW) == 0) return 10;
    // The worker itself goes on as ever.
    if (chmod(file_.c_str(), 0600) != 0 || !OpenFile(file_, O_RDWR).ok()) return 11;
    return 0;
  });
}

TEST_P(ReadOnlyMountsTest, OnlyWhatStillLiesThereIsOpened) {
  RunAsUser([this](const ReadOnlyMounts& mounts) {
    const auto refused = [&](const Fd& file) {
      return mounts.Reopen(file).status().code() == StatusCode::kUnavailable;
    };
    const auto other = OpenFile(other_, O_RDONLY), block = OpenFile(file_, O_RDONLY);
    if (!refused(*other)) return 1;
    if (!RenameFile(other_, file_).ok()) return 2;
    if (!refused(*block)) return 3;  // its name means another file now
    return mounts.Reopen(*other).ok() ? 0 : 4;
  });
}

TEST(ReadOnlyMounts, WhatIsNotThereIsSaid) {
  EXPECT_FALSE(ReadOnlyMounts::Open(MILLRACE_LAUNCHER, {"/nowhere"}).ok());
  EXPECT_FALSE(ReadOnlyMounts::Open("/nowhere", {"/tmp"}).ok());
}

INSTANTIATE_TEST_SUITE_P(Users, ReadOnlyMountsTest, testing::Values(0, 65534));

}  // namespace
}  // namespace millrace::sandbox
