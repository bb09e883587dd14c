// SPDX-License-Identifier: Apache-2.0
#include "client/cli/log_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

// Returns what is found if the text comes in pieces of these sizes, the last of which counts for all that follow.
Lines Found(const std::string& pattern, std::string_view text, std::vector<std::size_t> sizes) {
  const auto compiled = CompileLinePattern(pattern);
  EXPECT_TRUE(compiled.ok());
  Lines found;
  LogSearch search(**compiled, [&](std::string_view line) { found.emplace_back(line); });
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::string_view piece = text.substr(0, sizes[std::min(i, sizes.size() - 1)]);
    search.Take(piece);
    text.remove_prefix(piece.size());
  }
  search.Finish();
  return found;
}

TEST(LogSearch, FindsLinesWhereverThePiecesEnd) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "ab\n\n"[random() % 4];
  Lines expected;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("aba") != std::string::npos) expected.push_back(line);
  }
  for (const std::size_t size : {1U, 2U, 3U, 7U, 500U, 5000U}) EXPECT_EQ(Found("aba", text, {size}), expected) << size;
}

TEST(LogSearch, AnchorsAreTheEndsOfALineAndTheLastMayLackItsEnd) {
  EXPECT_THAT(Found("^b.*e$", "abe\nbade\nbades\nbe", {2}), ElementsAre("bade", "be"));
  EXPECT_THAT(Found("^$", "a\n\nb\n", {100}), ElementsAre(""));
  EXPECT_THAT(Found("x", "", {1}), IsEmpty());
}

TEST(LogSearch, ALineWithoutEndIsSearchedInParts) {
  const std::string text = std::string(LogSearch::kMostLine, 'a') + "b" + std::string(10, 'a') + "\nb\n";
  EXPECT_THAT(Found("b", text, {1000}), ElementsAre("b" + std::string(10, 'a'), "b"));
}

TEST(LogSearch, AWrongPatternIsRefusedWithTheReason) {
  EXPECT_THAT(CompileLinePattern("a(").status().message(),
              HasSubstr("\"a(\" is not a valid regular expression: missing )"));
}

}  // namespace
}  // namespace millrace::cli
