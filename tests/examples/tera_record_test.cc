// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "examples/tera/teragen.h"

namespace millrace::examples {
namespace {

TEST(TeraGenTest, KeysAreSpreadEvenly) {
  constexpr int kRecords = 256 * 400;
  std::array<int, 256> first{}, tenth{};
  char record[kTeraRecordBytes];
  for (int i = 0; i < kRecords; ++i) {
    TeraGen::Fill(1, static_cast<std::uint64_t>(i), record);
    ++first[static_cast<unsigned char>(record[0])];
    ++tenth[static_cast<unsigned char>(record[9])];
  }
  // Counts of mean 400 and deviation 20; seven deviations.
  for (const auto& counts : {first, tenth}) {
    EXPECT_GT(*std::ranges::min_element(counts), 260);
    EXPECT_LT(*std::ranges::max_element(counts), 540);
  }
}

TEST(TeraGenTest, ARecordIsLaidOutAsTeraGenHasIt) {
  char record[kTeraRecordBytes], other[kTeraRecordBytes];
  TeraGen::Fill(7, 0x1234567890abcdefu, record);
  TeraGen::Fill(8, 0x1234567890abcdefu, other);
  EXPECT_NE(std::string_view(record, 10), std::string_view(other, 10));
  EXPECT_EQ(std::string(record + 10, 38),
            std::string("\x00\x11", 2) + "00000000000000001234567890ABCDEF" + "\x88\x99\xaa\xbb");
  EXPECT_EQ(std::string(record + 96, 4), "\xcc\xdd\xee\xff");
  for (int i = 48; i < 96; ++i) EXPECT_EQ(record[i], record[i / 4 * 4]);
}

}  // namespace
}  // namespace millrace::examples
