// SPDX-License-Identifier: Apache-2.0
#include "base/console/table.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace millrace::console {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const std::vector<Column> kColumns = {{"ID"}, {"OWNER", 2}, {"POOL", 1}, {"NAME", kAlwaysShown, 6}, {"WHY", 3, 8}};
const Rows kRows = {{"1", "ann", "ads", "a long name", "it waits for a slot"}, {"12", "bob", "web", "short", ""}};

TEST(TableTest, WithoutAWidthAllIsShown) {
  EXPECT_EQ(LayOut(kColumns, kRows, 0),
            "ID  OWNER  POOL  NAME         WHY\n"
            "1   ann    ads   a long name  it waits for a slot\n"
            "12  bob    web   short\n");
  EXPECT_EQ(LayOut(kColumns, kRows, 0, false),
            "1   ann  ads  a long name  it waits for a slot\n"
            "12  bob  web  short\n");
}

TEST(TableTest, CellsAreCutBeforeALineIsWrapped) {
  EXPECT_EQ(LayOut(kColumns, kRows, 40),
            "ID  OWNER  POOL  NAME         WHY\n"
            "1   ann    ads   a long name  it waits..\n"
            "12  bob    web   short\n");
}

TEST(TableTest, ColumnsOfTheLeastWorthGoFirst) {
  EXPECT_EQ(LayOut(kColumns, kRows, 27),
            "ID  OWNER  NAME    WHY\n"
            "1   ann    a lo..  it wai..\n"
            "12  bob    short\n");
  EXPECT_EQ(LayOut(kColumns, kRows, 20),
            "ID  NAME    WHY\n"
            "1   a lo..  it wai..\n"
            "12  short\n");
  EXPECT_EQ(LayOut(kColumns, kRows, 11), "ID  NAME\n1   a lon..\n12  short\n");
  EXPECT_EQ(LayOut(kColumns, kRows, 5), "ID  N\n1   a\n12  s\n") << "what is always shown, as far as it goes";
}

TEST(TableTest, AColumnWithoutTextGoesBeforeAnyOther) {
  const Rows rows = {{"1", "ann", "ads", "name", ""}};
  EXPECT_EQ(LayOut(kColumns, rows, 22), "ID  OWNER  POOL  NAME\n1   ann    ads   name\n");
  EXPECT_EQ(LayOut(kColumns, {}, 80), "ID  OWNER  POOL  NAME  WHY\n") << "without rows, no column is empty";
}

TEST(TableTest, LettersTakeThePlacesThatATerminalGivesThem) {
  EXPECT_EQ(PlacesOf("été"), 3u);
  EXPECT_EQ(PlacesOf("e\xcc\x81"), 1u);
  EXPECT_EQ(PlacesOf("日本"), 4u);
  EXPECT_EQ(LayOut({{"A"}, {"B"}}, {{"日本", "x"}, {"été", "y"}}, 0), "A     B\n日本  x\nété   y\n");
  EXPECT_EQ(LayOut({{"A", kAlwaysShown, 4}}, {{"日本日本"}}, 5), "A\n日..\n") << "no half letter";
  EXPECT_EQ(LayOut({{"A"}}, {{"a\nb\x1b[2J\xff"}}, 0), "A\na\\nb\\x1b[2J\\xff\n");
}

// No line of any table is wider than the terminal, and what fits is not cut.
TEST(TableTest, RandomTables) {
  std::mt19937 random(20261128);
  const auto upto = [&random](std::size_t most) { return static_cast<std::size_t>(random() % (most + 1)); };
  const std::string letters[] = {"a", "b", " ", "é", "日", "\n"};
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Column> columns;
    for (std::size_t i = 0, count = 1 + upto(6); i < count; ++i)
      columns.push_back({std::string(upto(8), 'H'), upto(2) == 0 ? kAlwaysShown : static_cast<int>(upto(9)), upto(9)});
    Rows rows(upto(4), std::vector<std::string>(columns.size()));
    for (auto& row : rows) {
      for (std::string& cell : row) {
        for (std::size_t i = 0, count = upto(20); i < count; ++i) cell += letters[upto(5)];
        if (!cell.empty()) cell += "x";  // no blank at the end, which a line does not have
      }
    }
    const std::string whole = LayOut(columns, rows, 0);
    std::size_t widest = 0;
    for (const std::string& line : Lines(whole)) widest = std::max(widest, PlacesOf(line));
    const std::size_t width = 1 + upto(100);
    for (const std::string& line : Lines(LayOut(columns, rows, width))) ASSERT_LE(PlacesOf(line), width) << whole;
    ASSERT_EQ(LayOut(columns, rows, 2 + widest + 2 * columns.size()), whole);
  }
}

}  // namespace
}  // namespace millrace::console
