// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/pattern.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

bool Matches(std::string_view pattern, std::string_view name) { return NamePattern(pattern).Matches(name); }

TEST(NamePatternTest, StarsAndQuestionMarks) {
  for (const char* pattern : {"*", "a*", "*c", "a*c", "abc", "a?c", "???", "*?*?*?*", "a**c", "*b*", "*abc*"})
    EXPECT_TRUE(Matches(pattern, "abc")) << pattern;
  for (const char* pattern : {"", "a", "ab", "abcd", "?", "????", "b*", "*b", "a*d", "A*", "*?*?*?*?"})
    EXPECT_FALSE(Matches(pattern, "abc")) << pattern;
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("", ""));
  EXPECT_FALSE(Matches("?", ""));
}

// As glob(7) and bash have them.
TEST(NamePatternTest, SetsOfLetters) {
  for (const char* pattern : {"[b]", "[abc]", "[a-c]", "[!a]", "[^a]", "[b-b]", "[xb-]", "[-b]", "[]b]", "[!]]",
                              "[[:lower:]]", "[[:alpha:][:digit:]]", "[\\b]", "[[b]"})
    EXPECT_TRUE(Matches(pattern, "b")) << pattern;
  for (const char* pattern :
       {"[a]", "[c-z]", "[!b]", "[^a-c]", "[c-a]", "[[:digit:]]", "[!]b]", "[B]", "[]", "[b", "[!b"})
    EXPECT_FALSE(Matches(pattern, "b")) << pattern;
  EXPECT_TRUE(Matches("[]]", "]"));
  EXPECT_TRUE(Matches("[a-]", "-"));
  EXPECT_TRUE(Matches("[]-a]", "_")) << "a range that begins with a bracket";
  EXPECT_TRUE(Matches("[!-a]", "b"));
  EXPECT_TRUE(Matches("[\\]]", "]"));
  EXPECT_TRUE(Matches("[*]", "*"));
  EXPECT_FALSE(Matches("[*]", "x"));
  EXPECT_TRUE(Matches("[ab", "[ab")) << "a bracket without its end is itself";
}

TEST(NamePatternTest, ALetterIsACharacterOrAByteThatBelongsToNone) {
  EXPECT_TRUE(Matches("caf?", "caf\xc3\xa9"));
  EXPECT_FALSE(Matches("caf??", "caf\xc3\xa9"));
  EXPECT_TRUE(Matches("[\xc3\xa9\xc3\xa8]", "\xc3\xa8"));
  EXPECT_FALSE(Matches("[\xc3\xa9\xc3\xa8]", "\xc3\xa4"));
  EXPECT_TRUE(Matches("[\xd0\xb0-\xd1\x8f]?", "\xd0\xb6\xf0\x9f\x98\x80"));
  EXPECT_FALSE(Matches("*\xa9", "\xc3\xa9")) << "half a letter";
  EXPECT_TRUE(Matches("caf?", "caf\xe9"));
  EXPECT_TRUE(Matches("caf\xe9", "caf\xe9"));
  EXPECT_TRUE(Matches("[\xe0-\xef]", "\xe9"));
  EXPECT_FALSE(Matches("[\xe0-\xef]", "\xc3\xa9"));
}

TEST(NamePatternTest, ABackslashTakesTheMeaningOfWhatFollows) {
  EXPECT_TRUE(Matches("a\\*", "a*"));
  EXPECT_FALSE(Matches("a\\*", "ab"));
  EXPECT_TRUE(Matches("\\?\\[x\\]\\{\\}\\,\\\\*", "?[x]{},\\..."));
  EXPECT_TRUE(Matches("a\\b*", "a\\bc")) << "no other letter has a meaning";
  EXPECT_TRUE(Matches("*\\", "a\\"));
  EXPECT_EQ(NamePattern("a\\*\\b").text(), "a*\\b");
  EXPECT_TRUE(NamePattern("a\\*\\b").literal());
  EXPECT_FALSE(NamePattern("a*").literal());
  EXPECT_FALSE(NamePattern("[a]").literal());
  EXPECT_TRUE(NamePattern("[a").literal());
}

// Tries everything.
bool Slow(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') return Slow(pattern.substr(1), name) || (!name.empty() && Slow(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) && Slow(pattern.substr(1), name.substr(1));
}

