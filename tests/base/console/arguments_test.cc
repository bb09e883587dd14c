// SPDX-License-Identifier: Apache-2.0
#include "base/console/arguments.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <utility>

#include "base/console/json_output.h"
#include "base/console/progress.h"
#include "base/file.h"

namespace millrace::console {
namespace {

struct Sample {
  Sample() {
    arguments.Flag("-f,--flag", &flag, "a flag");
    arguments.Text("-t,--text", &text, "a text");
    arguments.List("-D", &list, "a list");
    arguments.Integer("--count", &count, 0, 1000, "a count");
  }
  std::optional<int> Parse(const std::vector<std::string>& args) {
    const Fd sink(::memfd_create("console", MFD_CLOEXEC));
    Console console{.out = sink.get(), .err = sink.get()};
    const auto status = arguments.Parse(args, console, 1, 3);
    said.resize(FileSize(sink.get(), "memory").value());
    EXPECT_TRUE(ReadExactlyAt(sink.get(), said.data(), said.size(), 0, "memory").ok());
    return status;
  }
  Arguments arguments{"try", "A [B [C]]", "Tries."};
  bool flag = false;
  std::string text, said;
  std::vector<std::string> list;
  std::int64_t count = -7;
};

using Words = std::vector<std::string>;

TEST(ArgumentsTest, OptionsStandAnywhere) {
  Sample sample;
  EXPECT_EQ(sample.Parse({"a", "-f", "--text", "t", "b", "-D", "x=1", "-D", "[y,z]", "--count=12", "c"}), std::nullopt);
  EXPECT_TRUE(sample.flag);
  EXPECT_EQ(sample.text, "t");
  EXPECT_EQ(sample.list, (Words{"x=1", "[y,z]"}));
  EXPECT_EQ(sample.count, 12);
  EXPECT_EQ(sample.arguments.operands(), (Words{"a", "b", "c"}));
}

TEST(ArgumentsTest, OperandsAreTheBytesThatTheyAre) {
  Sample sample;
  EXPECT_EQ(sample.Parse({"[a,b]", "-", "new\nline"}), std::nullopt);
  EXPECT_EQ(sample.arguments.operands(), (Words{"[a,b]", "-", "new\nline"}));
}

TEST(ArgumentsTest, AListTakesOneWordAtATime) {
  Sample sample;
  EXPECT_EQ(sample.Parse({"-D", "x=1", "a"}), std::nullopt);
  EXPECT_EQ(sample.arguments.operands(), Words{"a"});
}

TEST(ArgumentsTest, NegativeAndTooLargeNumbersAreNamed) {
  for (const std::string number : {"-1", "1001", "many", ""}) {
    Sample sample;
    EXPECT_EQ(sample.Parse({"a", "--count", number}), 2) << number;
    EXPECT_NE(sample.said.find(number), std::string::npos) << sample.said;
    EXPECT_EQ(std::count(sample.said.begin(), sample.said.end(), '\n'), 1) << sample.said;
  }
}

TEST(ArgumentsTest, MistakesAreNamedInPlainWords) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"a", "--count"}, "--count needs a value"},
      {{"a", "--count="}, "--count needs a value"},
      {{"a", "--count", "1", "--count", "2"}, "--count is given 2 times; give it once"},
      {{"a", "-3"}, "\"-3\" is no option, and nothing here takes a number below 0"},
      {{"a", "\u2013-count", "1"}, "begins with a dash that is not the - of options"},
      {{"a", "\u2014count"}, "begins with a dash that is not the - of options"},
  };
  for (const auto& [args, message] : cases) {
    Sample sample;
    EXPECT_EQ(sample.Parse(args), 2) << message;
    EXPECT_NE(sample.said.find(message), std::string::npos) << sample.said;
  }
  EXPECT_EQ(Sample().Parse({"--", "\u2013-count"}), std::nullopt) << "a name may begin so";
}

TEST(ArgumentsTest, TooFewAndTooMany) {
  EXPECT_EQ(Sample().Parse({}), 2);
  EXPECT_EQ(Sample().Parse({"a", "b", "c", "d"}), 2);
}

// The command line of a daemon with one option and one flag.
struct Daemon {
  Daemon() {
    options.Integer("try.count", &count, 3, 1, 9, "a count");
    options.Text("try.text", &text, "", "a text");
    arguments.Settings(&options);
    arguments.Flag("--init", &init, "a flag");
  }
  std::optional<int> Parse(const std::vector<std::string>& args) {
    const Fd out(::memfd_create("out", MFD_CLOEXEC));
    const Fd err(::memfd_create("err", MFD_CLOEXEC));
    const auto status = arguments.Parse(args, {.out = out.get(), .err = err.get()}, 0, 0);
    printed = TextOf(out.get());
    said = TextOf(err.get());
    return status;
  }
  static std::string TextOf(int fd) {
    std::string text(FileSize(fd, "memory").value(), '\0');
    EXPECT_TRUE(ReadExactlyAt(fd, text.data(), text.size(), 0, "memory").ok());
    return text;
  }
  OptionSet options;
  Arguments arguments{"try", "", "Tries."};
  std::int64_t count = 0;
  bool init = false;
  std::string text, printed, said;
};

