// SPDX-License-Identifier: Apache-2.0
// Each code is in docs/operate/operations.md, with its level, and each code of the page is one.
#include "base/notice.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

namespace millrace {
namespace {

// "`read-only`, fault", of each row of the table that begins with the head.
std::vector<std::string> RowsOfThePage() {
  std::ifstream page(MILLRACE_SOURCE "/docs/operate/operations.md");
  std::vector<std::string> rows;
  bool within = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| code | level |")) within = true;
    if (!within || line.starts_with("| code |") || line.starts_with("|---")) continue;
    if (!line.starts_with("| `")) break;
    const std::size_t code = line.find("` | "), level = line.find(" | ", code + 4);
    rows.push_back(line.substr(3, code - 3) + ", " + line.substr(code + 4, level - code - 4));
  }
  return rows;
}

TEST(NoticeTest, TheCodesAreThoseOfThePage) {
  std::vector<std::string> rows;
  for (const NoticeKind& kind : NoticeKinds())
    rows.push_back(std::string(kind.name) + ", " + std::string(NameOf(kind.level)));
  EXPECT_THAT(RowsOfThePage(), testing::UnorderedElementsAreArray(rows));
}

// Scripts take them for words.
TEST(NoticeTest, ACodeIsWordsWithDashesAndOfOneKind) {
  for (const NoticeKind& kind : NoticeKinds()) {
    EXPECT_EQ(kind.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), kind.name.npos) << kind.name;
    EXPECT_EQ(&KindOf(kind.code), &kind);
    for (const NoticeKind& other : NoticeKinds()) EXPECT_EQ(other.name == kind.name, &other == &kind) << kind.name;
  }
}

}  // namespace
}  // namespace millrace
