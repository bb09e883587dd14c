// SPDX-License-Identifier: Apache-2.0
// Writes decimal numbers into a buffer, four digits per look-up. Thread rule: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace millrace::generate {

inline constexpr auto kFourDigits = [] {
  std::array<std::array<char, 4>, 10'000> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = {static_cast<char>('0' + i / 1000), static_cast<char>('0' + i / 100 % 10),
                static_cast<char>('0' + i / 10 % 10), static_cast<char>('0' + i % 10)};
  }
  return table;
}();

// Writes eight digits, with leading zeros. Requires: number < 10^8.
inline char* PutEight(char* out, std::uint32_t number) {
  std::memcpy(out, &kFourDigits[number / 10'000], 4);
  std::memcpy(out + 4, &kFourDigits[number % 10'000], 4);
  return out + 8;
}

// Writes a number without leading zeros and returns its end. It writes eight bytes; the bytes after the end are
// garbage. Requires: number < 10^8.
inline char* PutNumber(char* out, std::uint32_t number) {
  char digits[16] = {};
  PutEight(digits, number);
  std::uint64_t all;
  std::memcpy(&all, digits, sizeof all);
  all |= std::uint64_t{1} << 56;  // so that the last digit stays, even if it is zero
  const int zeros = __builtin_ctzll(all & 0x0f0f0f0f0f0f0f0f) / 8;
  std::memcpy(out, digits + zeros, 8);
  return out + 8 - zeros;
}

}  // namespace millrace::generate
