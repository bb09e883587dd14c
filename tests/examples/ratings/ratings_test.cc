// SPDX-License-Identifier: Apache-2.0
#include "examples/ratings/ratings.h"

#include <gtest/gtest.h>

#include "examples/load/loadgen.h"
#include "examples/ratings/centroids.h"

namespace millrace::examples {
namespace {

std::string Parsed(std::string_view line) {
  Movie movie;
  movie.ratings = {{1, 1}};
  if (!ParseMovie(line, &movie)) return "no";
  std::string text = std::to_string(movie.id);
  for (const Rating& rating : movie.ratings)
    text += " " + std::to_string(rating.user) + "=" + std::to_string(rating.rating);
  return text;
}

TEST(RatingsTest, LinesOfMovies) {
  EXPECT_EQ(Parsed("7:10_3,4294967295_5"), "7 10=3 4294967295=5");
  EXPECT_EQ(Parsed("7: 10_3,\r"), "7 10=3");
  EXPECT_EQ(Parsed("7:"), "7");
}

TEST(RatingsTest, OtherLines) {
  for (const char* line : {"", "7", ":", "x:1_2", "7:1", "7:1_", "7:_2", "7:1_2;3_4", "7:1_2,,3_4", "7:-1_2", "7:1_2 ",
                           "4294967296:1_2", "7:4294967296_1", "7:1_4294967296", "7:1_2_3", "7:1_2,x"}) {
    EXPECT_EQ(Parsed(line), "no") << line;
  }
}

std::uint32_t NearestOf(const std::string& centroids, const std::string& line) {
  Movie movie;
  EXPECT_TRUE(ParseMovie(line, &movie));
  return Centroids::Parse(centroids)->Nearest(movie);
}

TEST(CentroidsTest, TheSmallestAngleIsClosest) {
  const std::string axes = "9:2_100\n4:1_1\n6:1_5000000000,2_5000000000\n";
  EXPECT_EQ(NearestOf(axes, "0:1_5"), 4u) << "lengths do not matter";
  EXPECT_EQ(NearestOf(axes, "0:2_1"), 9u);
  EXPECT_EQ(NearestOf(axes, "0:1_3,2_3,5_1"), 6u);
  EXPECT_EQ(NearestOf(axes, "0:8_1"), 4u) << "nothing in common: the least cluster";
  EXPECT_EQ(NearestOf("5:1_1\n3:1_2\n", "0:1_1"), 3u) << "equally close: the least cluster";
  EXPECT_EQ(NearestOf("5:\n3:1_0\n8:1_1", "0:1_1"), 8u) << "a centroid without weights is close to nothing";
}

TEST(CentroidsTest, TextThatIsRefused) {
  for (const char* text : {"", "\n\n", "1:1_1\n1:2_2\n", "1:1_1\nnone\n", "1:1_18446744073709551616"})
    EXPECT_EQ(Centroids::Parse(text).status().code(), StatusCode::kInvalid) << text;
}

TEST(KeptPartTest, IsRoundedUpAtEveryRecord) {
  const auto copies = [](double percent) {
    KeptPart part(percent);
    std::string text;
    for (int i = 0; i < 8; ++i) text += std::to_string(part.Copies());
    return text;
  };
  EXPECT_EQ(copies(100), "11111111");
  EXPECT_EQ(copies(0), "00000000");
  EXPECT_EQ(copies(50), "10101010");
  EXPECT_EQ(copies(37.5), "10100100");
  EXPECT_EQ(copies(250), "32323232");
  EXPECT_EQ(copies(0.2), "10000000");
}

}  // namespace
}  // namespace millrace::examples
