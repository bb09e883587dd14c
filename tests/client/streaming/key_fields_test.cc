// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/key_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"

namespace millrace::streaming {
namespace {

TEST(CutLineTest, TheKeyEndsAtASeparator) {
  const auto cut = [](std::string_view line, std::string_view separator, std::size_t fields) {
    const KeyAndValue record = CutLine(line, separator, fields);
    return std::string(record.key) + "|" + std::string(record.value);
  };
  EXPECT_EQ(cut("a\tb\tc", "\t", 1), "a|b\tc");
  EXPECT_EQ(cut("a\tb\tc", "\t", 2), "a\tb|c");
  EXPECT_EQ(cut("a\tb\tc", "\t", 3), "a\tb\tc|");
  EXPECT_EQ(cut("word", "\t", 1), "word|");
  EXPECT_EQ(cut("", "\t", 1), "|");
  EXPECT_EQ(cut("\tb", "\t", 1), "|b");
  EXPECT_EQ(cut("11.12.1.2", ".", 4), "11.12.1.2|");  // the examples of Hadoop's page
  EXPECT_EQ(cut("11.12.1.2", ".", 2), "11.12|1.2");
  EXPECT_EQ(cut("a::b::c", "::", 1), "a|b::c");
}

TEST(KeyRangesTest, AreReadAsSortReadsThem) {
  const auto one = [](const char* text) { return ParseKeyRanges(text).value().at(0); };
  EXPECT_EQ(one("-k2,2nr"), (KeyRange{2, 1, 2, 0, true, true}));
  EXPECT_EQ(one("-k 2n"), (KeyRange{2, 1, 0, 0, true, false}));
  EXPECT_EQ(one("-k1.2,3.4"), (KeyRange{1, 2, 3, 4, false, false}));
  EXPECT_EQ(one("-k1,2.0"), (KeyRange{1, 1, 2, 0, false, false}));
  EXPECT_EQ(one("-n -k3"), (KeyRange{3, 1, 0, 0, true, false}));
  EXPECT_EQ(one("-nr"), (KeyRange{1, 1, 0, 0, true, true}));
  EXPECT_EQ(ParseKeyRanges("-k1,1 -k2,2nr")->size(), 2U);
  EXPECT_EQ(ParseKeyRanges("-r -k1,1 -k2,2n")->at(1),
            (KeyRange{2, 1, 2, 0, true, false}));  // it has letters of its own
  EXPECT_TRUE(ParseKeyRanges("")->empty());
  for (const char* wrong : {"k1", "-k", "-k0", "-k1,0", "-k1.0", "-kx", "-k1,2x", "-x", "-k1,", "-k1 2", "-k-1"})
    EXPECT_FALSE(ParseKeyRanges(wrong).ok()) << wrong;
}

std::string RandomKey(Random& random) {
  const char* const numbers[] = {"0",  "-0",  "7",  "07", "10", "-3", "3.5",  "3.50", "-3.5", "12345678901234567890123",
                                 "x1", "1x2", " 5", "",   "-",  ".5", "-.25", "100",  "99",   "0.001"};
  const char* const words[] = {"a", "b", "ab", "aB", "\x01", "\xff", "", "zz"};
  std::string key;
  for (std::uint64_t fields = random.Below(4) + 1; fields > 0; --fields) {
    key += random.Below(2) == 0 ? numbers[random.Below(std::size(numbers))] : words[random.Below(std::size(words))];
    if (fields > 1) key += ',';
  }
  return key;
}

std::string RandomRanges(Random& random) {
  std::string text;
  for (std::uint64_t ranges = random.Below(3) + 1; ranges > 0; --ranges) {
    const std::uint64_t first = random.Below(3) + 1;
    text += " -k" + std::to_string(first);
    if (random.Below(3) == 0) text += "." + std::to_string(random.Below(3) + 1);
    if (random.Below(3) != 0) text += "," + std::to_string(first + random.Below(2));
    const char* const letters[] = {"", "n", "r", "nr"};
    text += letters[random.Below(4)];
  }
  return text;
}

// sort(1) is the independent computation: in the locale C, equal keys in the order of their bytes.
TEST(SortKeyTest, PutsKeysInTheOrderOfSort) {
  const TempDir directory = *TempDir::Make("keys");
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string ranges = RandomRanges(random);
    std::vector<std::string> keys(60);
    for (std::string& key : keys) key = RandomKey(random);
    std::string text;
    for (const std::string& key : keys) text += key + "\n";
    const std::string in = directory.path() + "/in", out = directory.path() + "/out";
    ASSERT_TRUE(WriteFileDurably(in, text).ok());
    ASSERT_EQ(std::system(("LC_ALL=C sort -t ," + ranges + " " + in + " > " + out).c_str()), 0);  // NOLINT
    const SortKey order(ParseKeyRanges(ranges).value(), ",");
    std::vector<std::pair<std::string, std::string>> encoded;
    for (const std::string& key : keys) {
      std::string scratch;
      encoded.emplace_back(order.Encode(key, &scratch), key);
      EXPECT_EQ(*order.Decode(encoded.back().first), key);
    }
    std::sort(encoded.begin(), encoded.end());
    std::string sorted;
    for (const auto& [bytes, key] : encoded) sorted += key + "\n";
    EXPECT_EQ(sorted, *ReadWholeFile(out)) << ranges;
  }
}

TEST(SortKeyTest, TextWithNulsComparesAsItsBytesDo) {
  const SortKey order(ParseKeyRanges("-k1,1").value(), ",");
  const std::string keys[] = {std::string("a"), std::string("a\0", 2), std::string("a\0b", 3), std::string("a\1", 2),
                              "ab"};
  std::string last;
  for (const std::string& key : keys) {
    std::string scratch;
    const std::string encoded(order.Encode(key, &scratch));
    EXPECT_LT(last, encoded);
    last = encoded;
  }
}

TEST(SortKeyTest, WhatWasNotEncodedIsRefused) {
  const SortKey order(ParseKeyRanges("-n").value(), "\t");
  EXPECT_FALSE(order.Decode("").ok());
  EXPECT_FALSE(order.Decode("abc").ok());
  EXPECT_FALSE(order.Decode(std::string("ab\xff\xff\xff\xff", 6)).ok());
}

}  // namespace
}  // namespace millrace::streaming
