// How crashes are made readable: the symbols of an executable, which functions are the job's own, and their names. The
// mangled names are as g++ and clang write them (Itanium C++ ABI).
#include "client/process/crash_frames.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>

#include "base/file.h"
#include "base/random.h"

namespace here {

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

std::string OwnExecutable() { return ReadWholeFile("/proc/self/exe").value(); }

TEST(SymbolTableTest, FindsAFunctionOfThisProgramByItsAddress) {
  const std::string file = OwnExecutable();
  const Result<SymbolTable> symbols = SymbolTable::Read(file);
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(here::sentinel) - LoadBias();
  const auto function = symbols->Find(address + 1);
  ASSERT_TRUE(function.has_value());
  EXPECT_EQ(function->name, "_ZN4here8SentinelEi");
  EXPECT_EQ(function->offset, 1u);
  EXPECT_FALSE(symbols->Find(~std::uint64_t{0}).has_value());
}

TEST(SymbolTableTest, BytesThatAreNoExecutableAreRefused) {
  EXPECT_FALSE(SymbolTable::Read("").ok());
  EXPECT_FALSE(SymbolTable::Read("#!/bin/sh\n").ok());
  EXPECT_FALSE(SymbolTable::Read(std::string(1000, '\x7f')).ok());
}

TEST(SymbolTableTest, DamagedBytesNeverCrash) {
  const std::string file = OwnExecutable();
  const std::uint64_t seed = 1;
  Random random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  // The header and the table of sections say where everything is, so that is where it hurts.
  std::uint64_t sections = 0;
  std::memcpy(&sections, file.data() + 0x28, sizeof sections);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = file.substr(0, i % 3 == 0 ? random.Below(file.size()) : file.size());
    for (int byte = 0; byte < 8 && !damaged.empty(); ++byte) {
      const std::uint64_t at = random.Below(2) == 0 ? random.Below(64) : sections + random.Below(2560);
      if (at < damaged.size()) damaged[at] = static_cast<char>(random.Below(256));
    }
    const Result<SymbolTable> symbols = SymbolTable::Read(damaged);
    if (symbols.ok() && i % 10 == 0) (void)symbols->Find(random.Below(1 << 20));
  }
}

TEST(CrashFramesTest, FunctionsOfMillraceAndLibrariesAreNotTheJobs) {
  for (const char* own : {"_Z5Parsei", "_ZN4Boom5ParseEi", "_ZNK4Boom5ParseEi", "_ZN12_GLOBAL__N_14Boom3EndEv", "parse",
                          "_ZN8millrace8examples9WordCount3MapEv", "_ZZN4Boom3MapEvENKUlvE_clEv",
                          "_ZN4Boom3MapIN8millrace11SortEmitterIS_EEEEvRT_"})
    EXPECT_TRUE(IsOfJob(own)) << own;
  for (const char* other :
       {"main", "_start", "__libc_start_main", "_ZN8millrace6RunJobEv", "_ZNK8millrace6Status2okEv",
        "_ZN8millrace8internal10MapRecordsI4BoomEEvv", "_ZSt4sortIPiEvT_S1_", "_ZNSt6vectorIiE4backEv", "_ZNKSs4sizeEv",
        "_ZZN8millrace8internal3RunI4BoomEEvvENKUlvE_clEv", "_ZN2kj6Thread3runEv", "_ZN9__gnu_cxx3fooEv"})
    EXPECT_FALSE(IsOfJob(other)) << other;
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
  const std::string file = OwnExecutable();
  const Result<SymbolTable> symbols = SymbolTable::Read(file);
  ASSERT_TRUE(symbols.ok());
  const std::uint64_t own = reinterpret_cast<std::uint64_t>(here::sentinel) - LoadBias();
  const std::uint64_t other = reinterpret_cast<std::uint64_t>(&IsOfJob) - LoadBias();
  EXPECT_EQ(OwnFrames(*symbols, {{own, false}, {own + 1, true}, {other, true}}), "here::Sentinel(int) (2 times)");
  EXPECT_EQ(OwnFrames(*symbols, {{other, false}}), "");
  EXPECT_EQ(OwnFrames(*symbols, {{0, true}, {1, false}}), "");
}

}  // namespace
}  // namespace millrace
