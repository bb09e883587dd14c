// SPDX-License-Identifier: Apache-2.0
#include "examples/grep/pattern_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/random.h"
#include "examples/grep/literal_search.h"

namespace millrace::examples {
namespace {

using enum Letters;

// Letters of either case come as in the pattern's small ones behind a ~.
std::string LiteralOf(std::string_view pattern, Letters letters) {
  std::string text;
  for (const MaskedByte& byte : FactsOf(pattern, letters).literal) {
    if (byte.mask != 0xff) text.push_back('~');
    text.push_back(
        static_cast<char>(byte.mask == 0xff ? byte.value : byte.value | static_cast<std::uint8_t>(~byte.mask)));
  }
  return text;
}

TEST(PatternFactsTest, TheLongestLiteralOfEachMatch) {
  for (const Letters letters : {kUtf8, kBytes}) {
    EXPECT_EQ(LiteralOf("error", letters), "error");
    EXPECT_EQ(LiteralOf("[a-g][a-z]*ing", letters), "ing");
    EXPECT_EQ(LiteralOf("colou?r", letters), "colo");
    EXPECT_EQ(LiteralOf("ab+c", letters), "a");
    EXPECT_EQ(LiteralOf("x(?:abc)+y", letters), "abc");
    EXPECT_EQ(LiteralOf("x(abc)*yz", letters), "yz");
    EXPECT_EQ(LiteralOf("(?P<n>ab)(c)d{2}", letters), "abc");
    EXPECT_EQ(LiteralOf("(foo|bar)ba", letters), "ba");
    EXPECT_EQ(LiteralOf("foo|bar", letters), "");
    EXPECT_EQ(LiteralOf("^[Ee]rror$", letters), "~error");
    EXPECT_EQ(LiteralOf("[ac]bc", letters), "~cbc") << "a and c differ by one bit";
    EXPECT_EQ(LiteralOf("[ad]bc", letters), "bc");
    EXPECT_EQ(LiteralOf("(?i)a1", letters), "~a1");
    EXPECT_EQ(LiteralOf("((?i)a)b", letters), "~ab");
    EXPECT_EQ(LiteralOf("(?i:a)b(?i)c(?-i)d", letters), "~ab~cd");
    EXPECT_EQ(LiteralOf("\\x41\\x{62}\\.\\t", letters), "Ab.\t");
    EXPECT_EQ(LiteralOf("a\nbc", letters), "bc") << "a newline is in no line";
    EXPECT_EQ(LiteralOf("a{,2}b{x}", letters), "a{,2}b{x}") << "no counts";
    EXPECT_EQ(LiteralOf("ab{0}cd", letters), "cd");
    EXPECT_EQ(LiteralOf("ab{2,}", letters), "a");
  }
}

TEST(PatternFactsTest, TheLongestLiteralOfLettersInUtf8) {
  EXPECT_EQ(LiteralOf("caf\xc3\xa9+s", kUtf8), "caf") << "the plus is that of the whole letter";
  EXPECT_EQ(LiteralOf("caf\xc3\xa9+s", kBytes), "caf\xc3");
  EXPECT_EQ(LiteralOf("ab\xc3\xa9?c", kUtf8), "ab");
  EXPECT_EQ(LiteralOf("ab\xc3\xa9?c", kBytes), "ab\xc3");
  EXPECT_EQ(LiteralOf("\\x{e9}\\x{20ac}\\x{1f600}", kUtf8), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(LiteralOf("[\xc3\xa9]ab", kUtf8), "ab") << "a set of one letter of two bytes";
  EXPECT_EQ(LiteralOf("(?i)ask me", kUtf8), " ~m~e") << "U+017F and U+212A are an s and a k, too";
  EXPECT_EQ(LiteralOf("(?i)ask me", kBytes), "~a~s~k ~m~e");
  EXPECT_EQ(LiteralOf("(?i)\xc3\xa9xy", kUtf8), "~x~y");
  EXPECT_TRUE(FactsOf("\xc3\xa9", kUtf8).only_literal);
  EXPECT_FALSE(FactsOf("[\xc3\xa9]", kUtf8).only_literal);
}

TEST(PatternFactsTest, WhatElseIsKnown) {
  EXPECT_TRUE(FactsOf("a.b\\.", kBytes).known);
  EXPECT_TRUE(FactsOf("a\\.b", kBytes).only_literal);
  EXPECT_FALSE(FactsOf("a.b", kBytes).only_literal);
  EXPECT_FALSE(FactsOf("^ab", kBytes).only_literal);
  EXPECT_FALSE(FactsOf("ab\\b", kBytes).only_literal);
  EXPECT_TRUE(FactsOf("ab\\B", kBytes).looks_around);
  EXPECT_TRUE(FactsOf("(^a|\\Ab)c", kBytes).begins_line);
  EXPECT_TRUE(FactsOf("(?i)(^)+a", kBytes).begins_line);
  EXPECT_FALSE(FactsOf("(^)*a", kBytes).begins_line);
  EXPECT_FALSE(FactsOf("^a|b", kBytes).begins_line);
  EXPECT_FALSE(FactsOf("a^", kBytes).begins_line);
  for (const char* pattern : {"\\Aa", "a\\z", "\\C", "(?-m)^a", "(?s-im:a)"})
    EXPECT_TRUE(FactsOf(pattern, kBytes).line_alone);
  for (const char* pattern : {"^a$", "(?m)a", "(?-s)a", "\\ba"}) EXPECT_FALSE(FactsOf(pattern, kBytes).line_alone);
  for (const char* pattern : {"\\Qa.b\\E", "a(?i)*"}) EXPECT_FALSE(FactsOf(pattern, kBytes).known);
}

TEST(PatternFactsTest, TheBytesOfMatches) {
  const auto has = [](std::string_view pattern, char byte) {
    return FactsOf(pattern, kBytes).bytes.test(static_cast<unsigned char>(byte));
  };
  EXPECT_EQ(FactsOf("[a-g][a-z]*ing", kBytes).bytes.count(), 26u);
  EXPECT_EQ(FactsOf("\\d+ms|x", kBytes).bytes.count(), 13u);
  EXPECT_EQ(FactsOf("(?i)[a-c]", kBytes).bytes.count(), 6u);
  EXPECT_EQ(FactsOf("[^a]", kBytes).bytes.count(), 254u);
  EXPECT_EQ(FactsOf("[\\]^-]", kBytes).bytes.count(), 3u);
  EXPECT_EQ(FactsOf("[]a]", kBytes).bytes.count(), 2u);
  EXPECT_TRUE(has("(?i)\xe5", '\xc5'));
  EXPECT_TRUE(has("[[:alpha:]]", 'x'));
  EXPECT_TRUE(has("[\\x{212a}]", 'k')) << "beyond Latin-1, but its small letter is not";
  for (const char* pattern : {".", "(?s).", "\\s", "[^a]", "\\n", "\\W", "\\C", "\\PL"})
    EXPECT_FALSE(has(pattern, '\n'));
}

TEST(PatternFactsTest, TheBytesOfMatchesInUtf8) {
  const auto count = [](std::string_view pattern) { return FactsOf(pattern, kUtf8).bytes.count(); };
  EXPECT_EQ(count("[a-g][a-z]*ing"), 26u);
  EXPECT_EQ(count("\xc3\xa9+"), 2u);
  EXPECT_EQ(count("[^a]"), 254u);
  EXPECT_EQ(count("[^\xc3\xa9]"), 255u) << "other letters may have its bytes";
  EXPECT_EQ(count("[x-\xc3\xa9]"), 8u + 128u);
  EXPECT_EQ(count("(?i)[ab]"), 4u + 128u);
  EXPECT_EQ(count("(?i)\xc5\xbf"), 255u) << "a long s is an s, too";
  EXPECT_EQ(count("\\W"), 255u - 63u);
}

TEST(LiteralSearchTest, FindsTheFirstPlaceThatIsWhole) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text, word;
    for (std::uint64_t n = random.Below(200); n > 0; --n) text.push_back("abAB"[random.Below(i % 2 == 0 ? 2 : 4)]);
    for (std::uint64_t n = 1 + random.Below(7); n > 0; --n) word.push_back("ab"[random.Below(2)]);
    const LiteralSearch search(FactsOf(word, kBytes).literal);
    const std::string exact(text.begin(), text.end());  // nothing behind it may be read
    const char* const end = exact.data() + exact.size();
    const char* const found = search.Find(exact.data(), end);
    const std::size_t want = text.find(word);
    ASSERT_EQ(found, want == std::string::npos ? end : exact.data() + want) << word << " in " << text;
  }
}

TEST(LiteralSearchTest, FindsEitherCase) {
  const LiteralSearch search(FactsOf("(?i)in1", kBytes).literal);
  const std::string text = std::string(70, 'i') + "iN\x11IN1in1";
  EXPECT_EQ(search.Find(text.data(), text.data() + text.size()), text.data() + 73);
}

}  // namespace
}  // namespace millrace::examples
