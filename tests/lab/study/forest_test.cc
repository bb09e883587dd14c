// SPDX-License-Identifier: Apache-2.0
#include "lab/study/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>

namespace millrace::sim::experiments {
namespace {

// Returns the number of the first match.
double Found(const std::string& picture, const std::string& pattern) {
  std::smatch match;
  EXPECT_TRUE(std::regex_search(picture, match, std::regex(pattern))) << pattern << "\n" << picture;
  return match.empty() ? NAN : std::stod(match[1]);
}

// Twice and half a ratio are equally far from 1, and lie on the same axis as the ticks.
TEST(ForestTest, TheAxisIsLogarithmic) {
  const std::string picture = ForestPlot({{"twice", false, {2, 1, 4}}, {"half", true, {0.5, 0.25, 1}}}, "t");
  const auto x_of = [&](const std::string& y) { return Found(picture, R"re(<circle cx="([\d.]+)" cy=")re" + y); };
  const double twice = x_of("53"), half = x_of("79");
  const double one = Found(picture, R"re(<line x1="([\d.]+)" [^>]*stroke="#333")re");
  EXPECT_NEAR(twice - one, one - half, 0.11);
  EXPECT_NEAR(Found(picture, R"re(<text x="([\d.]+)"[^>]*>2</text>)re"), twice, 0.11);
  EXPECT_NEAR(Found(picture, R"re(<line x1="([\d.]+)" x2="[\d.]+" y1="53.0")re"), one, 0.11)
      << "the interval begins at 1";
}

TEST(ForestTest, AColourSaysWhatTheIntervalSays) {
  const auto word = [](bool higher, Estimate ratio) {
    const std::string picture = ForestPlot({{"a", higher, ratio}}, "t");
    const std::size_t at = picture.rfind("<text");
    return picture.substr(at, picture.find("</text>", at) - at);
  };
  EXPECT_NE(word(false, {0.5, 0.4, 0.6}).find("better"), std::string::npos);
  EXPECT_NE(word(true, {0.5, 0.4, 0.6}).find("worse"), std::string::npos);
  EXPECT_NE(word(true, {2, 1.1, 3}).find("better"), std::string::npos);
  EXPECT_EQ(word(true, {1, 0.9, 1.1}).back(), ' ') << "neither";
}

TEST(ForestTest, NamesAreTextAndChanceIsDrawnBehind) {
  const std::string picture = ForestPlot({{"a<b&c", false, {1, 0.9, 1.1}, Estimate{1, 0.95, 1.05}}}, "x > y");
  EXPECT_NE(picture.find("a&lt;b&amp;c"), std::string::npos);
  EXPECT_NE(picture.find("<title>x &gt; y</title>"), std::string::npos);
  EXPECT_LT(picture.find("opacity"), picture.find("<circle"));
}

}  // namespace
}  // namespace millrace::sim::experiments
