// SPDX-License-Identifier: Apache-2.0
// LiteralSearch finds the places where a literal stands in a text. With AVX2 it looks at 32 places at once: it compares
// the first and the last byte of the literal, and the rest only where both fit. Thread rule: any thread.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "examples/grep/pattern_facts.h"

namespace millrace::examples {

class LiteralSearch {
 public:
  // Requires: the literal has at least one byte.
  explicit LiteralSearch(Literal literal) : literal_(std::move(literal)), last_(literal_.size() - 1) {}

  [[nodiscard]] std::size_t size() const { return literal_.size(); }

  // Returns the first place in [at, end) at which the whole literal stands, or end if there is none.
  [[nodiscard]] const char* Find(const char* at, const char* end) const {
    if (static_cast<std::size_t>(end - at) < size()) return end;
    const char* const stop = end - last_;  // no literal begins here or later
#ifdef __AVX2__
    const Vector first(literal_.front()), last(literal_.back());
    for (; stop - at >= 32; at += 32) {
      for (std::uint32_t both = first.Fits(at) & last.Fits(at + last_); both != 0; both &= both - 1) {
        const char* const place = at + std::countr_zero(both);
        if (Stands(place)) return place;
      }
    }
#endif
    for (; at < stop; ++at) {
      if (Stands(at)) return at;
    }
    return end;
  }

 private:
#ifdef __AVX2__
  struct Vector {
    explicit Vector(MaskedByte byte)
        : value(_mm256_set1_epi8(static_cast<char>(byte.value))),
          mask(_mm256_set1_epi8(static_cast<char>(byte.mask))) {}
    [[nodiscard]] std::uint32_t Fits(const char* at) const {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, mask), value)));
    }
    __m256i value, mask;
  };
#endif
  [[nodiscard]] bool Stands(const char* at) const {
    for (const MaskedByte& byte : literal_) {
      if ((static_cast<std::uint8_t>(*at++) & byte.mask) != byte.value) return false;
    }
    return true;
  }

  Literal literal_;
  std::size_t last_;
};

}  // namespace millrace::examples
