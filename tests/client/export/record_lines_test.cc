// SPDX-License-Identifier: Apache-2.0
#include "client/export/record_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace millrace::exported {
namespace {

std::string Escaped(std::string_view bytes) {
  std::string line;
  AppendEscaped(bytes, &line);
  return line;
}

// Texts of the bytes around those that are escaped, of all lengths up to three.
std::vector<std::string> Texts() {
  constexpr std::string_view kBytes("\x00\x01\x02\x03\x07\x08\t\n\x0b\x0c\r\x0e Az\x7f\x80\xff", 18);
  std::vector<std::string> texts{""};
  for (std::size_t begin = 0, end = 1; texts.front().size() < 3 && texts.back().size() < 3;
       begin = end, end = texts.size()) {
    for (std::size_t i = begin; i < end; ++i) {
      for (const char byte : kBytes) texts.push_back(texts[i] + byte);
    }
  }
  return texts;
}

TEST(RecordLinesTest, EscapedTextsHaveNoSeparatorsComeBackAndKeepTheirOrder) {
  std::vector<std::string> texts = Texts();
  ASSERT_GT(texts.size(), 18u * 18u * 18u);
  std::ranges::sort(texts);
  std::string before;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string escaped = Escaped(texts[i]);
    ASSERT_EQ(escaped.find_first_of("\t\n\r"), std::string::npos);
    std::string back;
    ASSERT_TRUE(Unescape(escaped, &back));
    ASSERT_EQ(back, texts[i]);
    if (i > 0) {
      ASSERT_LT(before, escaped) << i;
    }
    before = escaped;
  }
}

TEST(RecordLinesTest, PlainTextIsItself) { EXPECT_EQ(Escaped("r\xc3\xa9sum\xc3\xa9 x"), "r\xc3\xa9sum\xc3\xa9 x"); }

TEST(RecordLinesTest, WhatNobodyEscapedIsRefused) {
  std::string bytes;
  for (const std::string_view text : {"\x08", "a\x08\x04", "\x0c\x03", "\x08q", "a\tb", "\r"})
    EXPECT_FALSE(Unescape(text, &bytes)) << testing::PrintToString(text);
  EXPECT_FALSE(Unescape(std::string_view("\x08\0", 2), &bytes));
}

// The hash of Hadoop's KeyFieldBasedPartitioner over -k1.1,1.2, from its source: 31 * hash + byte, and then the
// remainder of its lower 31 bits.
std::uint32_t HashOfHadoop(const std::string& place, std::uint32_t reduces) {
  std::int32_t hash = 0;
  for (const char byte : place) hash = 31 * hash + byte;
  return static_cast<std::uint32_t>(hash & 0x7fffffff) % reduces;
}

TEST(RecordLinesTest, APlaceIsTwoPrintableCharactersThatHadoopSendsToItsReduce) {
  for (std::uint32_t reduces = 2; reduces <= kMostReduces; ++reduces) {
    for (std::uint32_t reduce = 0; reduce < reduces; ++reduce) {
      const std::string place = PlaceOf(reduce, reduces);
      ASSERT_EQ(place.size(), kPlaceBytes);
      ASSERT_TRUE(std::ranges::all_of(place, [](char c) { return c >= '!' && c <= '~'; })) << place;
      ASSERT_EQ(HashOfHadoop(place, reduces), reduce) << reduces;
      ASSERT_EQ(HadoopReduceOf(place + "key", reduces), reduce) << reduces;
    }
  }
}

TEST(RecordLinesTest, ALineIsCutAtItsFirstTab) {
  EXPECT_EQ(CutLine("a\tb\tc").key, "a");
  EXPECT_EQ(CutLine("a\tb\tc").value, "b\tc");
  EXPECT_EQ(CutLine("a").key, "a");
  EXPECT_EQ(CutLine("a").value, "");
}

TEST(RecordLinesTest, FilesAreFoundAmongTheInputs) {
  const auto find = [](const char* file, const char* inputs) {
    const std::optional<MapFile> found = FindMapFile(file, inputs);
    return found ? std::to_string(found->index) + " " + found->name + " " + found->path : "none";
  };
  EXPECT_EQ(find("hdfs://nn:8020/in/a/b.txt", "hdfs://nn:8020/other,hdfs://nn:8020/in"), "1 a/b.txt /in/a/b.txt");
  EXPECT_EQ(find("file:/in/a.txt", "file:/in/a.txt"), "0 a.txt /in/a.txt");
  EXPECT_EQ(find("s3://bucket/in/a.txt", "s3://bucket/in/"), "0 a.txt /in/a.txt");
  EXPECT_EQ(find("hdfs://nn/2026/11/a", "/2025/*,/2026/{10,11}"), "1 a /2026/11/a");
  EXPECT_EQ(find("hdfs://nn/a,b/c", "hdfs://nn/x,hdfs://nn/a\\,b"), "1 c /a,b/c");
  EXPECT_EQ(find("hdfs://nn/in-more/a", "hdfs://nn/in"), "none");
  EXPECT_EQ(find("", "hdfs://nn/in"), "none");
}

}  // namespace
}  // namespace millrace::exported
