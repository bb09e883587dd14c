// SPDX-License-Identifier: Apache-2.0
#include "examples/grep/line_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace millrace::examples {
namespace {

using enum Letters;

struct Found {
  std::vector<std::string> matches, lines;
  bool operator==(const Found&) const = default;
};

// RE2 asked line by line.
Found ByLine(const std::string& pattern, Letters letters, std::string_view text) {
  const std::unique_ptr<RE2> compiled = CompilePattern(pattern, letters);
  Found found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const re2::StringPiece line(text.data(), end);
    if (compiled->Match(line, 0, line.size(), RE2::UNANCHORED, nullptr, 0))
      found.lines.emplace_back(line.data(), line.size());
    re2::StringPiece match;
    for (std::size_t at = 0; at < end && compiled->Match(line, at, end, RE2::UNANCHORED, &match, 1);) {
      if (!match.empty()) found.matches.emplace_back(match.data(), match.size());
      at = static_cast<std::size_t>(match.data() - line.data()) + std::max<std::size_t>(match.size(), 1);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

Found ByMatcher(LineMatcher& matcher, std::string_view text) {
  Found found;
  matcher.ForEachMatch(text, [&](std::string_view match) { found.matches.emplace_back(match); });
  matcher.ForEachLine(text, [&](std::string_view line) { found.lines.emplace_back(line); });
  return found;
}

Found ByMatcher(const std::string& pattern, std::string_view text, Letters letters = kUtf8) {
  LineMatcher matcher(pattern, letters);
  return ByMatcher(matcher, text);
}

class Patterns {
 public:
  Patterns(std::uint64_t seed, Letters letters) : random_(seed), letters_(letters) {}

  std::string Next(int depth = 4) {
    std::string pattern = Sequence(depth);
    while (random_.Below(6) == 0) pattern += "|" + Sequence(depth);
    if (depth == 4 && random_.Below(5) == 0)
      pattern = Pick({"(?i)", "(?m)", "(?s)", "(?-m)", "(?U)", "(?is)"}) + pattern;
    return pattern;
  }
  std::string Text() {
    std::string text;
    for (std::uint64_t n = random_.Below(8) == 0 ? random_.Below(400) : random_.Below(40); n > 0; --n) {
      if (random_.Below(4) == 0) {
        // Letters of two to four bytes, and pieces of them.
        text += Pick({"\xc3\xa9", "\xc3\x89", "\xc5\xbf", "\xe2\x84\xaa", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xc3",
                      "\xa9", "\xe2\x82", "\xff", "\xe3\xa9\xb0"});
      }
      text += Pick(
          {"a",    "b",     "a",  "b",  "ab", "ba", "abc", "A",    "B",    "c", "\n",  "\n",   " ",
           "_",    "1",     "\r", "\t", "-",  "k",  "K",   "\xe5", "\xc5", "s", "ing", "aabb", std::string(1, '\0'),
           "\x7f", "aab ab"});
    }
    return text;
  }

 private:
  std::string Pick(const std::vector<std::string>& from) { return from[random_.Below(from.size())]; }

  // One beyond ASCII.
  std::string Letter() {
    if (letters_ == kBytes) return Pick({"\xe5", "\xc5"});
    return Pick({"\xc3\xa9", "\xc3\x89", "\xc5\xbf", "\xe2\x84\xaa", "\xe2\x82\xac", "\xf0\x9f\x98\x80"});
  }
  std::string Sequence(int depth) {
    std::string pattern;
    for (std::uint64_t n = random_.Below(5); n > 0; --n) pattern += Repeated(depth);
    return pattern;
  }
  std::string Repeated(int depth) {
    const std::string one = One(depth);
    if (random_.Below(3) != 0) return one;
    return one + Pick({"*", "+", "?", "*?", "+?", "??", "{2}", "{0,1}", "{1,}", "{0}", "{1,3}?", "{,2}", "{x}"});
  }
  std::string One(int depth) {
    switch (random_.Below(depth > 0 ? 12 : 9)) {
      case 0:
        return Class();
      case 1:
        return Pick({"^", "$", "\\b", "\\B", "\\A", "\\z", "\\C"});
      case 2:
        return Pick({".", "\\d", "\\D", "\\s", "\\S", "\\w", "\\W", "\\pL", "\\PL", "\\p{Lu}", "\\n", "\\r", "\\t"});
      case 3:
        return Pick(
            {"\\x41", "\\x{61}", "\\x{212a}", "\\x0a", "\\.", "\\-", "\\\\", "-", "{", "}", "]", "\xe5", "\\xc5"});
      case 9:
        return Pick({"(", "(?:", "(?i:", "(?P<n>", "(?s-m:", "(?i-s:"}) + Next(depth - 1) + ")";
      case 10:
        return Pick({"(?i)", "(?-i)", "(?m)", "\\Qa.b\\E", "\\Qab"});
      default:
        return Pick({"a", "b", "ab", "ba", "abc", "ing", "A", "k", "s", "_", " ", "1", "aabb", "\n"});
    }
  }
  std::string Class() {
    std::string set = random_.Below(3) == 0 ? "[^" : "[";
    for (std::uint64_t n = 1 + random_.Below(3); n > 0; --n) {
      set += Pick({"a",   "b",      "a-c",  "A-B", "aA",        "k",          "]",   "-",           "\\n",
                   "\\d", "\\W",    "\\s",  "\\S", "[:alpha:]", "[:^space:]", "[",   "\\x00-\\x1f", "\\x80-\\xff",
                   "\\]", Letter(), "\\pN", "^",   "\\-",       "a-",         "b-b", "\\x{212a}",   "Z-a"});
    }
    return set + "]";
  }

  Random random_;
  Letters letters_;
};

// The methods of LineMatcher.
enum class Way { kLiteral, kNearLiteral, kManyLines, kLineByLine };
Way WayOf(const std::string& pattern, Letters letters) {
  const PatternFacts facts = FactsOf(pattern, letters);
  if (facts.only_literal && !facts.literal.empty()) return Way::kLiteral;
  if (facts.literal.size() >= 2) return Way::kNearLiteral;
  return facts.known && !facts.line_alone && !facts.begins_line ? Way::kManyLines : Way::kLineByLine;
}

void ExpectWhatRe2Finds(Letters letters) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Patterns patterns(seed, letters);
  int tried = 0;
  std::map<Way, int> found;
  while (tried < 4'000) {
    const std::string pattern = patterns.Next();
    if (!CompilePattern(pattern, letters)->ok()) continue;
    ++tried;
    LineMatcher matcher(pattern, letters);
    for (int i = 0; i < 4; ++i) {
      const std::string text = patterns.Text();
      const Found want = ByLine(pattern, letters, text), got = ByMatcher(matcher, text);
      if (!want.matches.empty()) ++found[WayOf(pattern, letters)];
      const std::string what = testing::PrintToString(pattern) + " in " + testing::PrintToString(text);
      ASSERT_EQ(got.matches, want.matches) << what;
      ASSERT_EQ(got.lines, want.lines) << what;
    }
  }
  for (const Way way : {Way::kLiteral, Way::kNearLiteral, Way::kManyLines, Way::kLineByLine})
    EXPECT_GT(found[way], 100);
}

TEST(LineMatcherTest, FindsWhatRe2FindsLineByLineInLetters) { ExpectWhatRe2Finds(kUtf8); }
TEST(LineMatcherTest, FindsWhatRe2FindsLineByLineInBytes) { ExpectWhatRe2Finds(kBytes); }

// By hand, as GNU grep 3.8 finds it in a locale of UTF-8.
TEST(LineMatcherTest, ALetterIsNeverCut) {
  const auto matches = [](const char* pattern, std::string_view text) { return ByMatcher(pattern, text).matches; };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(matches("caf.", "un caf\xc3\xa9 noir\n"), (Texts{"caf\xc3\xa9"}));
  EXPECT_EQ(matches("[\xc3\xa9\xc3\xa8]", "\xc3\xa4 \xc3\xa9\n"), (Texts{"\xc3\xa9"}))
      << "not the first half of another";
  EXPECT_EQ(matches("(?i)\xc3\x89", "\xc3\xa9 \xe3\xa9\xb0\n"), (Texts{"\xc3\xa9"})) << "nor the last of one";
  EXPECT_EQ(ByMatcher("^.$", "\xc3\xa9\n").lines, (Texts{"\xc3\xa9"}));
  EXPECT_EQ(ByMatcher("^..$", "\xc3\xa9\n").lines, Texts{});
  EXPECT_EQ(matches("x{0}.", "\xf0\x9f\x98\x80\xe2\x82\xac"), (Texts{"\xf0\x9f\x98\x80", "\xe2\x82\xac"}));
  EXPECT_EQ(matches("[^a]", "\xe2\x82\xac\n"), (Texts{"\xe2\x82\xac"}));
  EXPECT_EQ(matches("\\pL+", "na\xc3\xafve 12"), (Texts{"na\xc3\xafve"}));
}

TEST(LineMatcherTest, BytesThatAreNoLetterAreInNoMatchAndHideNone) {
  using Texts = std::vector<std::string>;
  const std::string text =
      "a\xff"
      "b caf\xe9 caf\xc3\xa9\n\xc3\n";
  EXPECT_EQ(ByMatcher("caf.", text).matches, (Texts{"caf\xc3\xa9"}));
  EXPECT_EQ(ByMatcher("b", text).lines, (Texts{"a\xff"
                                               "b caf\xe9 caf\xc3\xa9"}))
      << "a line comes as it is";
  EXPECT_EQ(ByMatcher("^.$", text).lines, Texts{});
  EXPECT_EQ(ByMatcher(".", "\xff\xc3\n").matches, Texts{});
  EXPECT_EQ(ByMatcher("\\C", "\xff\n").matches, (Texts{"\xff"}));
}

TEST(LineMatcherTest, InBytesEachIsALetter) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(ByMatcher("caf.", "caf\xc3\xa9\n", kBytes).matches, (Texts{"caf\xc3"}));
  EXPECT_EQ(ByMatcher("^..$", "\xc3\xa9\n", kBytes).lines, (Texts{"\xc3\xa9"}));
  // Whether (?i) goes for bytes beyond ASCII is another thing in each release of RE2.
  EXPECT_EQ(ByMatcher("(?i)b\xe9", "B\xe9\n", kBytes).matches, (Texts{"B\xe9"}));
}

// By hand: ends of lines that are ends of the text, or beside each other, and what would match across them.
TEST(LineMatcherTest, ANewlineIsPartOfNoLine) {
  const std::string text = "ab\n\nb\r\nabab";
  const auto lines = [&](const char* pattern) { return ByMatcher(pattern, text).lines; };
  const auto matches = [&](const char* pattern) { return ByMatcher(pattern, text).matches; };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(lines("^$"), (Texts{""}));
  EXPECT_EQ(lines("b$"), (Texts{"ab", "abab"}));
  EXPECT_EQ(lines(""), (Texts{"ab", "", "b\r", "abab"}));
  EXPECT_EQ(matches("[^x]+"), (Texts{"ab", "b\r", "abab"}));
  EXPECT_EQ(matches("b\\s*"), (Texts{"b", "b\r", "b", "b"}));
  EXPECT_EQ(matches("(?s)b.*"), (Texts{"b", "b\r", "bab"}));
  EXPECT_EQ(matches("ab(\n|\\z)"), (Texts{"ab", "ab"}));
  EXPECT_EQ(matches("ab(?s:\\C*)"), (Texts{"ab", "abab"}));
  EXPECT_EQ(matches("^ab"), (Texts{"ab", "ab"}));
  EXPECT_EQ(ByMatcher("^$", "\n").lines, (Texts{""}));
  EXPECT_EQ(ByMatcher("^$", "a\n").lines, Texts{});
}

TEST(WordMemoTest, WordsAreTheSameWhenTheirBytesAre) {
  Random random(5);
  std::map<std::string, WordMemo::Word> words;
  for (int i = 0; i < 3'000; ++i) {
    std::string text(1 + random.Below(i % 2 == 0 ? 5 : WordMemo::kLongest), 'a');
    for (int n = 0; n < 3; ++n) text[random.Below(text.size())] = "ab\0"[random.Below(3)];
    words[text] = WordMemo::WordOf(text);
  }
  for (const auto& [text, word] : words) {
    for (const auto& [other, same] : words) ASSERT_EQ(word == same, text == other) << text << " " << other;
  }
}

}  // namespace
}  // namespace millrace::examples
