// SPDX-License-Identifier: Apache-2.0
// Tests the readable form of crashes: the functions and lines of an executable, which functions are the job's own, and
// their names. The mangled names are as g++ and clang write them (Itanium C++ ABI).
#include "client/process/crash_frames.h"

#include <gtest/gtest.h>
#include <link.h>

namespace here {

constexpr int kLine = __LINE__ + 1;
[[gnu::noinline]] int Sentinel(int n) {
  volatile int more = n;
  return more + 1;
}
int (*const volatile sentinel)(int) = Sentinel;

}  // namespace here

namespace millrace {
namespace {

std::uint64_t LoadBias() {
  std::uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &bias);
  return bias;
}

TEST(SourcePlacesTest, FindAFunctionOfThisProgramByItsAddress) {
  const SourcePlaces places;
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(here::sentinel) - LoadBias();
  const auto found = places.At(address);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].function, "_ZN4here8SentinelEi");
  EXPECT_EQ(found[0].file, "crash_frames_test.cc");
  EXPECT_GE(found[0].line, here::kLine);  // the compiler chooses which of its lines comes first
  EXPECT_LE(found[0].line, here::kLine + 2);
}

TEST(SourcePlacesTest, AnAddressOutsideOfTheProgramIsInNoFunction) {
  const SourcePlaces places;
  EXPECT_TRUE(places.At(1).empty());
  EXPECT_TRUE(places.At(~std::uint64_t{0} - LoadBias()).empty());
}

TEST(CrashFramesTest, FunctionsOfMillraceAndLibrariesAreNotTheJobs) {
  for (const char* own : {"_Z5Parsei", "_ZN4Boom5ParseEi", "_ZNK4Boom5ParseEi", "_ZN12_GLOBAL__N_14Boom3EndEv", "parse",
                          "_ZN8millrace8examples9WordCount3MapEv", "_ZZN4Boom3MapEvENKUlvE_clEv",
                          "_ZN4Boom3MapIN8millrace11SortEmitterIS_EEEEvRT_"})
    EXPECT_TRUE(IsOfJob(own, false)) << own;
  for (const char* other :
       {"main", "_start", "__libc_start_main", "_ZN8millrace6RunJobEv", "_ZNK8millrace6Status2okEv",
        "_ZN8millrace8internal10MapRecordsI4BoomEEvv", "_ZSt4sortIPiEvT_S1_", "_ZNSt6vectorIiE4backEv", "_ZNKSs4sizeEv",
        "_ZZN8millrace8internal3RunI4BoomEEvvENKUlvE_clEv", "_ZN2kj6Thread3runEv", "_ZN9__gnu_cxx3fooEv"})
    EXPECT_FALSE(IsOfJob(other, false)) << other;
  EXPECT_FALSE(IsOfJob("memcpy", true));
  EXPECT_TRUE(IsOfJob("_Z5Parsei", true));
}

TEST(CrashFramesTest, WhatCannotBeNamedIsToldByAddress) {
  std::vector<Frame> frames{{0x12ab, false}, {0x34ce, true}, {0x34ce, true}, {0x50, true}};
  EXPECT_EQ(CommandForAddresses(frames), "addr2line -Cfpie PROGRAM 0x12ab 0x34cd 0x4f");
  for (std::uint64_t i = 0; i < 40; ++i) frames.push_back({0x1000 + 2 * i, false});
  EXPECT_EQ(CommandForAddresses(frames), "addr2line -Cfpie PROGRAM 0x12ab 0x34cd 0x4f 0x1000 0x1002");
}

TEST(CrashFramesTest, NamesAreReadable) {
  EXPECT_EQ(ReadableName("_ZN12_GLOBAL__N_15ParseESt17basic_string_viewIcSt11char_traitsIcEE"),
            "Parse(std::string_view)");
  EXPECT_EQ(ReadableName("_Z4ReadRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"), "Read(std::string const&)");
  EXPECT_EQ(ReadableName("parse"), "parse");
  EXPECT_EQ(ReadableName(std::string(500, 'x')).size(), 123u);
}

TEST(CrashFramesTest, FramesAreRead) {
  EXPECT_EQ(ParseFrame("c1a2b")->address, 0x1a2bu);
  EXPECT_FALSE(ParseFrame("c1a2b")->returned_to);
  EXPECT_TRUE(ParseFrame("r0")->returned_to);
  for (const char* wrong : {"", "c", "x12", "c12g", "12", "c11111111111111111"})
    EXPECT_FALSE(ParseFrame(wrong).ok()) << wrong;
}

TEST(CrashFramesTest, OwnFramesAreNamedOnceAndOthersAreLeftOut) {
  const SourcePlaces places;
  const std::uint64_t own = reinterpret_cast<std::uint64_t>(here::sentinel) - LoadBias();
  const std::uint64_t other = reinterpret_cast<std::uint64_t>(&IsOfJob) - LoadBias();
  EXPECT_EQ(OwnFrames(places, {{own, false}, {own + 1, true}, {other + 1, true}}),
            "here::Sentinel(int) crash_frames_test.cc:" + std::to_string(places.At(own).front().line) + " (2 times)");
  EXPECT_EQ(OwnFrames(places, {{other, false}}), "");
  EXPECT_EQ(OwnFrames(places, {{0, true}, {1, false}}), "");
}

}  // namespace
}  // namespace millrace
