// SPDX-License-Identifier: Apache-2.0
#include "base/field.h"

#include <gtest/gtest.h>

#include <limits>

namespace millrace {
namespace {

TEST(Field, WhatItGivesItTakes) {
  double real = 0.1;
  std::int64_t integer = std::numeric_limits<std::int64_t>::min();
  std::uint64_t bytes = (std::uint64_t{3} << 20) + 1;
  Micros wait = 1'234'567;
  bool flag = true;
  std::string text = " a \"b\" ";
  constexpr double kNoBound = std::numeric_limits<double>::infinity();
  const Field fields[] = {
      RealField(&real, -kNoBound, kNoBound),
      IntegerField(&integer, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
      BytesField(&bytes, 0, std::numeric_limits<std::uint64_t>::max()),
      DurationField(&wait, 0, std::numeric_limits<Micros>::max()),
      BoolField(&flag),
      TextField(&text)};
  for (const Field& field : fields) {
    const std::string given = field.get().value();
    EXPECT_TRUE(field.set(given).ok()) << given;
    EXPECT_EQ(field.get(), given);
  }
  EXPECT_EQ(real, 0.1);
  EXPECT_EQ(integer, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(bytes, 3145729U);
  EXPECT_EQ(wait, 1'234'567);
  EXPECT_EQ(text, " a \"b\" ");
}

TEST(Field, WhatIsNotSetIsNothing) {
  std::optional<std::uint32_t> count;
  std::optional<Micros> wait;
  std::optional<bool> flag;
  const Field of_count = IntegerField(&count, 0, 9), of_wait = DurationField(&wait, 0, kSecond),
              of_flag = BoolField(&flag);
  for (const Field* field : {&of_count, &of_wait, &of_flag}) EXPECT_EQ(field->get(), std::nullopt);
  EXPECT_TRUE(of_count.set("7").ok());
  EXPECT_TRUE(of_wait.set("250ms").ok());
  EXPECT_TRUE(of_flag.set("off").ok());
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(wait, 250'000);
  EXPECT_EQ(flag, false);
}

TEST(Field, ANumberMayBeLeftToTheProgram) {
  std::int64_t slots = 7;
  const Field field = IntegerOrAutoField(&slots, 0, 1024);
  EXPECT_EQ(field.range, "auto, or 0 to 1024");
  EXPECT_TRUE(field.set("auto").ok());
  EXPECT_EQ(slots, kAuto);
  EXPECT_EQ(field.get(), "auto");
  EXPECT_TRUE(field.set("0").ok());
  EXPECT_EQ(slots, 0);
  EXPECT_EQ(field.get(), "0");
  for (const char* text : {"-1", "1025", "Auto", "automatic", ""}) EXPECT_FALSE(field.set(text).ok()) << text;
  EXPECT_EQ(slots, 0);
  EXPECT_EQ(field.set("-1").message(), "-1 is not within 0 to 1024, nor is it auto");
}

TEST(Field, WholeNumbersMayHaveAPoint) {
  std::uint32_t count = 0;
  const Field field = IntegerField(&count, 0, 1'000'000);
  for (const char* text : {"1000", "1e3", "1000.0"}) {
    EXPECT_TRUE(field.set(text).ok()) << text;
    EXPECT_EQ(count, 1000U);
  }
  EXPECT_EQ(field.set("1.5").message(), "1.5 is not a whole number");
  EXPECT_EQ(field.set("1e30").message(), "1e30 is not a whole number of 64 bits");
  EXPECT_EQ(field.set("4294967296").message(), "4294967296 is not within 0 to 1000000");
}

TEST(Field, RangesReadAsWords) {
  constexpr double kNoBound = std::numeric_limits<double>::infinity();
  double real = 1;
  EXPECT_EQ(RealField(&real, 0, kNoBound, true).range, "above 0");
  EXPECT_EQ(RealField(&real, 0, 2, true).range, "above 0, at most 2");
  EXPECT_EQ(RealField(&real, 1, kNoBound).range, "at least 1");
  EXPECT_EQ(RealField(&real, -kNoBound, 9).range, "at most 9");
  EXPECT_EQ(RealField(&real, 0, 1).range, "0 to 1");
  EXPECT_EQ(RealField(&real, 0, kNoBound, true).set("-1").message(), "-1 is not above 0");
  EXPECT_EQ(RealField(&real, 0, 1).set("1.5").message(), "1.5 is not within 0 to 1");
  EXPECT_EQ(RealField(&real, 0, 1).set("nan").message(), "nan is not a number");
  EXPECT_EQ(real, 1);
}

TEST(Field, ABandwidthIsANumberOrASize) {
  double rate = 0;
  const Field field = BandwidthField(&rate, 1);
  EXPECT_TRUE(field.set("2.5e8").ok());
  EXPECT_EQ(rate, 2.5e8);
  EXPECT_TRUE(field.set("1M").ok());
  EXPECT_EQ(rate, 1048576);
  EXPECT_EQ(field.set("0").message(), "0 is not at least 1");
  EXPECT_FALSE(field.set("fast").ok());
}

}  // namespace
}  // namespace millrace
