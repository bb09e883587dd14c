// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/find_query.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dfs/tools/stat_format.h"
#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

constexpr Micros kNow = 1'700'000'000 * kSecond, kHour = 3600 * kSecond;
constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

FileStatus File(std::uint64_t length, Micros age = 0) {
  return {.path = "/in/Log.txt", .length = length, .modified = kNow - age, .owner = "ann", .group = "staff"};
}

bool Finds(const FindWords& words, const FileStatus& info) {
  const Result<FindQuery> query = FindQuery::Parse(words);
  EXPECT_TRUE(query.ok()) << query.status().message();
  return query.ok() && query->Matches(info, kNow);
}

TEST(FindQueryTest, SizesAreRoundedUpToWholeUnits) {
  // What GNU find 4.9 says of files of these sizes.
  EXPECT_TRUE(Finds({.size = "1M"}, File(1)));
  EXPECT_TRUE(Finds({.size = "1M"}, File(kMebi)));
  EXPECT_FALSE(Finds({.size = "1M"}, File(kMebi + 1)));
  EXPECT_TRUE(Finds({.size = "-1M"}, File(0)));
  EXPECT_FALSE(Finds({.size = "-1M"}, File(1)));
  EXPECT_TRUE(Finds({.size = "+1M"}, File(kMebi + 1)));
  EXPECT_FALSE(Finds({.size = "+1M"}, File(kMebi)));
  EXPECT_TRUE(Finds({.size = "100c"}, File(100)));
  EXPECT_FALSE(Finds({.size = "100c"}, File(101)));
  EXPECT_TRUE(Finds({.size = "2"}, File(513)));
  EXPECT_TRUE(Finds({.size = "0"}, File(0)));
  EXPECT_TRUE(Finds({.size = "+17999999999999999999c"}, File(~std::uint64_t{0})));
}

TEST(FindQueryTest, AgesAreRoundedDown) {
  EXPECT_TRUE(Finds({.mtime = "0"}, File(1, 23 * kHour)));
  EXPECT_TRUE(Finds({.mtime = "1"}, File(1, 24 * kHour)));
  EXPECT_FALSE(Finds({.mtime = "+1"}, File(1, 47 * kHour)));
  EXPECT_TRUE(Finds({.mtime = "+1"}, File(1, 48 * kHour)));
  EXPECT_TRUE(Finds({.mtime = "-1"}, File(1, 23 * kHour)));
  EXPECT_FALSE(Finds({.mtime = "-1"}, File(1, 24 * kHour)));
  EXPECT_TRUE(Finds({.mmin = "+59"}, File(1, kHour)));
  EXPECT_TRUE(Finds({.mmin = "-1"}, File(1, -kHour))) << "a file of the future is new";
}

TEST(FindQueryTest, NamesKindsAndOwners) {
  EXPECT_TRUE(Finds({.name = "*.txt"}, File(1)));
  EXPECT_FALSE(Finds({.name = "log*"}, File(1)));
  EXPECT_TRUE(Finds({.iname = "LOG*"}, File(1)));
  EXPECT_FALSE(Finds({.name = "in*"}, File(1))) << "the name is the last one";
  EXPECT_TRUE(Finds({.path = "/i*.txt"}, File(1))) << "a star takes slashes";
  EXPECT_TRUE(Finds({.type = "f"}, File(1)));
  EXPECT_FALSE(Finds({.type = "d"}, File(1)));
  EXPECT_TRUE(Finds({.user = "ann", .group = "staff"}, File(1)));
  EXPECT_FALSE(Finds({.user = "ann", .group = "other"}, File(1)));
  EXPECT_TRUE(Finds({.empty = true}, File(0)));
  EXPECT_FALSE(Finds({.empty = true}, File(1)));
}

TEST(FindQueryTest, WrongTestsAreNamed) {
  for (const char* wrong : {"x", "+", "M", "1T", "1.5M", "--1", "1MM", "99999999999999999999"}) {
    const Result<FindQuery> query = FindQuery::Parse({.size = wrong});
    ASSERT_FALSE(query.ok()) << wrong;
    EXPECT_NE(query.status().message().find("-size: \"" + std::string(wrong)), std::string::npos);
  }
  EXPECT_FALSE(FindQuery::Parse({.type = "l"}).ok());
  EXPECT_FALSE(FindQuery::Parse({.mtime = "1d"}).ok());
}

using FindVerbTest = FsTest;

