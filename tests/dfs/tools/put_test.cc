// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

using PutTest = FsTest;
using Files = std::map<std::string, std::string>;

TEST_F(PutTest, OneFileUnderANewName) {
  EXPECT_EQ(Run({"put", MakeLocal("a", "alpha"), "/new/b"}).status, 0);
  EXPECT_EQ(tree_->Files(), (Files{{"/new/b", "alpha"}}));
}

TEST_F(PutTest, FilesIntoADirectoryAreNamedAsTheyWere) {
  tree_->entries["/d"] = {.directory = true};
  EXPECT_EQ(Run({"put", MakeLocal("a", "1"), MakeLocal("x/b", "2"), "/d/"}).status, 0);
  EXPECT_EQ(tree_->Files(), (Files{{"/d/a", "1"}, {"/d/b", "2"}}));
}

TEST_F(PutTest, ATreeKeepsItsShapeAndEmptyDirectories) {
  MakeLocal("t/a b", "1");
  MakeLocal("t/sub/d\ne", "2");
  MakeLocal(std::string("t/sub/\xff"), "3");
  ASSERT_TRUE(MakeDirectories(Local("t/empty")).ok());
  EXPECT_EQ(Run({"put", Local("t"), "/t"}).status, 0);
  EXPECT_EQ(tree_->Files(), (Files{{"/t/a b", "1"}, {"/t/sub/d\ne", "2"}, {"/t/sub/\xff", "3"}}));
  EXPECT_TRUE(tree_->Has("/t/empty"));
  EXPECT_EQ(Run({"put", Local("t") + "/", "/t"}).status, 0);  // the directory exists now, so it goes into it
  EXPECT_EQ(tree_->Files().count("/t/t/a b"), 1u);
}

TEST_F(PutTest, ManyFilesInFlight) {
  Files expected;
  for (int i = 0; i < 200; ++i) {
    MakeLocal("many/" + std::to_string(i), std::string(static_cast<std::size_t>(i), 'x'));
    expected["/many/" + std::to_string(i)] = std::string(static_cast<std::size_t>(i), 'x');
  }
  EXPECT_EQ(Run({"put", "--jobs", "16", Local("many"), "/many"}).status, 0);
  EXPECT_EQ(tree_->Files(), expected);
}

TEST_F(PutTest, ANameWithBracketsIsOneName) {
  EXPECT_EQ(Run({"put", MakeLocal("[a,b]", "1"), "/[c,d]"}).status, 0);
  EXPECT_EQ(tree_->Files(), (Files{{"/[c,d]", "1"}}));
}

TEST_F(PutTest, OptionsReachTheWriter) {
  EXPECT_EQ(Run({"put", "--block-size", "2M", "--replication", "2", MakeLocal("a", "1"), "/a"}).status, 0);
  EXPECT_EQ(tree_->entries.at("/a").options.block_size, 2u << 20);
  EXPECT_EQ(tree_->entries.at("/a").options.replication, 2u);
}

TEST_F(PutTest, StandardInput) {
  EXPECT_EQ(Run({"put", "-", "/in"}, "from a pipe").status, 0);
  EXPECT_EQ(tree_->Files(), (Files{{"/in", "from a pipe"}}));
}

TEST_F(PutTest, PlainProgressTellsOfEachFile) {
  const Ran ran = Run({"put", "--progress", "plain", MakeLocal("a", "1"), "/a"});
  EXPECT_EQ(ran.err.find("writing \"/a\"\n"), 0u) << ran.err;
  EXPECT_NE(ran.err.find("wrote \"/a\""), std::string::npos) << ran.err;
}

TEST_F(PutTest, AnExistingFileIsKeptUnlessForced) {
  tree_->MakeFile("/a", "old");
  Refuses(1, {"put", MakeLocal("a", "new"), "/a"}, {"/a", "exists"});
  EXPECT_EQ(tree_->Files(), (Files{{"/a", "old"}}));
  EXPECT_EQ(Run({"put", "-f", Local("a"), "/a"}).status, 0);
  EXPECT_EQ(tree_->Files(), (Files{{"/a", "new"}}));
}

TEST_F(PutTest, ABlockSizeIsLookedAtBeforeAnythingIsMade) {
  MakeLocal("whole/file", "x");
  for (const char* size : {"1000", "1048575", "2G"})
    Refuses(2, {"put", "--block-size", size, Local("whole"), "/made"}, {"--block-size", "is not between"});
  EXPECT_EQ(tree_->entries.size(), 1u);
}

