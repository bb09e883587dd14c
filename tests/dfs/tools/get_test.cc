// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <latch>

#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

class GetTest : public FsTest {
 protected:
  [[nodiscard]] std::string Read(const std::string& name) const { return ReadWholeFile(Local(name)).value(); }
};

TEST_F(GetTest, AFileUnderANameAndIntoADirectory) {
  tree_->MakeFile("/a", std::string(3500, 'a'));
  EXPECT_EQ(Run({"get", "/a", Local("b")}).status, 0);
  EXPECT_EQ(Read("b"), std::string(3500, 'a'));
  EXPECT_EQ(Run({"get", "/a", dir_.path()}).status, 0);
  EXPECT_EQ(Read("a"), std::string(3500, 'a'));
  EXPECT_EQ(LocalNames(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(GetTest, ItHasTheModeOfANewFile) {
  tree_->MakeFile("/a", "x");
  const mode_t before = ::umask(027);
  EXPECT_EQ(Run({"get", "/a", Local("a")}).status, 0);
  ::umask(before);
  struct stat found {};
  ASSERT_EQ(::stat(Local("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640u);
}

TEST_F(GetTest, ATreeWithEmptyDirectoriesAndNastyNames) {
  tree_->MakeFile("/t/a b", "1");
  tree_->MakeFile("/t/s/d\ne", "2");
  tree_->entries["/t/empty"] = {.directory = true};
  EXPECT_EQ(Run({"get", "/t", Local("back")}).status, 0);
  EXPECT_EQ(LocalNames("back"), (std::vector<std::string>{"a b", "empty", "s"}));
  EXPECT_EQ(Read("back/a b"), "1");
  EXPECT_EQ(Read("back/s/d\ne"), "2");
  EXPECT_EQ(LocalNames(), std::vector<std::string>{"back"});
}

TEST_F(GetTest, TheRootUnderAName) {
  tree_->MakeFile("/x/y", "z");
  EXPECT_EQ(Run({"get", "/", Local("all")}).status, 0);
  EXPECT_EQ(Read("all/x/y"), "z");
}

TEST_F(GetTest, SeveralNeedADirectory) {
  tree_->MakeFile("/a", "1");
  tree_->MakeFile("/b", "2");
  Refuses(1, {"get", "/a", "/b", Local("nowhere")}, {"not a local directory"});
  EXPECT_EQ(Run({"get", "/a", "/b", dir_.path()}).status, 0);
  EXPECT_EQ(LocalNames(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(GetTest, ATargetThatIsANameIsNoDirectoryToGoInto) {
  tree_->MakeFile("/a", "1");
  tree_->MakeFile("/t/b", "2");
  ASSERT_EQ(::mkdir(Local("there").c_str(), 0777), 0);
  for (const char* source : {"/a", "/t"}) {
    Refuses(1, {"get", "-T", source, Local("there")}, {"there", "exists already"});
    Refuses(1, {"get", "-T", "-f", source, Local("there")}, {"there", "exists already"});
  }
  Refuses(1, {"get", "-T", "/a", "/t", Local("there")}, {"names one thing", "2 to get"});
  EXPECT_EQ(LocalNames("there"), std::vector<std::string>{});
  EXPECT_EQ(Run({"get", "-T", "/t", Local("new/")}).status, 0);
  EXPECT_EQ(Read("new/b"), "2");
}

TEST_F(GetTest, StandardOutput) {
  tree_->MakeFile("/a", "one");
  tree_->MakeFile("/b", "two");
  const Ran ran = Run({"get", "/a", "/b", "-"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "onetwo");
  EXPECT_EQ(ran.err, "");
}

TEST_F(GetTest, WhatExistsIsKeptUnlessForced) {
  tree_->MakeFile("/a", "new");
  tree_->MakeFile("/t/f", "1");
  MakeLocal("a", "old");
  MakeLocal("d/t/other", "mine");
  Refuses(1, {"get", "/a", Local("a")}, {"exists", "-f"});
  EXPECT_EQ(Read("a"), "old");
  Refuses(1, {"get", "-f", "/t", Local("d")}, {"d/t", "exists"});  // a directory is never replaced
  EXPECT_EQ(LocalNames("d/t"), std::vector<std::string>{"other"});
  EXPECT_EQ(Run({"get", "-f", "/a", Local("a")}).status, 0);
  EXPECT_EQ(Read("a"), "new");
}

TEST_F(GetTest, ADeviceOrAPipeIsWrittenIntoAndStays) {
  tree_->MakeFile("/a", "some bytes");
  const std::string null = Local("null"), fifo = Local("fifo");
  ASSERT_EQ(::symlink("/dev/null", null.c_str()), 0);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::vector<std::string>& get : {std::vector<std::string>{"get"}, {"get", "-f"}}) {
    const auto run = [&](const std::string& to) {
      std::vector<std::string> words = get;
      words.insert(words.end(), {"/a", to});
      EXPECT_EQ(Run(words).status, 0) << to;
    };
    run("/dev/null");
    run(null);
    const Fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    run(fifo);
    char bytes[32];
    EXPECT_EQ(std::string(bytes, static_cast<std::size_t>(::read(reader.get(), bytes, sizeof bytes))), "some bytes");
  }
  struct stat found {};
  ASSERT_EQ(::stat("/dev/null", &found), 0);
  EXPECT_TRUE(S_ISCHR(found.st_mode));
  ASSERT_EQ(::lstat(null.c_str(), &found), 0);
  EXPECT_TRUE(S_ISLNK(found.st_mode));
  ASSERT_EQ(::lstat(fifo.c_str(), &found), 0);
  EXPECT_TRUE(S_ISFIFO(found.st_mode));
  Refuses(1, {"get", "/a", "/dev/full"}, {"/dev/full", "No space left"});
}

TEST_F(GetTest, ALinkStaysAndTheFileBehindItIsReplaced) {
  tree_->MakeFile("/a", "new");
  MakeLocal("d/file", "old");
  ASSERT_EQ(::symlink("d/file", Local("link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", Local("dead").c_str()), 0);
  Refuses(1, {"get", "/a", Local("link")}, {"exists", "-f"});
  EXPECT_EQ(Run({"get", "-f", "/a", Local("link")}).status, 0);
  EXPECT_EQ(Read("d/file"), "new");
  Refuses(1, {"get", "-f", "/a", Local("dead")}, {"a link to", "nowhere"});
  EXPECT_EQ(LocalNames(), (std::vector<std::string>{"d", "dead", "link"}));
  EXPECT_EQ(LocalNames("d"), std::vector<std::string>{"file"});
  struct stat found {};
  ASSERT_EQ(::lstat(Local("link").c_str(), &found), 0);
  EXPECT_TRUE(S_ISLNK(found.st_mode));
}

// As cp -r and cp take it.
TEST_F(GetTest, ASlashAtTheEndIsForDirectories) {
  tree_->MakeFile("/t/f", "1");
  EXPECT_EQ(Run({"get", "/t", Local("back/")}).status, 0);
  EXPECT_EQ(Read("back/f"), "1");
  Refuses(1, {"get", "/t/f", Local("file/")}, {"file/", "not a local directory"});
  Refuses(1, {"get", "/t", Local("no/such")}, {"no/such", "does not exist"});
  Refuses(1, {"get", "/t/f", Local("no/such")}, {"no/such", "does not exist"});
  Refuses(1, {"get", "/t", "s3://bucket/x"}, {"s3://bucket/x", "URL"});
}

TEST_F(GetTest, AFailureLeavesNothingOfAFile) {
  tree_->MakeFile("/a", std::string(3500, 'a'));
  int pieces = 0;
  tree_->on_read = [&](const std::string&) { return ++pieces == 3 ? Corrupt("block 7: all replicas") : Status::Ok(); };
  Refuses(1, {"get", "/a", Local("a")}, {"block 7"});
  EXPECT_EQ(LocalNames(), std::vector<std::string>{});
}

TEST_F(GetTest, AFailureLeavesNothingOfATree) {
  for (int i = 0; i < 20; ++i) tree_->MakeFile("/t/" + std::to_string(i), "data");
  tree_->on_read = [](const std::string& path) { return path == "/t/7" ? Corrupt("block 7") : Status::Ok(); };
  Refuses(1, {"get", "/t", Local("t")}, {"block 7"});
  EXPECT_EQ(LocalNames(), std::vector<std::string>{});
}

TEST_F(GetTest, CatGoesOnBehindAMissingFile) {
  tree_->MakeFile("/a", "one");
  tree_->MakeFile("/b", "two");
  const Ran ran = Run({"cat", "/a", "/missing", "/b"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "onetwo");
  EXPECT_NE(ran.err.find("/missing"), std::string::npos);
}

TEST_F(GetTest, BlocksAreReadSideBySideAndWrittenInOrder) {
  std::string data;
  for (int i = 0; i < 3000; ++i) data += std::to_string(i) + "\n";
  tree_->MakeFile("/a", data);
  tree_->entries["/a"].options.block_size = 500;
  std::latch both(2);
  std::atomic<int> reads = 0;
  tree_->on_read = [&](const std::string&) {
    if (reads++ < 2) both.arrive_and_wait();  // hangs unless two blocks are under way at once
    return Status::Ok();
  };
  EXPECT_EQ(Run({"cat", "/a"}).out, data);
  EXPECT_EQ(Run({"tail", "-c", "1700", "/a"}).out, data.substr(data.size() - 1700));
  EXPECT_EQ(Run({"get", "/a", Local("a")}).status, 0);
  EXPECT_EQ(Read("a"), data);
}

TEST_F(GetTest, CatGivesARangeAndReadsNoBlockBesideIt) {
  std::string data;
  for (int i = 0; i < 3000; ++i) data += std::to_string(i) + "\n";
  tree_->MakeFile("/a", data);
  tree_->MakeFile("/b", "short");
  tree_->entries["/a"].options.block_size = 500;
  std::atomic<int> reads = 0;
  tree_->on_read = [&](const std::string&) {
    ++reads;
    return Status::Ok();
  };
  struct Case {
    std::string offset, length, expected;
    int blocks;
  };
  const std::string size = std::to_string(data.size());
  const std::vector<Case> cases = {{"700", "100", data.substr(700, 100), 1},
                                   {"499", "2", data.substr(499, 2), 2},
                                   {"500", "500", data.substr(500, 500), 1},
                                   {"1K", "1K", data.substr(1024, 1024), 3},
                                   {"0", "0", "", 0},
                                   {size, "1", "", 0},
                                   {"1T", "1T", "", 0},
                                   {"13800", "18446744073709551615", data.substr(13800), 1}};
  for (const Case& c : cases) {
    reads = 0;
    EXPECT_EQ(Run({"cat", "--offset", c.offset, "--length", c.length, "/a"}).out, c.expected) << c.offset;
    EXPECT_EQ(reads, c.blocks) << c.offset << " " << c.length;
  }
  EXPECT_EQ(Run({"cat", "--offset", "1", "/a"}).out, data.substr(1));
  EXPECT_EQ(Run({"cat", "--length", "3", "/a", "/b"}).out, data.substr(0, 3) + "sho");
  EXPECT_EQ(Run({"cat", "--offset=3", "--length=9", "/b"}).out, "rt");
  Refuses(2, {"cat", "--offset", "-1", "/a"}, {"--offset", "\"-1\" is not a size"});
  Refuses(2, {"cat", "--length", "lots", "/a"}, {"--length", "lots"});
  Refuses(1, {"cat", "--length", "1", "/"}, {"is a directory"});
}

TEST_F(GetTest, TailGivesTheEnd) {
  std::string data;
  for (int i = 0; i < 1000; ++i) data += std::to_string(i) + "\n";
  tree_->MakeFile("/a", data);
  EXPECT_EQ(Run({"tail", "-c", "10", "/a"}).out, data.substr(data.size() - 10));
  EXPECT_EQ(Run({"tail", "/a"}).out, data.substr(data.size() - 1024));
  EXPECT_EQ(Run({"tail", "-c", "1M", "/a"}).out, data);
  EXPECT_EQ(Run({"tail", "-c", "0", "/a"}).out, "");
}

TEST_F(GetTest, HeadAndTailTakeLines) {
  const std::string long_line(200'000, 'x');  // more than is read at first
  tree_->MakeFile("/a", "one\n" + long_line + "\n\nfour\nfive");
  EXPECT_EQ(Run({"tail", "-n", "1", "/a"}).out, "five");
  EXPECT_EQ(Run({"tail", "-n", "3", "/a"}).out, "\nfour\nfive");
  EXPECT_EQ(Run({"tail", "-n", "4", "/a"}).out, long_line + "\n\nfour\nfive");
  EXPECT_EQ(Run({"tail", "-n", "9", "/a"}).out.size(), long_line.size() + 15);
  EXPECT_EQ(Run({"tail", "-n", "0", "/a"}).out, "");
  EXPECT_EQ(Run({"head", "-n", "1", "/a"}).out, "one\n");
  EXPECT_EQ(Run({"head", "-n", "2", "/a"}).out, "one\n" + long_line + "\n");
  EXPECT_EQ(Run({"head", "-n", "9", "/a"}).out.size(), long_line.size() + 15);
  EXPECT_EQ(Run({"head", "-n", "0", "/a"}).out, "");
}

}  // namespace
}  // namespace millrace::dfs::testing
