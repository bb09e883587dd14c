// SPDX-License-Identifier: Apache-2.0
#include "base/remove_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include "base/file.h"

namespace millrace {
namespace {

constexpr uid_t kNobody = 65534;

// Makes a directory in a directory, and returns it.
Fd Below(int directory, const std::string& name) {
  EXPECT_EQ(mkdirat(directory, name.c_str(), 0700), 0) << name;
  return Fd(openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void MakeFile(int directory, const std::string& name) {
  EXPECT_TRUE(Fd(openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)).valid()) << name;
}

// A chain of directories, each with a file beside the next.
void MakeDeep(int directory, int depth, const std::string& name) {
  Fd at = Below(directory, name);
  for (int i = 1; i < depth; ++i) {
    MakeFile(at.get(), "file");
    at = Below(at.get(), name);
  }
}

class RemoveTreeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0); }

  // Runs the body as this user, and as nobody if this is root, in processes that may have 64 descriptors. It is given
  // the top of a tree, which is gone after RemoveTree.
  void InProcesses(const std::function<void(int top)>& make) {
    for (const bool as_root : {true, false}) {
      if (!as_root && geteuid() != 0) continue;
      SCOPED_TRACE(as_root ? "as it is" : "as nobody");
      const std::string path = directory_.path() + (as_root ? "/a" : "/b");
      const pid_t child = fork();
      if (child == 0) {
        const rlimit few = {64, 64};
        const bool ready =
            setrlimit(RLIMIT_NOFILE, &few) == 0 &&
            (as_root || (setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0));
        if (!ready) _exit(3);
        make(Below(AT_FDCWD, path).get());
        const Status removed = RemoveTree(path);
        if (!removed.ok()) fprintf(stderr, "%s\n", removed.message().c_str());
        _exit(testing::Test::HasFailure() || !removed.ok() ? 1 : 0);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
      EXPECT_NE(access(path.c_str(), F_OK), 0) << "it is still there";
    }
  }

  // A file system in memory, where there is one: the trees are large.
  static TempDir MakeDirectory() {
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
    return TempDir::Make("remove-tree").value();
  }

  TempDir directory_ = MakeDirectory();
};

TEST_F(RemoveTreeTest, ATreeOfAHundredThousandLevels) {
  InProcesses([](int top) { MakeDeep(top, 100'000, "d"); });
}

TEST_F(RemoveTreeTest, PathsLongerThanAPathMayBe) {
  const std::string longest(255, 'n');
  InProcesses([&](int top) {
    MakeDeep(top, 2'000, longest);
    MakeFile(top, std::string(255, '\n'));
  });
}

TEST_F(RemoveTreeTest, ManyDeepTreesBesideEachOther) {
  InProcesses([](int top) {
    for (int i = 0; i < 300; ++i) MakeDeep(top, 60, "d" + std::to_string(i));
  });
}

TEST_F(RemoveTreeTest, WhereFewDescriptorsAreLeft) {
  InProcesses([](int top) {
    MakeDeep(top, 100, "d");
    std::vector<int> taken;
    for (int fd; (fd = dup(top)) >= 0;) taken.push_back(fd);
    for (int left = 0; left < 6; ++left, taken.pop_back()) close(taken.back());
  });
}

TEST_F(RemoveTreeTest, DirectoriesThatTheirOwnerMayNotEnterReadOrWrite) {
  InProcesses([](int top) {
    for (const int mode : {0, 0100, 0200, 0400, 0500, 0555}) {
      const std::string name = "m" + std::to_string(mode);
      {
        const Fd full = Below(top, name);
        MakeFile(full.get(), "file");
        const Fd empty = Below(full.get(), "empty");
        EXPECT_EQ(fchmod(empty.get(), static_cast<mode_t>(mode)), 0);
        const Fd inner = Below(full.get(), "inner");
        MakeDeep(inner.get(), 40, "d");
        EXPECT_EQ(fchmod(inner.get(), static_cast<mode_t>(mode)), 0);
        EXPECT_EQ(fchmod(full.get(), static_cast<mode_t>(mode)), 0);
      }
    }
    EXPECT_EQ(fchmod(top, 0), 0);
  });
}

// Each level may neither be entered nor be moved before it has permissions.
TEST_F(RemoveTreeTest, ADeepTreeWithoutAnyPermission) {
  InProcesses([](int top) {
    std::vector<Fd> levels;
    levels.push_back(Below(top, "d"));
    for (int i = 0; i < 40; ++i) levels.push_back(Below(levels.back().get(), "d"));
    for (const Fd& level : levels) EXPECT_EQ(fchmod(level.get(), 0), 0);
  });
}

TEST_F(RemoveTreeTest, NamesThatItWouldGiveItselfAreInTheWay) {
  InProcesses([](int top) {
    for (int i = 0; i < 50; i += 2) MakeFile(top, ".moved-" + std::to_string(i));
    for (int i = 1; i < 50; i += 2) MakeFile(Below(top, ".moved-" + std::to_string(i)).get(), "file");
    MakeDeep(top, 500, "d");
  });
}

TEST_F(RemoveTreeTest, LinksAndPipesGoAndWhatLinksNameStays) {
  const std::string kept = directory_.path() + "/kept";
  ASSERT_TRUE(MakeDirectories(kept + "/below").ok());
  ASSERT_TRUE(WriteFileDurably(kept + "/file", "x").ok());
  InProcesses([&](int top) {
    EXPECT_EQ(symlinkat(kept.c_str(), top, "directory"), 0);
    EXPECT_EQ(symlinkat((kept + "/file").c_str(), top, "file"), 0);
    EXPECT_EQ(symlinkat("loop", top, "loop"), 0);
    EXPECT_EQ(mkfifoat(top, "pipe", 0), 0);
    (void)linkat(AT_FDCWD, (kept + "/file").c_str(), top, "another name", 0);  // the kernel may refuse it
  });
  EXPECT_EQ(*ReadWholeFile(kept + "/file"), "x");
  EXPECT_EQ(ListDirectory(kept)->size(), 2U);
  const std::string link = directory_.path() + "/link";
  ASSERT_EQ(symlink(kept.c_str(), link.c_str()), 0);
  EXPECT_TRUE(RemoveTree(link).ok());
  EXPECT_EQ(ListDirectory(kept)->size(), 2U) << "a link that is the whole tree is a link, too";
}

TEST_F(RemoveTreeTest, WhatIsNotThereIsNoFailure) {
  EXPECT_TRUE(RemoveTree(directory_.path() + "/absent").ok());
  EXPECT_TRUE(RemoveTree(directory_.path() + "/absent/below").ok());
}

TEST_F(RemoveTreeTest, ItGoesOnAfterAFailureAndSaysWhatStays) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root, to make what nobody may remove";
  const std::string tree = directory_.path() + "/tree";
  ASSERT_TRUE(MakeDirectories(tree + "/locked").ok());
  for (const char* name : {"/a", "/locked/b", "/c"}) ASSERT_TRUE(WriteFileDurably(tree + name, "x").ok());
  ASSERT_EQ(chmod(tree.c_str(), 0777), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(3);
    const Status removed = RemoveTree(tree);
    fprintf(stderr, "%s\n", removed.message().c_str());
    _exit(removed.message().find("1 of what it holds stay, the first is \"b\"") == std::string::npos ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(*ListDirectory(tree), testing::ElementsAre("locked"));
}

TEST_F(RemoveTreeTest, ItCanBeInterrupted) {
  const std::string tree = directory_.path() + "/tree";
  ASSERT_TRUE(MakeDirectories(tree + "/a/b").ok());
  EXPECT_EQ(RemoveTreeAt(AT_FDCWD, tree, tree, [] { return true; }).code(), StatusCode::kCancelled);
  EXPECT_EQ(access(tree.c_str(), F_OK), 0);
}

TEST_F(RemoveTreeTest, ItHoldsFewDescriptorsHoweverManyThereAre) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const std::string tree = directory_.path() + "/tree";
  ASSERT_TRUE(MakeDirectories(tree).ok());
  const auto before = open_descriptors();
  {
    const Fd top(open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    MakeDeep(top.get(), 100, "d");
  }
  auto most = before;
  const auto look = [&] {
    most = std::max(most, open_descriptors());
    return false;
  };
  EXPECT_TRUE(RemoveTreeAt(AT_FDCWD, tree, tree, look).ok());
  EXPECT_GT(most, before);
  EXPECT_LE(most, before + 16);
}

}  // namespace
}  // namespace millrace
