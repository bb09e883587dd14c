#include "base/console/arguments.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

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

TEST(ArgumentsTest, TooFewAndTooMany) {
  EXPECT_EQ(Sample().Parse({}), 2);
  EXPECT_EQ(Sample().Parse({"a", "b", "c", "d"}), 2);
}

TEST(JsonOutputTest, BytesThatAreNotUtf8ArePercentEncoded) {
  nlohmann::ordered_json object;
  SetBytes(object, "p", "a\xc3\xa4%");
  SetBytes(object, "q", "a\xc3%/ ");
  EXPECT_EQ(object.dump(), "{\"p\":\"a\xc3\xa4%\",\"q\":\"a%C3%25/%20\",\"q_encoding\":\"percent\"}");
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

}  // namespace
}  // namespace millrace::console
