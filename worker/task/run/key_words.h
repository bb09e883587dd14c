// SPDX-License-Identifier: Apache-2.0
// Loads the first 16 bytes of a key into two registers, without a branch on its length. Hashing, sorting and merging of
// short keys start from these words.
#pragma once

#ifdef __BMI2__
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace::run {

inline constexpr std::size_t kKeyWordBytes = 16;

// Key bytes 0-7 and 8-15, little-endian, with zeros after the key's end.
struct KeyWords {
  std::uint64_t low, high;
};

// Returns the first 16 bytes of a key. Requires: the key has at least 16 bytes.
inline KeyWords LoadBlock(const char* key) {
  KeyWords words;
  std::memcpy(&words, key, sizeof words);
  return words;
}

// Does what LoadKeyWords does, without reading past the end of the key.
[[gnu::noinline]] inline KeyWords CopyKeyWords(const char* key, std::size_t size) {
  KeyWords words{0, 0};
  if (size > 0) std::memcpy(&words, key, size < kKeyWordBytes ? size : kKeyWordBytes);
  return words;
}

// Returns the lowest `bits` bits of a word, or the whole word if `bits` is 64 or more.
inline std::uint64_t LowBits(std::uint64_t word, unsigned bits) {
#ifdef __BMI2__
  return _bzhi_u64(word, bits);
#else
  return bits < 64 ? word & ((std::uint64_t{1} << bits) - 1) : word;
#endif
}

// Returns the words of a key. It reads 16 bytes if they lie in one page, so it never reads memory that does not exist,
// and masks away the bytes after the key. Under sanitizers, which object to such reads, it makes the plain copy.
[[gnu::always_inline]] inline KeyWords LoadKeyWords(std::string_view key) {
  const char* at = key.data();
  const std::size_t size = key.size();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr std::uintptr_t kPage = 4096;
  if ((reinterpret_cast<std::uintptr_t>(at) & (kPage - 1)) <= kPage - kKeyWordBytes && at != nullptr) [[likely]] {
    asm("" : "+r"(at));  // hides from the compiler which object this points into
    const KeyWords words = LoadBlock(at);
    const std::size_t bytes = size < kKeyWordBytes ? size : kKeyWordBytes;
    return {LowBits(words.low, static_cast<unsigned>(8 * bytes)),
            LowBits(words.high, static_cast<unsigned>(8 * (bytes > 8 ? bytes - 8 : 0)))};
  }
#endif
  return CopyKeyWords(at, size);
}

}  // namespace millrace::run
