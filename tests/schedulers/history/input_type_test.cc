// SPDX-License-Identifier: Apache-2.0
#include "schedulers/history/input_type.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::sched {
namespace {

TEST(InputTypeTest, AWikipediaDumpIsWeb) {
  EXPECT_EQ(InputType(R"(<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.8/" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <base>http://en.wikipedia.org/wiki/Main_Page</base>
  </siteinfo>
  <page>
    <title>AccessibleComputing</title>
    <revision>
      <format>text/x-wiki</format>
      <text xml:space="preserve">#REDIRECT [[Computer accessibility]]
</text>)"),
            "web");
}

TEST(InputTypeTest, APageInOneLineIsWeb) {
  EXPECT_EQ(InputType("<!DOCTYPE html><html><head><title>x</title></head><body>"), "web");
  EXPECT_EQ(InputType("\n\n<br/><hr/><?xml version=\"1.0\"?>\n"), "web");
}

TEST(InputTypeTest, ProseNumbersAndProgramsAreText) {
  EXPECT_EQ(InputType(""), "text");
  EXPECT_EQ(InputType("It was the best of times,\nit was the worst of times,\n"), "text");
  EXPECT_EQ(InputType("1,2,<3\n4 < 5 > 3\n6<>7\n"), "text");
  EXPECT_EQ(InputType("#include <stdio.h>\n#include <sys/types.h>\n#include <a.h>\nint main() {}\n"), "text");
  EXPECT_EQ(InputType("From: <a@b.c>\nTo: <d@e.f>\nCc: <g@h.i>\n"), "text");
  EXPECT_EQ(InputType(std::string("\0\xff<\xfe>\n<a\n<b\n<c\n", 16)), "text");
}

TEST(InputTypeTest, AFewTagsInMuchTextAreNotMany) {
  std::string text = "<a>x</a> <b>y</b>\n";
  for (int line = 0; line < 10; ++line) text += "plain words\n";
  EXPECT_EQ(InputType(text), "text");                    // 4 tags in 11 lines
  EXPECT_EQ(InputType("<a>\nplain words\n"), "text");    // one tag alone is not many
  EXPECT_EQ(InputType("<a>b</a>\nplain <b>\n"), "web");  // 3 tags in 2 lines
}

TEST(InputTypeTest, OnlyTheBeginningCounts) {
  std::string text;
  for (std::size_t line = 0; line < kInputTypeLines; ++line) text += "words\n";
  for (int line = 0; line < 1000; ++line) text += "<p><p><p>\n";
  EXPECT_EQ(InputType(text), "text");
  EXPECT_EQ(InputType(std::string(kInputTypeBytes, 'x') + "<p><p><p>"), "text");
}

}  // namespace
}  // namespace millrace::sched
