// SPDX-License-Identifier: Apache-2.0
#include "base/toml_file.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string WhyNot(const std::string& text) { return ReadToml(text, "f.toml").status().message(); }

// The parser recurses into these, to the end of its stack.
TEST(TomlFileTest, DeepNestingIsRefusedBeforeItIsParsed) {
  constexpr const char* kParts =
      "f.toml:2: nested too deeply: a key has at most 32 parts, and at most 64 brackets are open at a time";
  EXPECT_EQ(WhyNot("a = 1\n" + Repeated("a.", 30'000) + "b = 1\n"), kParts);
  EXPECT_EQ(WhyNot("a = 1\n[" + Repeated("a.", 30'000) + "b]\n"), kParts);
  EXPECT_EQ(WhyNot("a = 1\n" + Repeated("'a' . ", 5'000) + "b = 1\n"), kParts);
  EXPECT_EQ(WhyNot("a = 1\nx = " + Repeated("[", 30'000)), kParts);
  EXPECT_EQ(WhyNot("a = 1\nx = " + Repeated("{a=", 3'000)), kParts);
  EXPECT_EQ(WhyNot("a = 1\nx = " + Repeated("[\n", 70)).substr(0, 8), "f.toml:6");
}

TEST(TomlFileTest, LongLinesAreRefused) {
  EXPECT_EQ(WhyNot("a = 1\nb = \"" + std::string(100'000, 'x') + "\"\n"),
            "f.toml:2: not TOML: a line has more than 64 KiB");
  EXPECT_EQ(WhyNot("b = \"" + std::string(60'000, 'x') + "\"\n"), "");
}

TEST(TomlFileTest, DotsAndBracketsThatNestNothingAreTaken) {
  const std::string many = Repeated(".[{", 1000);
  EXPECT_EQ(WhyNot("a = \"" + many + "\"\nb = '" + many + "'\nc = \"\"\"\n" + many + "\n\"x\" " + many +
                   "\"\"\"\nd = '''\n" + many + "\n'''\n# " + many + "\ne = \"\\\"" + many + "\"\n"),
            "");
  EXPECT_EQ(WhyNot("a = [" + Repeated("0.5, ", 1000) + "]\n"), "");
  EXPECT_EQ(WhyNot(Repeated("a.", 31) + "b = 1\n"), "");
  EXPECT_EQ(WhyNot("x = " + Repeated("[", 64) + Repeated("]", 64) + "\n"), "");
}

}  // namespace
}  // namespace millrace
