// SPDX-License-Identifier: Apache-2.0
// What a job emits becomes its Key and Value without loss, or its attempt fails.
#include "client/api/emitted.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

enum Plain : std::uint8_t { kPlain = 200 };

struct OwnNumber {
  operator std::uint64_t() const { return 7; }
};

TEST(EmittedTest, TheTypeItselfIsNotCopied) {
  const std::uint64_t number = 5;
  static_assert(std::is_same_v<decltype(internal::Emitted<std::uint64_t>(number, "")), const std::uint64_t&>);
  EXPECT_EQ(&internal::Emitted<std::uint64_t>(number, ""), &number);
  // The intermediate value is an object, not a reference to one that is gone.
  static_assert(std::is_same_v<decltype(internal::Emitted<std::uint64_t>(OwnNumber{}, "")), std::uint64_t>);
  static_assert(std::is_same_v<decltype(internal::Emitted<std::uint64_t>(1, "")), std::uint64_t>);
  static_assert(std::is_same_v<decltype(internal::Emitted<std::string>("text", "")), std::string>);
  EXPECT_EQ(internal::Emitted<std::uint64_t>(OwnNumber{}, ""), 7u);
}

template <class To, class From>
bool Fits(From number) {
  try {
    return static_cast<__int128>(internal::Emitted<To>(number, "Value")) == static_cast<__int128>(number);
  } catch (const std::out_of_range&) {
    return false;
  }
}

// The compiler refuses a type whose values may not fit.
struct OwnInt {
  operator int() const { return -1; }
};
static_assert(internal::EmittedAs<OwnInt, int> && !internal::EmittedAs<OwnInt, std::uint8_t>);
static_assert(!internal::EmittedAs<OwnInt, std::uint64_t> && !internal::EmittedAs<double, int>);
static_assert(internal::EmittedAs<float, double> && internal::EmittedAs<int, double>);
static_assert(!internal::EmittedAs<int, bool> && internal::EmittedAs<std::vector<bool>::reference, bool>);
static_assert(!internal::EmittedAs<int, std::optional<std::uint8_t>> && !internal::EmittedAs<int, std::string>);
static_assert(internal::EmittedAs<const char*, std::string> && internal::EmittedAs<std::string, std::string_view>);

TEST(EmittedTest, IntegersThatDoNotFitAreRefused) {
  EXPECT_TRUE(Fits<std::uint8_t>(255) && Fits<std::uint8_t>(0) && Fits<std::uint8_t>(kPlain));
  EXPECT_FALSE(Fits<std::uint8_t>(256) || Fits<std::uint8_t>(-1));
  EXPECT_TRUE(Fits<std::int8_t>(127) && Fits<std::int8_t>(-128));
  EXPECT_FALSE(Fits<std::int8_t>(128) || Fits<std::int8_t>(-129) || Fits<std::int8_t>(kPlain));
  EXPECT_TRUE(Fits<std::uint64_t>(std::int64_t{1} << 62) && Fits<std::int64_t>(std::uint64_t{1} << 62));
  EXPECT_FALSE(Fits<std::uint64_t>(std::int64_t{-1}) || Fits<std::int64_t>(~std::uint64_t{0}));
  EXPECT_TRUE(Fits<std::uint64_t>(true) && Fits<int>('x'));
}

struct Small {
  using Key = std::string_view;
  using Value = std::uint8_t;
  void Map(std::string_view line, auto& emit) { emit(std::string(line), std::stoi(std::string(line))); }
};
struct SmallSums : Small {
  static std::uint8_t Combine(std::uint8_t a, std::uint8_t) { return a; }
};
struct SmallKeys {
  using Key = std::int16_t;
  using Value = Nothing;
  void Map(std::string_view line, auto& emit) { emit(std::stol(std::string(line))); }
};

template <class J>
std::string EndOfMap(std::uint32_t reduces, const std::string& input) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<J>(), files);
  EXPECT_EQ(driver.SetUpJob(reduces), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", input)}, reduces > 0 ? driver.Path("m0") : "");
  return driver.WaitForEnd().error;
}

TEST(EmittedTest, AnAttemptThatEmitsWhatDoesNotFitFails) {
  const auto says = [](const std::string& error, const std::string& what) {
    return error.find(what) != error.npos ? "" : "it says: " + error;
  };
  const std::string too_much = "emit: 256 does not fit the job's Value, which holds 0 to 255";
  for (const std::uint32_t reduces : {0, 2}) {
    EXPECT_EQ(EndOfMap<Small>(reduces, "0\n255\n"), "");
    EXPECT_EQ(says(EndOfMap<Small>(reduces, "0\n256\n"), too_much), "");
    EXPECT_EQ(EndOfMap<SmallSums>(reduces, "0\n255\n"), "");
    EXPECT_EQ(says(EndOfMap<SmallSums>(reduces, "0\n256\n"), too_much), "");
    EXPECT_EQ(EndOfMap<SmallKeys>(reduces, "-32768\n"), "");
    EXPECT_EQ(says(EndOfMap<SmallKeys>(reduces, "-32769\n"),
                   "emit: -32769 does not fit the job's Key, which holds -32768 to 32767"),
              "");
  }
}

}  // namespace
}  // namespace millrace
