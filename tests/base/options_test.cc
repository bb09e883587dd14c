// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/file.h"
#include "base/units.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Config {
  std::string directory;
  std::string codec;
  bool speculate = false;
  std::int64_t slots = 0;
  double slack = 0;
  std::uint64_t buffer = 0;
  Micros wait = 0;
};

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    set_.Text("worker.directory", &config_.directory, "/var/lib/x", "where blocks lie");
    set_.Choice("worker.codec", &config_.codec, "zstd", {"none", "lz4", "zstd"}, "how runs are compressed");
    set_.Bool("job.speculate", &config_.speculate, true, "second attempts");
    set_.Integer("worker.map_slots", &config_.slots, 2, 1, 1024, "map tasks at once");
    set_.Real("job.slack", &config_.slack, 1.5, 1, 10, "how slow is slow");
    set_.Bytes("worker.buffer", &config_.buffer, 64 << 20, 1 << 20, std::uint64_t{1} << 40, "sort buffer");
    set_.Duration("worker.wait", &config_.wait, 3 * kSecond, 0, std::numeric_limits<Micros>::max(), "how long");
  }

  std::string WriteToml(std::string_view text) {
    const std::string path = directory_.value().path() + "/conf.toml";
    EXPECT_TRUE(WriteFileDurably(path, text).ok());
    return path;
  }

  Result<TempDir> directory_ = TempDir::Make("options");
  Config config_;
  OptionSet set_;
};

TEST_F(OptionsTest, DeclaringSetsTheDefault) {
  EXPECT_EQ(config_.directory, "/var/lib/x");
  EXPECT_EQ(config_.codec, "zstd");
  EXPECT_TRUE(config_.speculate);
  EXPECT_EQ(config_.slots, 2);
  EXPECT_EQ(config_.slack, 1.5);
  EXPECT_EQ(config_.buffer, 67108864u);
  EXPECT_EQ(config_.wait, 3000000);
}

TEST_F(OptionsTest, SetReadsEachType) {
  for (const char* pair : {"worker.directory=/a=b c", "worker.codec=none", "job.speculate=off", "worker.map_slots=1024",
                           "job.slack=2.25", "worker.buffer=1GiB", "worker.wait=250ms"}) {
    EXPECT_TRUE(set_.SetPair(pair).ok()) << pair;
  }
  EXPECT_EQ(config_.directory, "/a=b c");
  EXPECT_EQ(config_.codec, "none");
  EXPECT_FALSE(config_.speculate);
  EXPECT_EQ(config_.slots, 1024);
  EXPECT_EQ(config_.slack, 2.25);
  EXPECT_EQ(config_.buffer, std::uint64_t{1} << 30);
  EXPECT_EQ(config_.wait, 250000);
}

TEST_F(OptionsTest, ANarrowFieldTakesNoMoreThanItsRange) {
  std::uint32_t percent = 0;
  set_.Integer("job.percent", &percent, 7, 0, 100, "how many");
  EXPECT_EQ(percent, 7u);
  EXPECT_TRUE(set_.Set("job.percent", "100").ok());
  for (const char* wrong : {"101", "-1", "4294967296"}) EXPECT_FALSE(set_.Set("job.percent", wrong).ok()) << wrong;
  EXPECT_EQ(percent, 100u);
  EXPECT_EQ(set_.List().back().range, "0 to 100");
}

TEST_F(OptionsTest, WrongValuesSayWhatIsRightAndChangeNothing) {
  const std::pair<const char*, const char*> wrong[] = {
      {"worker.codec=gzip", "none, lz4 or zstd"},
      {"job.speculate=maybe", "true"},
      {"worker.map_slots=0", "1 to 1024"},
      {"worker.map_slots=1025", "1 to 1024"},
      {"worker.map_slots=4x", "whole"},
      {"worker.map_slots=", "whole"},
      {"job.slack=nan", "number"},
      {"job.slack=0.5", "1 to 10"},
      {"worker.buffer=1K", "1MiB to 1TiB"},
      {"worker.buffer=big", "64K"},
      {"worker.wait=soon", "250ms"},
      {"worker.wait=-1s", "250ms"},
      {"worker.map_slots=99999999999999999999", "whole"},
  };
  for (const auto& [pair, hint] : wrong) {
    const Status status = set_.SetPair(pair);
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << pair;
    const std::string name(pair, std::string_view(pair).find('='));
    EXPECT_THAT(status.message(), AllOf(HasSubstr(name), HasSubstr(hint))) << pair;
  }
  EXPECT_EQ(config_.slots, 2);
  EXPECT_EQ(config_.buffer, 67108864u);
}

TEST_F(OptionsTest, UnknownNameSuggestsTheNearest) {
  const Status near = set_.Set("worker.map_slot", "4");
  EXPECT_EQ(near.code(), StatusCode::kNotFound);
  EXPECT_THAT(near.message(), HasSubstr("did you mean worker.map_slots?"));
  EXPECT_THAT(set_.Set("zzz", "4").message(), HasSubstr("--help"));
  EXPECT_EQ(set_.SetPair("worker.map_slots").code(), StatusCode::kInvalid);
}

TEST_F(OptionsTest, ListKeepsTheOrderAndItsDefaultsCanBeSet) {
  const std::vector<OptionInfo> list = set_.List();
  ASSERT_EQ(list.size(), 7u);
  EXPECT_EQ(list[0].name, "worker.directory");
  EXPECT_EQ(list[1].range, "none, lz4 or zstd");
  EXPECT_EQ(list[3].range, "1 to 1024");
  EXPECT_EQ(list[5].default_text, "64MiB");
  EXPECT_EQ(list[6].default_text, "3s");
  EXPECT_EQ(list[6].range, "at least 0s");
  for (const OptionInfo& info : list) EXPECT_TRUE(set_.Set(info.name, info.default_text).ok()) << info.name;
}