TEST(ArgumentsTest, SettingsOfTheCommandLineStandAboveThoseOfTheFile) {
  const Fd file(::memfd_create("settings", MFD_CLOEXEC));
  ASSERT_TRUE(WriteOut(file.get(), "[try]\ncount = 5\ntext = \"of the file\"\n").ok());
  Daemon daemon;
  EXPECT_EQ(daemon.Parse({"--set", "try.count=7", "--init", "--config", "/proc/self/fd/" + std::to_string(file.get())}),
            std::nullopt);
  EXPECT_EQ(daemon.count, 7);
  EXPECT_EQ(daemon.text, "of the file");
  EXPECT_TRUE(daemon.init);
  EXPECT_EQ(daemon.said, "");
}

TEST(ArgumentsTest, TheHelpOfADaemonListsItsSettings) {
  Daemon daemon;
  EXPECT_EQ(daemon.Parse({"--help"}), 0);
  const std::string end =
      "For --set and for the file, with default and range:\n"
      "  try.count  (3; 1 to 9)  a count\n"
      "  try.text  (empty)  a text\n\n";
  EXPECT_TRUE(daemon.printed.ends_with(end)) << daemon.printed;
}

TEST(ArgumentsTest, AWrongCommandLineOfADaemonIsOneLine) {
  const std::string hint =
      "; options are given as --set NAME=VALUE or in --config FILE (millrace try --help lists them)\n";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--set", "try.count=10"}, "millrace: try: option try.count: 10 is not within 1 to 9\n"},
      {{"--try.count", "4"}, "millrace: try: unknown option \"--try.count\"" + hint},
      {{"--set"}, "millrace: try: --set needs a value" + hint},
      {{"--conf", "x"}, "millrace: try: unknown option \"--conf\"; did you mean --config?\n"},
      {{"count=4"},
       "millrace: try: unexpected argument \"count=4\"; usage: millrace try [--config FILE] [--set NAME=VALUE]...\n"},
      {{"--config", "/nowhere/at/all"}, "millrace: try: open /nowhere/at/all: No such file or directory\n"},
  };
  for (const auto& [args, message] : cases) {
    Daemon daemon;
    EXPECT_EQ(daemon.Parse(args), 2) << args[0];
    EXPECT_EQ(daemon.said, message);
    EXPECT_EQ(daemon.printed, "");
  }
}

TEST(JsonOutputTest, BytesThatAreNotUtf8ArePercentEncoded) {
  nlohmann::ordered_json object;
  SetBytes(object, "p", "a\xc3\xa4%");
  SetBytes(object, "q", "a\xc3%/ ");
  EXPECT_EQ(object.dump(), "{\"p\":\"a\xc3\xa4%\",\"q\":\"a%C3%25/%20\",\"q_encoding\":\"percent\"}");
}

// DEL, CSI (C1), LINE SEPARATOR and RIGHT-TO-LEFT OVERRIDE are escaped; letters stay.
TEST(JsonOutputTest, NoNameControlsATerminal) {
  const std::string name =
      "\x1b[1m\x7f \xc2\x9b"
      "31m \xe2\x80\xa8 \xe2\x80\xae \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80";
  nlohmann::ordered_json object;
  SetBytes(object, "n", name);
  const std::string json = Dump(object);
  EXPECT_EQ(json, "{\"n\":\"\\u001b[1m\\u007f \\u009b31m \\u2028 \\u202e \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"}");
  EXPECT_EQ(nlohmann::ordered_json::parse(json).at("n"), name);
}

TEST(ProgressTest, BarsAreAsWideAsAsked) {
  EXPECT_EQ(Bar(0, 12), "[>         ]");
  EXPECT_EQ(Bar(0.5, 12), "[=====>    ]");
  EXPECT_EQ(Bar(1, 12), "[==========]");
  EXPECT_EQ(Bar(7, 12), "[==========]");
}

TEST(ProgressTest, RateNeedsTime) {
  EXPECT_EQ(FormatRate(1 << 20, 0), "-");
  EXPECT_EQ(FormatRate(1 << 20, kSecond / 2), "2 MiB/s");
}