TEST(NamePatternTest, MatchesWhatTryingEverythingMatches) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int matched = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string pattern, name;
    for (std::uint64_t n = random.Below(8); n > 0; --n) pattern += "ab*?*"[random.Below(5)];
    for (std::uint64_t n = random.Below(10); n > 0; --n) name += "ab"[random.Below(2)];
    ASSERT_EQ(Matches(pattern, name), Slow(pattern, name)) << pattern << " " << name;
    matched += Matches(pattern, name) ? 1 : 0;
  }
  EXPECT_GT(matched, 1000);
}

TEST(NamePatternTest, ManyStarsTakeNoLonger) {
  std::string pattern, name(255, 'a');
  for (int i = 0; i < 120; ++i) pattern += "*a";
  EXPECT_FALSE(Matches(pattern + "*b", name)) << "one that tried everything would not end";
  EXPECT_TRUE(Matches(pattern + "*", name));
}

TEST(AlternativesTest, BracesStandForEachOfTheirTexts) {
  const auto of = [](std::string_view pattern) { return AlternativesOf(pattern).value(); };
  EXPECT_THAT(of("a"), ElementsAre("a"));
  EXPECT_THAT(of("a{b,c}d"), ElementsAre("abd", "acd"));
  EXPECT_THAT(of("{a,b}{1,2}"), ElementsAre("a1", "a2", "b1", "b2"));
  EXPECT_THAT(of("{a,b{c,d}}"), ElementsAre("a", "bc", "bd"));
  EXPECT_THAT(of("/l/{2023/x,2024/{y,z}}.log"), ElementsAre("/l/2023/x.log", "/l/2024/y.log", "/l/2024/z.log"));
  EXPECT_THAT(of("a{,b}"), ElementsAre("a", "ab"));
  for (const char* itself : {"{a}", "{}", "{a", "a}", "a,b", "\\{a,b}", "{a\\,b}", "{a,b\\}", "}{"})
    EXPECT_THAT(of(itself), ElementsAre(itself));
  EXPECT_THAT(of("{{a,b}"), ElementsAre("{a", "{b"));
  EXPECT_THAT(of("{a{b,c}}"), ElementsAre("{ab}", "{ac}"));
  EXPECT_THAT(of("{a\\,b,c}"), ElementsAre("a\\,b", "c"));
  EXPECT_EQ(of("{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}").size(), 1024u);
  const Status many = AlternativesOf("{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}").status();
  EXPECT_EQ(many.code(), StatusCode::kInvalid);
  EXPECT_THAT(many.message(), HasSubstr("more than 1024"));
  EXPECT_THAT(of(std::string(4000, '{')), ElementsAre(std::string(4000, '{')));
}

// Directories are those of the files.
class Tree final : public PathTree {
 public:
  explicit Tree(const std::set<std::string>& files) {
    for (const std::string& file : files) {
      std::string path;
      for (const std::string_view name : SplitPath(file)) {
        names_[path.empty() ? "/" : path].insert(std::string(name));
        path += "/" + std::string(name);
        there_.insert(path);
      }
    }
  }
  Result<std::string> Canonical(std::string_view path) override { return CanonicalPath(path); }
  Result<bool> Exists(const std::string& path) override { return there_.contains(path); }
  Result<std::vector<std::string>> NamesIn(const std::string& directory) override {
    if (denied == directory) return Denied("no");
    return std::vector<std::string>(names_[directory].begin(), names_[directory].end());
  }
  std::string denied;

 private:
  std::map<std::string, std::set<std::string>> names_;
  std::set<std::string> there_;
};

std::vector<std::string> Expanded(Tree& tree, std::string_view path, Hidden hidden = Hidden::kDots) {
  const auto found = ExpandPattern(tree, path, hidden);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? *found : std::vector<std::string>();
}

TEST(ExpandPatternTest, APatternIsAllThatItMatches) {
  Tree tree({"/d/a*", "/d/ab", "/d/b", "/e/ab", "/e/sub/x"});
  EXPECT_THAT(Expanded(tree, "/d/a*"), ElementsAre("/d/a*", "/d/ab"));
  EXPECT_THAT(Expanded(tree, "/d/a\\*"), ElementsAre("/d/a*"));
  EXPECT_THAT(Expanded(tree, "/*/ab"), ElementsAre("/d/ab", "/e/ab"));
  EXPECT_THAT(Expanded(tree, "/?/*"), ElementsAre("/d/a*", "/d/ab", "/d/b", "/e/ab", "/e/sub"));
  EXPECT_THAT(Expanded(tree, "/e/*/x"), ElementsAre("/e/sub/x"));
  EXPECT_THAT(Expanded(tree, "/{e,d}/{b,ab,b}"), ElementsAre("/d/ab", "/d/b", "/e/ab"));
  EXPECT_THAT(Expanded(tree, "/d/c*"), IsEmpty());
  EXPECT_THAT(Expanded(tree, "/d//a?/"), ElementsAre("/d/a*", "/d/ab"));
  EXPECT_THAT(Expanded(tree, "/d/nothing"), ElementsAre("/d/nothing")) << "it is no pattern";
}