TEST_F(OptionsTest, TomlTablesArePrefixes) {
  const std::string path = WriteToml(
      "job.slack = 3\n[worker]\nmap_slots = 8 # cores\nbuffer = \"128M\"\nwait = 1.5\ncodec = 'lz4'\n[job]\nspeculate "
      "= false\n");
  // "job" is defined by a dotted key before [job], which TOML forbids.
  EXPECT_EQ(set_.LoadToml(path).code(), StatusCode::kInvalid);
  const std::string right = WriteToml(
      "[worker]\nmap_slots = 8 # cores\nbuffer = \"128M\"\nwait = 1.5\ncodec = 'lz4'\n[job]\nspeculate = "
      "false\nslack=3\n");
  const Status status = set_.LoadToml(right);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(config_.slots, 8);
  EXPECT_EQ(config_.buffer, std::uint64_t{128} << 20);
  EXPECT_EQ(config_.wait, 1500000);
  EXPECT_EQ(config_.codec, "lz4");
  EXPECT_FALSE(config_.speculate);
  EXPECT_EQ(config_.slack, 3);
}

TEST_F(OptionsTest, TomlErrorsNameFileAndLine) {
  std::string path = WriteToml("[worker]\n\nmap_slots = 5000\n");
  EXPECT_THAT(set_.LoadToml(path).message(), AllOf(HasSubstr(path + ":3:"), HasSubstr("1 to 1024")));
  path = WriteToml("[worker]\nmap_slotz = 5\n");
  EXPECT_THAT(set_.LoadToml(path).message(), AllOf(HasSubstr(path + ":2:"), HasSubstr("worker.map_slots")));
  path = WriteToml("[worker]\nmap_slots = [5]\n");
  EXPECT_THAT(set_.LoadToml(path).message(), AllOf(HasSubstr(path + ":2:"), HasSubstr("list")));
  path = WriteToml("[worker\nmap_slots = 5\n");
  EXPECT_THAT(set_.LoadToml(path).message(), AllOf(HasSubstr(path + ":1:"), HasSubstr("not TOML")));
  EXPECT_EQ(set_.LoadToml(path + ".absent").code(), StatusCode::kNotFound);
}

TEST(OptionsDeathTest, DeclaringTwiceOrOutOfRangeIsABug) {
  std::int64_t field = 0;
  OptionSet set;
  set.Integer("a", &field, 1, 0, 9, "");
  EXPECT_DEATH(set.Integer("a", &field, 1, 0, 9, ""), "declared twice: a");
  EXPECT_DEATH(set.Integer("b", &field, 10, 0, 9, ""), "default");
}

TEST(UnitsTest, Bytes) {
  const std::pair<const char*, std::uint64_t> right[] = {
      {"0", 0},           {"512", 512},          {"512B", 512},
      {"64K", 65536},     {"64kib", 65536},      {"1.5G", 1610612736},
      {"1 MiB", 1048576}, {"2T", 2199023255552}, {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()}};
  for (const auto& [text, bytes] : right) {
    const Result<std::uint64_t> parsed = ParseBytes(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, bytes) << text;
  }
  for (const char* wrong : {"", "K", "1.", ".5K", "1.5", "1e3", "-1", "+1", " 1", "1 K ", "1..5K",
                            "18446744073709551616", "99999999999T", "5 apples"}) {
    EXPECT_EQ(ParseBytes(wrong).status().code(), StatusCode::kInvalid) << wrong;
  }
}

TEST(UnitsTest, Durations) {
  const std::pair<const char*, Micros> right[] = {{"0", 0},
                                                  {"10", 10000000},
                                                  {"100us", 100},
                                                  {"250ms", 250000},
                                                  {"1.5s", 1500000},
                                                  {"5m", 300000000},
                                                  {"2h", 7200000000},
                                                  {"0.5", 500000},
                                                  {"1d", 86'400'000'000},
                                                  {"1.5d", 129'600'000'000},
                                                  {"2w", 1'209'600'000'000}};
  for (const auto& [text, micros] : right) {
    const Result<Micros> parsed = ParseDuration(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, micros) << text;
  }
  for (const char* wrong : {"", "s", "1y", "d", "1.5us", "-1s", "10S", "9999999999999h", "1h30m"}) {
    EXPECT_EQ(ParseDuration(wrong).status().code(), StatusCode::kInvalid) << wrong;
  }
}

TEST(UnitsTest, Formats) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(12), "12 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(1610612736), "1.5 GiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
  EXPECT_EQ(FormatDuration(0), "0 us");
  EXPECT_EQ(FormatDuration(12999), "12 ms");
  EXPECT_EQ(FormatDuration(3200000), "3.2 s");
  EXPECT_EQ(FormatDuration(59999999), "59.9 s");
  EXPECT_EQ(FormatDuration(250 * kSecond), "4 min 10 s");
  EXPECT_EQ(FormatDuration(7500 * kSecond), "2 h 5 min");
  EXPECT_EQ(FormatDuration(-3 * kSecond), "-3 s");
  EXPECT_EQ(FormatDuration(std::numeric_limits<Micros>::min()).front(), '-');
}

}  // namespace
}  // namespace millrace
