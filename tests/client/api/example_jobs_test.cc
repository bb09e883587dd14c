// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "examples/grep/grep.h"
#include "examples/words/invertedindex.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

std::string RunGrep(const std::string& pattern, const std::string& lines, const std::string& text,
                    const std::string& bytes = "false") {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::Grep>(), files);
  EXPECT_EQ(driver.SetUpJob(1, {{"grep.pattern", pattern}, {"grep.lines", lines}, {"grep.bytes", bytes}}), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", text)}, driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  EXPECT_EQ(driver.WaitForEnd().error, "");
  return files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"];
}

TEST(GrepTest, MatchesAreCounted) {
  EXPECT_EQ(RunGrep("a+", "false", "baa a\nxaaxaa\nnone\n"), "a\t1\naa\t3\n");
  EXPECT_EQ(RunGrep("a*", "false", "baab\n"), "aa\t1\n") << "empty matches do not count";
  EXPECT_EQ(RunGrep("^a|\\bb", "false", "aa bb\n"), "a\t1\nb\t1\n") << "anchors see the whole line";
  EXPECT_EQ(RunGrep("b.", "false", "b\u00e9 b\xff bx\n"), "bx\t1\nb\u00e9\t1\n") << "a letter is never cut";
  EXPECT_EQ(RunGrep("\\xff.", "false", "x\xff\xfe\n", "true"), "\xff\xfe\t1\n") << "on bytes, where it is asked for";
}

TEST(GrepTest, LinesComeAsOftenAsTheyOccur) {
  EXPECT_EQ(RunGrep("b", "true", "b 2\nabc\nno\nb 2\n"), "abc\nb 2\nb 2\n");
}

TEST(InvertedIndexTest, FilesAreSortedAndWithoutRepeats) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<examples::InvertedIndex>(), files);
  ASSERT_EQ(driver.SetUpJob(1), "");
  const std::string longest(100, 'w');
  driver.LaunchMap(0,
                   {AddLocal(files, 1, "z", "x y x " + longest + " " + longest), AddLocal(files, 2, "sub/b", "x\nx")},
                   driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchMap(1, {AddLocal(files, 3, "a", "y x"), AddLocal(files, 4, "z", "x")}, driver.Path("m1"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0"), driver.Path("m1")});
  ASSERT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"], longest + "\tz\nx\ta sub/b z\ny\ta z\n");
}

}  // namespace
}  // namespace millrace
