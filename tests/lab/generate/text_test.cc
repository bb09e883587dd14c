// SPDX-License-Identifier: Apache-2.0
#include "lab/generate/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace millrace::generate {
namespace {

std::string All(const Generator& generator) {
  std::string all;
  for (std::uint64_t chunk = 0; chunk < generator.chunks(); ++chunk) {
    std::string part(generator.BytesOf(chunk) + Generator::kSlack, 0);
    generator.Fill(chunk, part.data());
    all.append(part, 0, generator.BytesOf(chunk));
  }
  return all;
}

// The slope of a straight line through the points.
double Slope(const std::vector<std::pair<double, double>>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [a, b] : points) x += a, y += b, xx += a * a, xy += a * b;
  return (n * xy - x * y) / (n * xx - x * x);
}

double ZipfSlope(double exponent) {
  Shape shape;
  shape.exponent = exponent;
  const Text text(16 << 20, 3, shape);
  std::unordered_map<std::string, std::uint64_t> counts;
  std::istringstream in(All(text));
  for (std::string word; in >> word;) ++counts[word];
  std::vector<std::pair<double, double>> points;
  for (std::uint32_t rank = 1; rank <= 1'000; rank = rank * 5 / 4 + 1) {
    points.emplace_back(std::log(rank), std::log(counts[std::string(text.vocabulary().text(rank - 1))] + 1.0));
  }
  return Slope(points);
}

TEST(Text, FrequenciesFallAsZipfSays) {
  EXPECT_NEAR(ZipfSlope(1.0), -1.0, 0.03);
  EXPECT_NEAR(ZipfSlope(0.8), -0.8, 0.03);
  EXPECT_NEAR(ZipfSlope(1.3), -1.3, 0.03);
}

TEST(Text, DistinctWordsGrowAsHeapsSays) {
  // With few words to choose from nearly all have come by the time that they are counted, so that their number is the
  // vocabulary's: vocabulary * n^growth.
  for (const double growth : {0.4, 0.5, 0.6}) {
    Shape shape;
    shape.growth = growth;
    shape.vocabulary = 4;
    shape.exponent = 0.5;
    const Text text(32 << 20, 4, shape);
    std::unordered_set<std::string> seen;
    std::vector<std::pair<double, double>> points;
    std::uint64_t words = 0;
    std::istringstream in(All(text));
    for (std::string word; in >> word;) {
      seen.insert(word);
      if (++words % 250'000 != 0) continue;
      points.emplace_back(std::log(words), std::log(seen.size()));
      EXPECT_NEAR(static_cast<double>(seen.size()) / (4 * std::pow(words, growth)), 1, 0.25) << words;
    }
    EXPECT_NEAR(Slope(points), growth, 0.05);
  }
}

TEST(Text, WordsAreOfTheVocabularyUnlessCutAndLinesOfTheAverageAsked) {
  Shape shape;
  shape.line_words = 7;
  const Text text(3 << 20, 8, shape);
  std::unordered_set<std::string_view> known;
  for (std::uint32_t rank = 0; rank < text.vocabulary().size(); ++rank) known.insert(text.vocabulary().text(rank));
  std::uint64_t words = 0, strange = 0, lines = 0, most = 0;
  std::istringstream in(All(text));
  for (std::string line; std::getline(in, line); ++lines) {
    std::istringstream of_line(line);
    std::uint64_t here = 0;
    for (std::string word; of_line >> word; ++here) strange += known.contains(word) ? 0 : 1;
    words += here;
    most = std::max(most, here);
  }
  EXPECT_LE(strange, text.chunks());
  EXPECT_NEAR(static_cast<double>(words) / static_cast<double>(lines), 7, 0.1);
  EXPECT_EQ(most, 13u);
}

TEST(Text, VocabularyGrowsWithTheChunksToItsWholeSize) {
  const Text text(20 << 20, 8, Shape{});
  for (std::uint64_t chunk = 1; chunk < text.chunks(); ++chunk) {
    EXPECT_GT(text.VocabularyAt(chunk), text.VocabularyAt(chunk - 1));
  }
  EXPECT_EQ(text.VocabularyAt(text.chunks() - 1), text.vocabulary().size());
}

}  // namespace
}  // namespace millrace::generate
