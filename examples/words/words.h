// SPDX-License-Identifier: Apache-2.0
// ForEachWord finds the words of a text. Words are separated by ASCII white space (space, \t, \n, \v, \f, \r).
// ForEachWord looks at 32 bytes at a time.
// Thread rule: any thread.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace::examples {

inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Returns a mask in which bit i is set if byte i of the 32 bytes at `at` is white space.
inline std::uint32_t PlainWhiteSpaceMask(const char* at) {
  std::uint32_t mask = 0;
  for (int i = 0; i < 32; ++i) mask |= static_cast<std::uint32_t>(IsSpace(at[i])) << i;
  return mask;
}

// Returns the same as PlainWhiteSpaceMask, with AVX2 if it is compiled in.
inline std::uint32_t WhiteSpaceMask(const char* at) {
#ifdef __AVX2__
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i space = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '));
  // \t to \r are 9 to 13, so the unsigned difference is at most 4.
  const __m256i from_tab = _mm256_sub_epi8(bytes, _mm256_set1_epi8('\t'));
  const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(from_tab, _mm256_set1_epi8(4)), from_tab);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(space, control)));
#else
  return PlainWhiteSpaceMask(at);
#endif
}

// Calls on_word(std::string_view) for each word of `text` in order, with a view of it.
template <class OnWord>
void ForEachWord(std::string_view text, OnWord&& on_word) {
  constexpr std::size_t kStep = 32;
  const char* const begin = text.data();
  const char* word = nullptr;  // the beginning of the open word, if there is one
  for (std::size_t at = 0; at < text.size(); at += kStep) {
    std::uint32_t space;
    if (text.size() - at >= kStep) {
      space = WhiteSpaceMask(begin + at);
    } else {
      char last[kStep];
      std::memset(last, ' ', kStep);
      std::memcpy(last, begin + at, text.size() - at);
      space = WhiteSpaceMask(last);
    }
    // A word begins or ends where a space follows a non-space, or the reverse.
    std::uint32_t edges = space ^ ((space << 1) | (word == nullptr ? 1u : 0u));
    for (; edges != 0; edges &= edges - 1) {
      const char* const edge = begin + at + std::countr_zero(edges);
      if (word == nullptr) {
        word = edge;
      } else {
        on_word(std::string_view(word, static_cast<std::size_t>(edge - word)));
        word = nullptr;
      }
    }
  }
  if (word != nullptr) on_word(std::string_view(word, static_cast<std::size_t>(begin + text.size() - word)));
}

}  // namespace millrace::examples