TEST_F(PutTest, ADirectoryMayBeNamedWithASlashAtItsEnd) {
  MakeLocal("whole/file", "x");
  EXPECT_EQ(Run({"put", Local("whole"), "/new/"}).status, 0) << "as cp -r takes it";
  EXPECT_TRUE(tree_->entries.contains("/new/file"));
  EXPECT_EQ(Run({"mv", "/new", "/newer/"}).status, 0) << "as mv takes it";
  EXPECT_TRUE(tree_->entries.contains("/newer/file"));
}

TEST_F(PutTest, WhatCannotBePut) {
  const std::string a = MakeLocal("a", "1"), b = MakeLocal("b", "2");
  Refuses(1, {"put", a, b, "/nowhere"}, {"/nowhere", "not a directory"});
  Refuses(1, {"put", a, "/nowhere/"}, {"/nowhere", "not a directory"});
  Refuses(1, {"put", Local("missing"), "/x"}, {"missing"});
  Refuses(2, {"put", a, "relative"}, {"relative", "begins with /"});
  ASSERT_EQ(::symlink("nowhere", Local("dangling").c_str()), 0);
  Refuses(1, {"put", Local("dangling"), "/d"}, {"dangling", "a link to a file that does not exist"});
  Refuses(2, {"put", a, "/" + std::string(4000, 'n')}, {"4000", "255"});
  ASSERT_TRUE(MakeDirectories(Local("odd")).ok());
  ASSERT_EQ(::mkfifo(Local("odd/fifo").c_str(), 0600), 0);
  Refuses(1, {"put", Local("odd"), "/odd"}, {"fifo", "neither a file nor a directory"});
  EXPECT_EQ(tree_->entries.size(), 1u);
}

TEST_F(PutTest, AWriteThatFailsLeavesNothing) {
  tree_->on_write = [](const std::string&) { return NoSpace("no worker has room for a block"); };
  Refuses(1, {"put", MakeLocal("a", "1"), "/a"}, {"no worker has room"});
  EXPECT_EQ(tree_->Files(), Files{});
  EXPECT_TRUE(tree_->writing.empty());
}

TEST_F(PutTest, WhatASilentPipeHasBroughtIsSynced) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const Fd in(pipe[0]);
  Fd silent(pipe[1]);
  ASSERT_EQ(::write(silent.get(), "first", 5), 5);
  tree_->on_sync = [&silent, this](const std::string& path) {
    if (tree_->synced[path].size() == 1) {
      EXPECT_EQ(::write(silent.get(), " second", 7), 7);
    } else {
      silent.Close();
    }
  };
  EXPECT_EQ(RunFrom({"put", "--sync", "1ms", "-", "/f"}, in.get()).status, 0);
  EXPECT_EQ(tree_->synced["/f"], (std::vector<std::string>{"first", "first second"}));
  EXPECT_EQ(tree_->Files(), (Files{{"/f", "first second"}}));
}

TEST_F(PutTest, ATimeToSyncIsATime) {
  EXPECT_EQ(Run({"put", "--sync", "0s", "-", "/f"}).status, 2);
  EXPECT_EQ(Run({"put", "--sync", "soon", "-", "/f"}).status, 2);
}

TEST_F(PutTest, CtrlCEndsASilentPipeAndLeavesNothing) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const Fd in(pipe[0]), silent(pipe[1]);
  ASSERT_EQ(::write(silent.get(), "half", 4), 4);
  tree_->on_write = [](const std::string&) {
    EXPECT_EQ(::kill(::getpid(), SIGINT), 0);
    return Status::Ok();
  };
  const Ran ran = RunFrom({"put", "-", "/half"}, in.get());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("interrupted"), std::string::npos) << ran.err;
  EXPECT_EQ(tree_->Files(), Files{});
  EXPECT_TRUE(tree_->writing.empty());
}

TEST_F(PutTest, CtrlCLeavesWhatWasSynced) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const Fd in(pipe[0]), silent(pipe[1]);
  ASSERT_EQ(::write(silent.get(), "kept", 4), 4);
  tree_->on_sync = [](const std::string&) { EXPECT_EQ(::kill(::getpid(), SIGINT), 0); };
  const Ran ran = RunFrom({"put", "--sync", "1ms", "-", "/f"}, in.get());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("what was synced"), std::string::npos) << ran.err;
  EXPECT_EQ(tree_->Files(), (Files{{"/f", "kept"}}));
}

}  // namespace
}  // namespace millrace::dfs::testing