TEST_F(FindVerbTest, ListsWhatIsAtAndBelow) {
  tree_->MakeFile("/in/a.log", "12345");
  tree_->MakeFile("/in/s/b.log", "");
  tree_->MakeFile("/in/s/c.txt", "1");
  tree_->MakeFile("/out/d.log", "1");
  EXPECT_EQ(Run({"find", "/in"}).out, "/in\n/in/a.log\n/in/s\n/in/s/b.log\n/in/s/c.txt\n");
  EXPECT_EQ(Run({"find", "/in", "-name", "*.log"}).out, "/in/a.log\n/in/s/b.log\n");
  EXPECT_EQ(Run({"find", "/in", "-name", "*.log", "-size", "-3c"}).out, "/in/s/b.log\n") << "a value with a dash";
  EXPECT_EQ(Run({"find", "/in", "--name=*.log", "--size", "+3c"}).out, "/in/a.log\n");
  EXPECT_EQ(Run({"find", "/{in,out}", "-type", "f", "-maxdepth", "1", "-print0"}).out,
            std::string("/in/a.log\0/out/d.log\0", 21));
  EXPECT_EQ(Run({"find", "/in", "-mindepth", "2", "-type", "f"}).out, "/in/s/b.log\n/in/s/c.txt\n");
  EXPECT_EQ(Run({"find", "-name", "d*"}).out, "/out/d.log\n") << "from the root on";
  EXPECT_EQ(Run({"mkdir", "/in/void"}).status, 0);
  EXPECT_EQ(Run({"find", "/in", "-empty"}).out, "/in/s/b.log\n/in/void\n");
  EXPECT_EQ(Run({"find", "/in", "-empty", "-maxdepth", "1"}).out, "/in/void\n");
  Refuses(1, {"find", "/none"}, {"/none"});
  Refuses(2, {"find", "/in", "-size", "big"}, {"-size", "\"big\""});
  Refuses(2, {"find", "/in", "-delete"}, {"-delete"});
  Refuses(2, {"find", "/in", "-nam", "x"}, {"did you mean --name?"});
  Refuses(2, {"find", "in"}, {"\"in\"", "begins with /"});
}

TEST_F(FindVerbTest, StatPrintsInAForm) {
  tree_->MakeFile("/a", "12345");
  EXPECT_EQ(Run({"stat", "-c", "%n: %s, %F, 100%%", "/a"}).out, "/a: 5, regular file, 100%\n");
  EXPECT_EQ(Run({"stat", "--format", "%a %A %U %r %y %Y", "/a"}).out,
            "644 -rw-r--r-- somebody 3 2023-11-14 22:13:20 1700000000\n");
  EXPECT_EQ(Run({"stat", "-c", "%F", "/"}).out, "directory\n");
  Refuses(2, {"stat", "-c", "%Z", "/a"}, {"--format", "\"%Z\" stands for nothing", "%n path"});
  Refuses(2, {"stat", "-c", "5%", "/a"}, {"\"%\" stands for nothing"});
  Refuses(2, {"stat", "-c", "%n", "--json", "/a"}, {"--format and --json"});
}

TEST_F(FindVerbTest, TestAnswersByItsStatusAlone) {
  tree_->MakeFile("/d/full", "1");
  tree_->MakeFile("/d/void", "");
  const struct {
    const char *flag, *path;
    int status;
  } cases[] = {{"-e", "/d", 0},      {"-e", "/d/full", 0}, {"-e", "/no", 1},     {"-d", "/d", 0},
               {"-d", "/d/full", 1}, {"-f", "/d", 1},      {"-f", "/d/full", 0}, {"-s", "/d/full", 0},
               {"-s", "/d/void", 1}, {"-s", "/d", 1},      {"-z", "/d/void", 0}, {"-z", "/d/full", 1},
               {"-z", "/no", 1},     {"-e", "/d/f*", 0},   {"-e", "/d/x*", 1},   {"-z", "/d/*", 0}};
  for (const auto& [flag, path, status] : cases) {
    const Ran ran = Run({"test", flag, path});
    EXPECT_EQ(ran.status, status) << flag << " " << path;
    EXPECT_EQ(ran.out + ran.err, "") << flag << " " << path;
  }
  Refuses(2, {"test", "/d"}, {"one of -e"});
  Refuses(2, {"test", "-e", "-d", "/d"}, {"one of -e"});
  Refuses(2, {"test", "-e", "d"}, {"begins with /"});
  reachable_ = false;
  Refuses(3, {"test", "-e", "/d"}, {"nowhere:1"});
}

