#include "examples/grep/pattern_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/random.h"
#include "examples/grep/literal_search.h"

namespace millrace::examples {
namespace {

// Letters of either case come as in the pattern's small ones behind a ~.
std::string LiteralOf(std::string_view pattern) {
  std::string text;
  for (const MaskedByte& byte : FactsOf(pattern).literal) {
    if (byte.mask != 0xff) text.push_back('~');
    text.push_back(
        static_cast<char>(byte.mask == 0xff ? byte.value : byte.value | static_cast<std::uint8_t>(~byte.mask)));
  }
  return text;
}

TEST(PatternFactsTest, TheLongestLiteralOfEachMatch) {
  EXPECT_EQ(LiteralOf("error"), "error");
  EXPECT_EQ(LiteralOf("[a-g][a-z]*ing"), "ing");
  EXPECT_EQ(LiteralOf("colou?r"), "colo");
  EXPECT_EQ(LiteralOf("ab+c"), "a");
  EXPECT_EQ(LiteralOf("x(?:abc)+y"), "abc");
  EXPECT_EQ(LiteralOf("x(abc)*yz"), "yz");
  EXPECT_EQ(LiteralOf("(?P<n>ab)(c)d{2}"), "abc");
  EXPECT_EQ(LiteralOf("(foo|bar)ba"), "ba");
  EXPECT_EQ(LiteralOf("foo|bar"), "");
  EXPECT_EQ(LiteralOf("^[Ee]rror$"), "~error");
  EXPECT_EQ(LiteralOf("[ac]bc"), "~cbc") << "a and c differ by one bit";
  EXPECT_EQ(LiteralOf("[ad]bc"), "bc");
  EXPECT_EQ(LiteralOf("(?i)a1"), "~a1");
  EXPECT_EQ(LiteralOf("((?i)a)b"), "~ab");
  EXPECT_EQ(LiteralOf("(?i:a)b(?i)c(?-i)d"), "~ab~cd");
  EXPECT_EQ(LiteralOf("\\x41\\x{62}\\.\\t"), "Ab.\t");
  EXPECT_EQ(LiteralOf("a\nbc"), "bc") << "a newline is in no line";
  EXPECT_EQ(LiteralOf("a{,2}b{x}"), "a{,2}b{x}") << "no counts";
  EXPECT_EQ(LiteralOf("ab{0}cd"), "cd");
  EXPECT_EQ(LiteralOf("ab{2,}"), "a");
}

TEST(PatternFactsTest, WhatElseIsKnown) {
  EXPECT_TRUE(FactsOf("a.b\\.").known);
  EXPECT_TRUE(FactsOf("a\\.b").only_literal);
  EXPECT_FALSE(FactsOf("a.b").only_literal);
  EXPECT_FALSE(FactsOf("^ab").only_literal);
  EXPECT_FALSE(FactsOf("ab\\b").only_literal);
  EXPECT_TRUE(FactsOf("ab\\B").looks_around);
  EXPECT_TRUE(FactsOf("(^a|\\Ab)c").begins_line);
  EXPECT_TRUE(FactsOf("(?i)(^)+a").begins_line);
  EXPECT_FALSE(FactsOf("(^)*a").begins_line);
  EXPECT_FALSE(FactsOf("^a|b").begins_line);
  EXPECT_FALSE(FactsOf("a^").begins_line);
  for (const char* pattern : {"\\Aa", "a\\z", "\\C", "(?-m)^a", "(?s-im:a)"}) EXPECT_TRUE(FactsOf(pattern).line_alone);
  for (const char* pattern : {"^a$", "(?m)a", "(?-s)a", "\\ba"}) EXPECT_FALSE(FactsOf(pattern).line_alone);
  for (const char* pattern : {"\\Qa.b\\E", "a(?i)*"}) EXPECT_FALSE(FactsOf(pattern).known);
}

TEST(PatternFactsTest, TheBytesOfMatches) {
  const auto has = [](std::string_view pattern, char byte) {
    return FactsOf(pattern).bytes.test(static_cast<unsigned char>(byte));
  };
  EXPECT_EQ(FactsOf("[a-g][a-z]*ing").bytes.count(), 26u);
  EXPECT_EQ(FactsOf("\\d+ms|x").bytes.count(), 13u);
  EXPECT_EQ(FactsOf("(?i)[a-c]").bytes.count(), 6u);
  EXPECT_EQ(FactsOf("[^a]").bytes.count(), 254u);
  EXPECT_EQ(FactsOf("[\\]^-]").bytes.count(), 3u);
  EXPECT_EQ(FactsOf("[]a]").bytes.count(), 2u);
  EXPECT_TRUE(has("(?i)\xe5", '\xc5'));
  EXPECT_TRUE(has("[[:alpha:]]", 'x'));
  EXPECT_TRUE(has("[\\x{212a}]", 'k')) << "beyond Latin-1, but its small letter is not";
  for (const char* pattern : {".", "(?s).", "\\s", "[^a]", "\\n", "\\W", "\\C", "\\PL"})
    EXPECT_FALSE(has(pattern, '\n'));
}

TEST(LiteralSearchTest, FindsTheFirstPlaceThatIsWhole) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text, word;
    for (std::uint64_t n = random.Below(200); n > 0; --n) text.push_back("abAB"[random.Below(i % 2 == 0 ? 2 : 4)]);
    for (std::uint64_t n = 1 + random.Below(7); n > 0; --n) word.push_back("ab"[random.Below(2)]);
    const LiteralSearch search(FactsOf(word).literal);
    const std::string exact(text.begin(), text.end());  // nothing behind it may be read
    const char* const end = exact.data() + exact.size();
    const char* const found = search.Find(exact.data(), end);
    const std::size_t want = text.find(word);
    ASSERT_EQ(found, want == std::string::npos ? end : exact.data() + want) << word << " in " << text;
  }
}

TEST(LiteralSearchTest, FindsEitherCase) {
  const LiteralSearch search(FactsOf("(?i)in1").literal);
  const std::string text = std::string(70, 'i') + "iN\x11IN1in1";
  EXPECT_EQ(search.Find(text.data(), text.data() + text.size()), text.data() + 73);
}

}  // namespace
}  // namespace millrace::examples
