// LiteralSearch: the places where a literal stands in a text, 32 at once: its first and its last byte are compared, and
// the rest only where both fit. Thread rule: any thread.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "examples/grep/pattern_facts.h"

namespace millrace::examples {

class LiteralSearch {
 public:
  // Of one byte at least.
  explicit LiteralSearch(Literal literal) : literal_(std::move(literal)), last_(literal_.size() - 1) {}

  [[nodiscard]] std::size_t size() const { return literal_.size(); }

  // The first place of the literal, whole, in [at, end); end if there is none.
  [[nodiscard]] const char* Find(const char* at, const char* end) const {
    if (static_cast<std::size_t>(end - at) < size()) return end;
    const char* const stop = end - last_;  // none begins here or later
    const Vector first(literal_.front()), last(literal_.back());
    for (; stop - at >= 32; at += 32) {
      for (std::uint32_t both = first.Fits(at) & last.Fits(at + last_); both != 0; both &= both - 1) {
        const char* const place = at + std::countr_zero(both);
        if (Stands(place)) return place;
      }
    }
    for (; at < stop; ++at) {
      if (Stands(at)) return at;
    }
    return end;
  }

 private:
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
