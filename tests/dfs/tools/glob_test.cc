// SPDX-License-Identifier: Apache-2.0
// Patterns, copies, sizes for people, and the beginning of files.
#include <gmock/gmock.h>

#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

using ::testing::HasSubstr;

class GlobTest : public FsTest {
 protected:
  GlobTest() {
    tree_->MakeFile("/in/2024/a.log", "a24");
    tree_->MakeFile("/in/2025/a.log", "a25");
    tree_->MakeFile("/in/2025/b.log", "b25");
    tree_->MakeFile("/in/2025/.hidden.log", "no");
    tree_->MakeFile("/in/readme", "text");
    tree_->MakeFile("/odd/a*b", "star");
    tree_->MakeFile("/odd/axb", "x");
  }
};

TEST_F(GlobTest, EachComponentIsMatchedInOrder) {
  EXPECT_EQ(Run({"cat", "/in/*/a.log"}).out, "a24a25");
  EXPECT_EQ(Run({"cat", "/in/202[5-9]/?.log"}).out, "a25b25");
  EXPECT_EQ(Run({"cat", "/*/readme"}).out, "text");
  EXPECT_EQ(Run({"cat", "/in/*/b.log"}).out, "b25") << "where there is one";
}

TEST_F(GlobTest, HiddenNamesAreMatchedOnlyByADot) {
  EXPECT_EQ(Run({"cat", "/in/2025/*"}).out, "a25b25");
  EXPECT_EQ(Run({"cat", "/in/2025/.*"}).out, "no");
}

TEST_F(GlobTest, APatternIsAllThatItMatchesAlsoWhereAFileBearsItAsItsName) {
  EXPECT_EQ(Run({"cat", "/odd/a*b"}).out, "starx");
  EXPECT_EQ(Run({"cat", "/odd/a\\*b"}).out, "star");
  EXPECT_EQ(Run({"ls", "-1", "/odd/a*b"}).out, "/odd/a*b\n/odd/axb\n");
  EXPECT_EQ(Run({"cat", "/odd/[a]\\*[b]"}).out, "star");
  EXPECT_EQ(Run({"rm", "/odd/a\\*b"}).status, 0);
  EXPECT_EQ(Run({"cat", "/odd/a*b"}).out, "x");
}

TEST_F(GlobTest, EveryVerbTakesThem) {
  const std::string star = "/odd/a*b", one = "/odd/a\\*b";
  EXPECT_EQ(Run({"head", "-q", "-c", "1", star}).out, "sx");
  EXPECT_EQ(Run({"tail", "-q", "-c", "1", star}).out, "rx");
  EXPECT_THAT(Run({"stat", star}).out, ::testing::AllOf(HasSubstr("/odd/a*b"), HasSubstr("/odd/axb")));
  EXPECT_THAT(Run({"du", star}).out, ::testing::AllOf(HasSubstr("/odd/a*b"), HasSubstr("/odd/axb")));
  EXPECT_EQ(Run({"chmod", "600", star}).status, 0);
  EXPECT_THAT(Run({"ls", "/odd"}).out, ::testing::Not(HasSubstr("rw-r")));
  EXPECT_EQ(Run({"setrep", "2", one}).status, 0);
  EXPECT_EQ(Run({"mkdir", "/got"}).status, 0);
  EXPECT_EQ(Run({"cp", star, "/got"}).status, 0);
  EXPECT_EQ(Run({"cat", "/got/*"}).out, "starx");
  EXPECT_EQ(Run({"get", star, dir_.path()}).status, 0);
  EXPECT_EQ(LocalNames(), (std::vector<std::string>{"a*b", "axb"}));
  EXPECT_EQ(Run({"mv", "/got/a\\*b", "/moved"}).status, 0);
  EXPECT_EQ(Run({"cat", "/got/*"}).out, "x");
  EXPECT_EQ(Run({"rm", star}).status, 0);
  EXPECT_EQ(Run({"ls", "-1", "/odd"}).out, "");
}

TEST_F(GlobTest, APatternThatMatchesNothingStandsForWhatBearsItAsItsName) {
  tree_->MakeFile("/odd/[b]", "brackets");
  tree_->MakeFile("/odd/{c,d}", "braces");
  EXPECT_EQ(Run({"cat", "/odd/[b]"}).out, "brackets");
  EXPECT_EQ(Run({"cat", "/odd/{c,d}"}).out, "braces");
  tree_->MakeFile("/odd/b", "b");
  tree_->MakeFile("/odd/d", "d");
  EXPECT_EQ(Run({"cat", "/odd/[b]"}).out, "b");
  EXPECT_EQ(Run({"cat", "/odd/\\[b]"}).out, "brackets");
  EXPECT_EQ(Run({"cat", "/odd/{c,d}"}).out, "d");
  EXPECT_EQ(Run({"cat", "/odd/\\{c,d}"}).out, "braces");
}

TEST_F(GlobTest, BracesStandForEachOfTheirTexts) {
  EXPECT_EQ(Run({"cat", "/in/{2025,2024}/a.log"}).out, "a24a25") << "in the order of names";
  EXPECT_EQ(Run({"cat", "/in/{2024/a,2025/[ab]}.log"}).out, "a24a25b25");
  EXPECT_EQ(Run({"cat", "/in/{2025,2026}/b.log"}).out, "b25");
  EXPECT_EQ(Run({"cat", "/in/{2025,202?}/a.log"}).out, "a24a25") << "each once";
  Refuses(1, {"cat", "/in/{2026,2027}/a.log"}, {"nothing matches"});
}

