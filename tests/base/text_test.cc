// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"

namespace millrace {
namespace {

TEST(QuoteTest, PlainAndUtf8StayAsTheyAre) {
  EXPECT_EQ(Quote(""), "\"\"");
  EXPECT_EQ(Quote("/a b/part-0"), "\"/a b/part-0\"");
  EXPECT_EQ(Quote("M\xc3\xbchle \xe2\x82\xac \xf0\x9f\x98\x80"), "\"M\xc3\xbchle \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(QuoteTest, ControlBytesAndWrongUtf8AreEscaped) {
  EXPECT_EQ(Quote("a\nb\tc\x1b[0m"), R"("a\nb\tc\x1b[0m")");
  EXPECT_EQ(Quote(std::string_view("\0\x7f", 2)), R"("\x00\x7f")");
  EXPECT_EQ(Quote("say \"\\\""), R"("say \"\\\"")");
  EXPECT_EQ(Quote("\xff\x80"), R"("\xff\x80")");
  EXPECT_EQ(Quote("\xc0\xaf"), R"("\xc0\xaf")");                  // overlong '/'
  EXPECT_EQ(Quote("\xed\xa0\x80"), R"("\xed\xa0\x80")");          // surrogate
  EXPECT_EQ(Quote("\xf4\x90\x80\x80"), R"("\xf4\x90\x80\x80")");  // above U+10FFFF
  EXPECT_EQ(Quote("\xe2\x82"), R"("\xe2\x82")");                  // cut off
  EXPECT_EQ(Quote("\xc2\x85"), R"("\xc2\x85")");                  // C1 control: next line
  EXPECT_EQ(Quote("\xe2\x80\xa8"), R"("\xe2\x80\xa8")");          // line separator
}

// A hostile name may hold anything, but nothing in it moves the cursor, ends the line or changes the direction of text.
constexpr std::string_view kHostile = "a\x1b[2J\r\nb\t\x07\xc2\x9b\xe2\x80\xaeltr\xff\\\"\xc3\xbc";

TEST(PrintableTest, WhatATerminalWouldObeyIsEscapedAndNothingElse) {
  EXPECT_EQ(Printable("M\xc3\xbchle \\ \"x\""), "M\xc3\xbchle \\ \"x\"");
  const std::string shown = Printable(kHostile);
  EXPECT_EQ(shown, "a\\x1b[2J\\x0d\\nb\\t\\x07\\xc2\\x9b\\xe2\\x80\\xaeltr\\xff\\\"\xc3\xbc");
  EXPECT_EQ(Printable(shown), shown) << "twice is as good as once";
}

TEST(PrintableTest, ALogHasOneLineForEachEvent) {
  Result<TempDir> directory = TempDir::Make("log");
  const std::string path = directory->path() + "/x.log";
  MakeLog("master", "", {.file = path})->info("worker {}", kHostile);
  const Result<std::string> text = ReadWholeFile(path);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(std::count(text->begin(), text->end(), '\n'), 1) << *text;
  EXPECT_EQ(text->find('\x1b'), std::string::npos);
  EXPECT_NE(text->find(Printable(kHostile)), std::string::npos) << *text;
}

TEST(CheckLengthTest, SaysWhatIsTooLongAndByHowMuch) {
  EXPECT_TRUE(CheckLength("its name", std::string(255, 'n'), kLongestName).ok());
  EXPECT_EQ(CheckLength("its name", std::string(256, 'n'), kLongestName).message(),
            "its name has 256 bytes; at most 255 are allowed");
}

TEST(QuoteTest, LongNamesAreShortenedInTheMiddle) {
  EXPECT_EQ(Quote(std::string(80, 'a')), '"' + std::string(80, 'a') + '"');
  EXPECT_EQ(Quote(std::string(2000, 'a') + std::string(2000, 'z')),
            '"' + std::string(38, 'a') + "..." + std::string(38, 'z') + "\" (4000 bytes)");
  std::string umlauts;
  for (int i = 0; i < 50; ++i) umlauts += "\xc3\xbc";
  for (const char* prefix : {"", "x"}) {
    const std::string quoted = Quote(prefix + umlauts);
    EXPECT_EQ(quoted.find('\\'), std::string::npos) << quoted;  // no character was cut in two
  }
}

TEST(NearestTest, SmallMistakesOnly) {
  const std::vector<std::string> names = {"wordcount", "grep", "invertedindex"};
  EXPECT_EQ(Nearest("wordcuont", names), "wordcount");
  EXPECT_EQ(Nearest("gerp", {"grep"}), "grep") << "two neighbours changed places";
  EXPECT_EQ(Nearest("gexp", {"grep"}), std::nullopt) << "two edits in four";
  EXPECT_EQ(Nearest("fiar", {"fifo", "fair"}), "fair");
  EXPECT_EQ(Nearest("ab", {"ba"}), "ba");
  EXPECT_EQ(Nearest("grop", names), "grep");
  EXPECT_EQ(Nearest("g", {"h"}), "h");
  EXPECT_EQ(Nearest("sort", names), std::nullopt);
  EXPECT_EQ(Nearest("", names), std::nullopt);
  EXPECT_EQ(Nearest("abc", {"abd", "abe"}), "abd");
  EXPECT_EQ(Nearest("abc", {}), std::nullopt);
}

TEST(TextTest, TheLastLines) {
  const std::string text = "one\n\nthree\nfour\n";
  EXPECT_EQ(LastLines(text, 0), "");
  EXPECT_EQ(LastLines(text, 1), "four\n");
  EXPECT_EQ(LastLines(text, 2), "three\nfour\n");
  EXPECT_EQ(LastLines(text, 3), "\nthree\nfour\n");
  EXPECT_EQ(LastLines(text, 4), text);
  EXPECT_EQ(LastLines(text, 5), text);
  EXPECT_EQ(LastLines("one\ntwo", 1), "two");
  EXPECT_EQ(LastLines("\n", 1), "\n");
  EXPECT_EQ(LastLines("\n\n", 1), "\n");
  EXPECT_EQ(LastLines("", 3), "");
}

TEST(LogTest, LevelAndFile) {
  Result<TempDir> directory = TempDir::Make("log");
  const std::string path = directory->path() + "/x.log";
  const Log log = MakeLog("master", "", {.level = "warn", .file = path});
  log->info("not this");
  log->warn("block {} has {} replicas", 7, 2);
  const Result<std::string> text = ReadWholeFile(path);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->find("not this"), std::string::npos);
  EXPECT_NE(text->find("Z warning master: block 7 has 2 replicas\n"), std::string::npos) << *text;
}

TEST(LogTest, AsJsonEachLineIsAnObject) {
  Result<TempDir> directory = TempDir::Make("log");
  const std::string path = directory->path() + "/x.log";
  const Log log = MakeLog("worker", "two \"2\"", {.format = "json", .file = path});
  log->warn("a name \\ with \"quotes\",\na break and {}", "\xff");
  const Result<std::string> text = ReadWholeFile(path);
  ASSERT_TRUE(text.ok());
  const std::string rest = text->substr(std::min(text->find(",\"level\""), text->size()));
  EXPECT_EQ(rest,
            ",\"level\":\"warning\",\"component\":\"worker\",\"node\":\"two \\\"2\\\"\","
            "\"message\":\"a name \\\\ with \\\"quotes\\\",\\\\na break and \\\\xff\"}\n");
  EXPECT_EQ(text->substr(0, 11), "{\"time\":\"20");
}

TEST(LogTest, AFileThatIsFullIsPutAsideAndTheOldestGoes) {
  Result<TempDir> directory = TempDir::Make("log");
  const std::string path = directory->path() + "/x.log";
  const Log log = MakeLog("master", "", {.file = path, .file_bytes = 4096, .old_files = 2});
  for (int i = 0; i < 400; ++i) log->info("line {} of some length, so that the file is soon full", i);
  for (const char* name : {"/x.log", "/x.1.log", "/x.2.log"}) {
    const Result<std::string> text = ReadWholeFile(directory->path() + name);
    ASSERT_TRUE(text.ok()) << name;
    EXPECT_LE(text->size(), 4096u);
  }
  EXPECT_FALSE(ReadWholeFile(directory->path() + "/x.3.log").ok());
  EXPECT_NE(ReadWholeFile(path)->find("line 399 "), std::string::npos);
}

TEST(LogTest, ALogGetsAnotherName) {
  Result<TempDir> directory = TempDir::Make("log");
  for (const char* format : {"text", "json"}) {
    const LogOptions options{.format = format, .file = directory->path() + "/" + format};
    const Log log = MakeLog("worker", "one", options);
    log->info("first");
    NameLog(log, "worker", "one (node 3%)", options);
    log->info("second");
  }
  const std::string text = *ReadWholeFile(directory->path() + "/text");
  EXPECT_NE(text.find("Z info worker one: first\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Z info worker one (node 3%): second\n"), std::string::npos) << text;
  const std::string json = *ReadWholeFile(directory->path() + "/json");
  EXPECT_NE(json.find(R"("node":"one","message":"first")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"x("node":"one (node 3%)","message":"second")x"), std::string::npos) << json;
}

TEST(LogTest, AFileThatCannotBeOpenedFallsBackToStandardError) {
  testing::internal::CaptureStderr();
  MakeLog("worker", "", {.level = "nonsense", .file = "/dev/null/x.log"})->info("still here");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("/dev/null/x.log"), std::string::npos) << text;
  EXPECT_NE(text.find("info worker: still here"), std::string::npos) << text;
  MakeSilentLog()->error("nothing");
}

}  // namespace
}  // namespace millrace