TEST(ExpandPatternTest, OneThatMatchesNothingIsWhatBearsItAsItsName) {
  Tree tree({"/d/[ab]", "/d/{x,y}", "/d/a\\*b", "/f*/x"});
  EXPECT_THAT(Expanded(tree, "/d/[ab]"), ElementsAre("/d/[ab]"));
  EXPECT_THAT(Expanded(tree, "/d/{x,y}"), ElementsAre("/d/{x,y}"));
  EXPECT_THAT(Expanded(tree, "/d/a\\*b"), ElementsAre("/d/a\\*b"));
  EXPECT_THAT(Expanded(tree, EscapePattern("/d/a\\*b")), ElementsAre("/d/a\\*b"));
  EXPECT_THAT(Expanded(tree, EscapePattern("/d/[ab]")), ElementsAre("/d/[ab]"));
  EXPECT_THAT(Expanded(tree, EscapePattern("/d/{x,y}")), ElementsAre("/d/{x,y}"));
  Tree both({"/d/[ab]", "/d/a"});
  EXPECT_THAT(Expanded(both, "/d/[ab]"), ElementsAre("/d/a"));
  EXPECT_THAT(Expanded(both, "/d/\\[ab]"), ElementsAre("/d/[ab]"));
}

TEST(ExpandPatternTest, HiddenNamesAreMatchedByWhatBeginsLikeThem) {
  Tree tree({"/d/.x", "/d/_x", "/d/x", "/_logs/x"});
  EXPECT_THAT(Expanded(tree, "/d/*"), ElementsAre("/d/_x", "/d/x"));
  EXPECT_THAT(Expanded(tree, "/d/*", Hidden::kMarks), ElementsAre("/d/x"));
  EXPECT_THAT(Expanded(tree, "/d/[._]x", Hidden::kMarks), IsEmpty());
  EXPECT_THAT(Expanded(tree, "/d/?x", Hidden::kMarks), IsEmpty());
  EXPECT_THAT(Expanded(tree, "/d/.*", Hidden::kMarks), ElementsAre("/d/.x"));
  EXPECT_THAT(Expanded(tree, "/d/_?", Hidden::kMarks), ElementsAre("/d/_x"));
  EXPECT_THAT(Expanded(tree, "/d/{_,.,}x", Hidden::kMarks), ElementsAre("/d/.x", "/d/_x", "/d/x"));
  EXPECT_THAT(Expanded(tree, "/*/x", Hidden::kMarks), ElementsAre("/d/x"));
  EXPECT_THAT(Expanded(tree, "/_logs/?", Hidden::kMarks), ElementsAre("/_logs/x"));
}

TEST(ExpandPatternTest, WhatMayNotBeLookedAtIsNotLeftOutInSilence) {
  Tree tree({"/d/a", "/e/a"});
  tree.denied = "/e";
  EXPECT_EQ(ExpandPattern(tree, "/*/?", Hidden::kDots).status().code(), StatusCode::kDenied);
  EXPECT_EQ(ExpandPattern(tree, "/d/../*", Hidden::kDots).status().code(), StatusCode::kInvalid);
}

TEST(EscapePatternTest, WhatIsNoPatternStaysAsItIs) {
  EXPECT_EQ(EscapePattern("/a/b"), "/a/b");
  EXPECT_EQ(EscapePattern("/a\\b"), "/a\\b");
  EXPECT_EQ(EscapePattern("/a*b"), "/a\\*b");
}

TEST(EscapePatternTest, WhatIsEscapedStandsForItselfAlone) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 5'000; ++i) {
    std::set<std::string> files;
    std::string name;
    for (int n = 0; n < 20; ++n) {
      name.clear();
      for (std::uint64_t size = 1 + random.Below(6); size > 0; --size) name += "ab*?[]{},\\!-^"[random.Below(13)];
      files.insert("/d/" + name);
    }
    Tree tree(files);
    ASSERT_THAT(Expanded(tree, EscapePattern("/d/" + name)), ElementsAre("/d/" + name));
  }
}

}  // namespace
}  // namespace millrace::dfs