TEST(ConsoleTest, TimesAreUtc) {
  EXPECT_EQ(FormatTime(0), "-");
  EXPECT_EQ(FormatTime(Micros{951782399} * kSecond), "2000-02-28 23:59:59");
}

TEST(ConsoleTest, AnErrorIsOneLine) {
  const Fd sink(::memfd_create("console", MFD_CLOEXEC));
  SayError({.err = sink.get()}, "fs put", Invalid("two\nlines\r"));
  std::string said(FileSize(sink.get(), "memory").value(), '\0');
  ASSERT_TRUE(ReadExactlyAt(sink.get(), said.data(), said.size(), 0, "memory").ok());
  EXPECT_EQ(said, "millrace: fs put: two\\nlines\\x0d\n");
}

// The forms in which other programs take options.
struct Foreign {
  Foreign() {
    arguments.Text("-n,--name", &name, "a name");
    arguments.Text("--size", &size, "a size");
    arguments.Flag("--print0", &print, "a flag");
  }
  int Parse(const std::vector<std::string>& args) {
    const Fd sink(::memfd_create("console", MFD_CLOEXEC));
    const int status = arguments.Parse(args, {.out = sink.get(), .err = sink.get()}, 0, 9).value_or(0);
    said = Daemon::TextOf(sink.get());
    return status;
  }
  Arguments arguments{"try", "", "Tries."};
  std::string name, size, said;
  bool print = false, human = false;
};

TEST(ArgumentsTest, LongOptionsMayHaveOneDashWhereThatIsTheCustom) {
  Foreign as_find;
  as_find.arguments.OneDash();
  EXPECT_EQ(as_find.Parse({"/a", "-name", "*.log", "-size", "-10M", "-print0", "/b"}), 0);
  EXPECT_EQ(as_find.name, "*.log");
  EXPECT_EQ(as_find.size, "-10M");
  EXPECT_TRUE(as_find.print);
  EXPECT_EQ(as_find.arguments.operands(), (Words{"/a", "/b"}));
  Foreign wrong;
  wrong.arguments.OneDash();
  EXPECT_EQ(wrong.Parse({"-delete"}), 2);
  Foreign other;
  EXPECT_EQ(other.Parse({"-name", "x"}), 0);
  EXPECT_EQ(other.name, "ame") << "elsewhere it is the option -n with its value";
}

TEST(ArgumentsTest, AnOperandMayBeginWithADashWhereThatIsTheCustom) {
  Foreign as_chmod;
  as_chmod.arguments.DashedOperands([](std::string_view word) { return word == "-x"; });
  EXPECT_EQ(as_chmod.Parse({"-x", "/a"}), 0);
  EXPECT_EQ(as_chmod.arguments.operands(), (Words{"-x", "/a"}));
  Foreign other;
  EXPECT_EQ(other.Parse({"-x", "/a"}), 2);
}

TEST(ArgumentsTest, SizesForPeopleTakeTheLetterOfTheHelp) {
  for (const char* word : {"-h", "-H", "--human"}) {
    Foreign as_ls;
    as_ls.arguments.Human(&as_ls.human);
    EXPECT_EQ(as_ls.Parse({word}), 0);
    EXPECT_TRUE(as_ls.human) << word;
    EXPECT_EQ(as_ls.said, "");
  }
  Foreign help;
  help.arguments.Human(&help.human);
  EXPECT_EQ(help.Parse({"--help"}), 0);
  EXPECT_NE(help.said.find("-h,-H,--human"), std::string::npos) << help.said;
}

TEST(ArgumentsTest, AnOptionInAWrongPlaceIsToldWhereItStands) {
  Foreign leading;
  EXPECT_EQ(leading.Parse({"--master=a:1"}), 2);
  EXPECT_NE(leading.said.find("stands before the command, as in: millrace --master ... try"), std::string::npos)
      << leading.said;
}

TEST(ArgumentsTest, AnUnknownVerbIsTakenForASynonymBeforeALikeWord) {
  const std::vector<std::string> verbs{"fs", "run"};
  constexpr Synonym kSynonyms[] = {{"ps", "job list"}};
  EXPECT_EQ(UnknownVerb("ps", verbs, kSynonyms).message(), "no command \"ps\"; did you mean job list?");
  EXPECT_EQ(UnknownVerb("ps", verbs).message(), "no command \"ps\"; did you mean fs?");
  constexpr Synonym kDrain[] = {{"drain", "decommission"}};
  EXPECT_EQ(UnknownVerb("drian", verbs, kDrain).message(), "no command \"drian\"; did you mean decommission?");
  EXPECT_EQ(UnknownVerb("nonsense", verbs, kSynonyms).message(), "no command \"nonsense\"; there are fs, run");
}

}  // namespace
}  // namespace millrace::console