TEST_F(GlobTest, ADirectoryThatMatchesIsADirectory) {
  EXPECT_EQ(Run({"ls", "-1", "/in/*4"}).out, "/in/2024/a.log\n");
  Refuses(1, {"cat", "/in/*4"}, {"/in/2024"});
}

TEST_F(GlobTest, APatternThatMatchesNothingIsAnErrorButForRmWithForce) {
  Refuses(1, {"cat", "/in/*.gz"}, {"/in/*.gz", "nothing matches"});
  EXPECT_EQ(Run({"rm", "-f", "/in/*.gz"}).status, 0);
  EXPECT_EQ(Run({"rm", "/in/2025/?.log"}).status, 0);
  EXPECT_EQ(Run({"cat", "/in/*/a.log"}).out, "a24");
  EXPECT_EQ(Run({"cat", "/in/2025/.hidden.log"}).status, 0);
}

TEST_F(GlobTest, ManyAreMovedOnlyIntoADirectory) {
  Refuses(1, {"mv", "/in/2025/*", "/in/readme"}, {"not a directory"});
  Refuses(1, {"mv", "/in/readme", "/nowhere/"}, {"/nowhere", "not a directory"});
  Refuses(1, {"cp", "/in/readme", "/nowhere/"}, {"/nowhere", "not a directory"});
  EXPECT_EQ(Run({"mv", "/in/2025/*", "/odd"}).status, 0);
  EXPECT_EQ(Run({"cat", "/odd/b.log"}).out, "b25");
}

TEST_F(GlobTest, GetTakesThem) {
  EXPECT_EQ(Run({"get", "/in/2025/*", dir_.path()}).status, 0);
  EXPECT_EQ(LocalNames(), (std::vector<std::string>{"a.log", "b.log"}));
}

TEST_F(GlobTest, CpCopiesFilesAndTrees) {
  EXPECT_EQ(Run({"cp", "/in/readme", "/copy"}).status, 0);
  EXPECT_EQ(Run({"cat", "/copy"}).out, "text");
  Refuses(1, {"cp", "/in/2024/a.log", "/copy"}, {"/copy", "-f"});
  EXPECT_EQ(Run({"cp", "-f", "/in/2024/a.log", "/copy"}).status, 0);
  EXPECT_EQ(Run({"cat", "/copy"}).out, "a24");
  Refuses(1, {"cp", "/in", "/tree"}, {"/in", "-r"});
  EXPECT_EQ(Run({"cp", "-r", "/in", "/tree"}).status, 0);
  EXPECT_EQ(Run({"cat", "/tree/*/*.log"}).out, "a24a25b25");
  EXPECT_EQ(Run({"cp", "-r", "/in", "/tree"}).status, 0) << "into it, now that it is there";
  EXPECT_EQ(Run({"cat", "/tree/in/readme"}).out, "text");
  Refuses(1, {"cp", "-r", "/in", "/in/2025"}, {"into itself"});
  Refuses(1, {"cp", "/in/readme", "/in/readme"}, {"the same file"});
}

TEST_F(GlobTest, HeadAndTailOfSeveral) {
  tree_->MakeFile("/long", std::string(2000, 'x') + "end");
  EXPECT_EQ(Run({"head", "/long"}).out, std::string(1024, 'x'));
  EXPECT_EQ(Run({"head", "-c", "2", "/in/*/a.log"}).out, "==> /in/2024/a.log <==\na2\n==> /in/2025/a.log <==\na2");
  EXPECT_EQ(Run({"head", "-q", "-c", "2", "/in/*/a.log"}).out, "a2a2");
  EXPECT_EQ(Run({"head", "-c", "1M", "/in/readme"}).out, "text");
  EXPECT_EQ(Run({"tail", "-c", "2", "/long", "/in/readme"}).out, "==> /long <==\nnd\n==> /in/readme <==\nxt");
  Refuses(2, {"head", "-c", "lots", "/long"}, {"--bytes", "lots"});
  Refuses(2, {"tail", "-n", "two", "/long"}, {"--lines", "\"two\" is not a whole number from 0 to"});
  Refuses(2, {"tail", "-n", "2", "-c", "2", "/long"}, {"--bytes", "--lines"});
}

TEST_F(GlobTest, SizesForPeopleWhereTheyAreAskedFor) {
  tree_->MakeFile("/big", std::string(3 << 10, 'x'));
  EXPECT_THAT(Run({"ls", "/big"}).out, HasSubstr(" 3072 "));
  EXPECT_THAT(Run({"ls", "-H", "/big"}).out, HasSubstr("3 KiB"));
  EXPECT_THAT(Run({"du", "--human", "/big"}).out, HasSubstr("3 KiB"));
}

TEST_F(GlobTest, NamesAloneTellDirectoriesFromFiles) {
  EXPECT_EQ(Run({"ls", "-1", "/in"}).out, "/in/2024/\n/in/2025/\n/in/readme\n");
}

TEST_F(GlobTest, DfShowsTheDisks) {
  tree_->health = {.capacity = 4ull << 30, .used = 1ull << 30, .free = 2ull << 30, .live_workers = 3};
  EXPECT_THAT(Run({"df"}).out, HasSubstr("25%"));
  EXPECT_THAT(Run({"df"}).out, HasSubstr("4 GiB"));
  EXPECT_THAT(Run({"df", "--bytes"}).out, HasSubstr("1073741824"));
  EXPECT_THAT(Run({"df", "--json"}).out, HasSubstr("\"free\":2147483648"));
  tree_->health = {};
  EXPECT_THAT(Run({"df"}).out, HasSubstr("0%"));
}

}  // namespace
}  // namespace millrace::dfs::testing
