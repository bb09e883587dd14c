// SPDX-License-Identifier: Apache-2.0
// LEB128 varints on plain pointers, for the paths that handle every record; elsewhere use Encoder and Decoder of base.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::run {

inline constexpr std::size_t kMaxVarintBytes = 10;

// Writes `value` in at most kMaxVarintBytes bytes and returns the place after it.
inline char* PutVarint(char* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

// Reads a number from [in, end) into *value and returns the place after it; nullptr if the number does not end before
// `end` or exceeds 64 bits.
inline const char* GetVarint(const char* in, const char* end, std::uint64_t* value) {
  std::uint64_t result = 0;
  for (int shift = 0; shift < 64 && in != end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*in++);
    if (shift == 63 && byte > 1) return nullptr;
    result |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return in;
    }
  }
  return nullptr;
}

}  // namespace millrace::run