TEST_F(FindVerbTest, TouchMakesEmptyFilesAndTellsWhatStays) {
  tree_->MakeFile("/a", "1");
  EXPECT_EQ(Run({"touch", "/d/new"}).err, "");
  const Ran ran = Run({"touch", "/a", "/d"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.err.find("\"/a\" exists already and stays as it is"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("\"/d\" exists already"), std::string::npos) << ran.err;
  EXPECT_EQ(Run({"touch", "-q", "/a"}).err, "");
  EXPECT_EQ(tree_->Files(), (std::map<std::string, std::string>{{"/a", "1"}, {"/d/new", ""}}));
}

TEST_F(FindVerbTest, ChecksumIsThatOfSha256sum) {
  tree_->MakeFile("/a", "abc");  // FIPS 180-4, appendix B.1
  EXPECT_EQ(Run({"checksum", "/a"}).out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  /a\n");
  const std::string odd = "/o\n\\\x1b[1m";
  tree_->MakeFile(odd, "abc");
  EXPECT_EQ(Run({"checksum", odd}).out,
            "\\ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  /o\\n\\\\\x1b[1m\n")
      << "as sha256sum of coreutils 9.1 prints it";
  out_is_terminal_ = true;
  EXPECT_EQ(Run({"checksum", odd}).out,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  /o\\n\\\\x1b[1m\n");
  out_is_terminal_ = false;
  EXPECT_NE(Run({"checksum", "--json", "/a"}).out.find("\"sha256\":\"ba7816bf"), std::string::npos);
  Refuses(1, {"checksum", "/"}, {"is a directory"});
}

TEST_F(FindVerbTest, GetmergeMakesOneFile) {
  tree_->MakeFile("/out/part-2", "two");
  tree_->MakeFile("/out/part-1", "one");
  tree_->MakeFile("/out/part-3", "");
  tree_->MakeFile("/out/_SUCCESS", "marker");
  tree_->MakeFile("/out/sub/part-0", "below");
  tree_->MakeFile("/x", "x");
  EXPECT_EQ(Run({"getmerge", "/out", "/x", "-"}).out, "onetwox");
  EXPECT_EQ(Run({"getmerge", "-nl", "/out", "-"}).out, "one\ntwo\n\n");
  EXPECT_EQ(Run({"getmerge", "-nl", "-skip-empty-file", "/out", "-"}).out, "one\ntwo\n");
  const std::string place = Local("merged");
  EXPECT_EQ(Run({"getmerge", "/out/part-[12]", place}).status, 0);
  EXPECT_EQ(ReadWholeFile(place).value(), "onetwo");
  Refuses(1, {"getmerge", "/x", place}, {place, "-f replaces it"});
  EXPECT_EQ(Run({"getmerge", "-f", "/x", place}).status, 0);
  EXPECT_EQ(ReadWholeFile(place).value(), "x");
  Refuses(1, {"getmerge", "/none", Local("other")}, {"/none"});
  EXPECT_EQ(LocalNames(), std::vector<std::string>{"merged"});
}

TEST_F(FindVerbTest, CountAndDuAsHadoopHasThem) {
  tree_->MakeFile("/a/s/x", std::string(2048, 'x'));
  tree_->MakeFile("/a/y", "1");
  EXPECT_EQ(Run({"count", "/a"}).out, "           2            2               2049 /a\n");
  EXPECT_EQ(Run({"count", "-h", "-v", "/a/s"}).out,
            " DIRECTORIES        FILES              BYTES PATH\n"
            "           1            1              2 KiB /a/s\n");
  for (const char* how : {"-sh", "-hs"}) EXPECT_NE(Run({"du", how, "/a/s"}).out.find("2 KiB"), std::string::npos);
  const Ran total = Run({"du", "-c", "/a"});
  EXPECT_EQ(std::count(total.out.begin(), total.out.end(), '\n'), 3) << total.out;
  EXPECT_NE(total.out.find("2049          6147         2  total\n"), std::string::npos) << total.out;
  EXPECT_EQ(Run({"du", "/a"}).out.find("BYTES"), std::string::npos) << "a script reads lines without a head";
  out_is_terminal_ = true;
  EXPECT_EQ(Run({"du", "/a"}).out.find("        BYTES WITH REPLICAS     FILES  PATH\n"), 0u);
}

TEST_F(FindVerbTest, LsInAnOrder) {
  tree_->MakeFile("/a/big", "12345");
  tree_->MakeFile("/a/also", "12345");
  tree_->MakeFile("/a/small", "1");
  tree_->MakeFile("/b/mid", "123");
  EXPECT_EQ(Run({"ls", "-1S", "/a", "/b"}).out, "/a/also\n/a/big\n/b/mid\n/a/small\n");
  EXPECT_EQ(Run({"ls", "-1Sr", "/a", "/b"}).out, "/a/small\n/b/mid\n/a/big\n/a/also\n");
  EXPECT_EQ(Run({"ls", "-1r", "/a"}).out, "/a/small\n/a/big\n/a/also\n");
  EXPECT_EQ(Run({"ls", "-1d", "/a", "/*"}).out, "/a/\n/a/\n/b/\n");
  EXPECT_EQ(Run({"ls", "-la", "/b"}).out, Run({"ls", "/b"}).out);
  EXPECT_NE(Run({"ls", "-lh", "/b"}).out.find("3 B"), std::string::npos);
  Refuses(2, {"ls", "-tS", "/"}, {"-t and -S"});
}

TEST_F(FindVerbTest, BracesStandForSeveralPaths) {
  tree_->MakeFile("/l/2023/x", "3");
  tree_->MakeFile("/l/2024/x", "4");
  EXPECT_EQ(Run({"cat", "/l/{2024,2023}/x"}).out, "34");
  EXPECT_EQ(Run({"cat", "{/l/2023,/l/2024}/x"}).out, "34");
}

TEST_F(FindVerbTest, ModesMayBeginWithADash) {
  tree_->MakeFile("/x", "");
  EXPECT_EQ(Run({"chmod", "777", "/x"}).status, 0);
  EXPECT_EQ(Run({"chmod", "-x", "/x"}).status, 0);
  EXPECT_EQ(Run({"stat", "-c", "%a", "/x"}).out, "666\n");
  EXPECT_EQ(Run({"chmod", "-R", "-w,u+w", "/x"}).status, 0);
  EXPECT_EQ(Run({"stat", "-c", "%a", "/x"}).out, "644\n");
  Refuses(2, {"chmod", "-z", "/x"}, {"-z"});
}

TEST_F(FindVerbTest, NothingIsMovedOrCopiedToWhereNoDirectoryIs) {
  tree_->MakeFile("/a", "1");
  for (const char* verb : {"mv", "cp"}) {
    Refuses(1, {verb, "/a", "/typo/a"}, {"there is no directory \"/typo\"", "fs mkdir"});
    Refuses(1, {verb, "/a", "/a/b"}, {"/a"});
  }
  EXPECT_EQ(tree_->Files(), (std::map<std::string, std::string>{{"/a", "1"}}));
}

TEST_F(FindVerbTest, PathsThatCanBeNoneAreWrongUsage) {
  const std::string local = MakeLocal("here", "");
  Refuses(2, {"cat", "relative"}, {"\"relative\"", "begins with /"});
  Refuses(2, {"ls", "../proc/self/root" + local}, {"begins with /"});
  Refuses(2, {"mkdir", "relative"}, {"begins with /"});
  Refuses(2, {"mv", "relative", "/a"}, {"begins with /"});
  EXPECT_EQ(connects_, 0);
}

TEST_F(FindVerbTest, HeadAndTailCountAsCoreutilsDo) {
  tree_->MakeFile("/a", "1\n2\n3\n");
  EXPECT_EQ(Run({"head", "-2", "/a"}).out, "1\n2\n");
  EXPECT_EQ(Run({"tail", "-2", "/a"}).out, "2\n3\n");
  EXPECT_EQ(Run({"head", "-c", "3", "/a"}).out, "1\n2");
  EXPECT_EQ(Run({"tail", "-n1", "/a"}).out, "3\n");
  Refuses(2, {"head", "-n", "-5", "/a"}, {"\"-5\" is not a whole number"});
  Refuses(2, {"tail", "--bytes", "-5", "/a"}, {"\"-5\" is not a size"});
  Refuses(2, {"tail", "-f", "/a"}, {"does not grow", "job logs --follow"});
}

TEST_F(FindVerbTest, WordsOfOtherProgramsAreKnown) {
  Refuses(2, {"-ls", "/"}, {"no command \"-ls\"; did you mean ls?"});
  Refuses(2, {"touchz", "/a"}, {"did you mean touch?"});
  Refuses(2, {"-copyFromLocal", "a", "/a"}, {"did you mean put?"});
  Refuses(2, {"rmdir", "/a"}, {"did you mean rm -d?"});
}

}  // namespace
}  // namespace millrace::dfs::testing
