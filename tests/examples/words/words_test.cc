// SPDX-License-Identifier: Apache-2.0
#include "examples/words/words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace millrace::examples {
namespace {

std::vector<std::string> ByDefinition(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::string_view(" \t\n\v\f\r").find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

TEST(WordsTest, SameAsByDefinition) {
  const std::uint64_t seed = 4711;
  Random random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const std::uint64_t spaces = 1 + random.Below(20);  // the mean number of bytes for one space
    for (std::uint64_t n = random.Below(150); n > 0; --n) {
      text.push_back(random.Below(spaces) == 0 ? " \t\n\v\f\r"[random.Below(6)] : static_cast<char>(random.Next()));
    }
    std::vector<std::string> words;
    ForEachWord(text, [&](std::string_view word) { words.emplace_back(word); });
    ASSERT_EQ(words, ByDefinition(text)) << "seed " << seed << ", text " << i;
  }
}

TEST(WordsTest, MasksAreTheSameWithAndWithoutVectors) {
  const std::uint64_t seed = 815;
  Random random(seed);
  for (int i = 0; i < 20'000; ++i) {
    char bytes[32];
    for (char& byte : bytes) byte = static_cast<char>(random.Below(random.Below(2) == 0 ? 40 : 256));
    ASSERT_EQ(WhiteSpaceMask(bytes), PlainWhiteSpaceMask(bytes)) << "seed " << seed << ", round " << i;
  }
}

TEST(WordsTest, EveryByte) {
  for (int c = 0; c < 256; ++c) {
    int words = 0;
    ForEachWord(std::string(1, static_cast<char>(c)), [&](std::string_view) { ++words; });
    EXPECT_EQ(words, c == ' ' || (c >= 9 && c <= 13) ? 0 : 1) << c;
  }
}

}  // namespace
}  // namespace millrace::examples
