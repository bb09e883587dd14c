#include "schedulers/core/ordered_bits.h"

#include <bit>

namespace millrace::sched {

OrderedBits OrderedBits::Full(std::uint32_t count) {
  OrderedBits bits;
  if (count > 0) bits.Grow(count - 1);
  std::uint64_t left = count;  // bits to set on this level
  for (auto& level : bits.levels_) {
    for (std::uint64_t word = 0; word * 64 < left; ++word) {
      const std::uint64_t here = left - word * 64;
      level[word] = here >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
    }
    left = (left + 63) / 64;
  }
  bits.size_ = count;
  return bits;
}

void OrderedBits::Grow(std::uint32_t number) {
  std::size_t words = number / 64 + 1;
  for (std::size_t level = 0;; ++level) {
    if (level == levels_.size()) {
      levels_.emplace_back();
      // A new top: the level below had one word at most, which the new first bit stands for.
      levels_[level].assign(words, 0);
      if (level > 0 && !levels_[level - 1].empty() && levels_[level - 1][0] != 0) levels_[level][0] = 1;
    } else if (levels_[level].size() < words) {
      levels_[level].resize(words, 0);
    }
    if (levels_[level].size() == 1) return;
    words = (levels_[level].size() + 63) / 64;
  }
}

void OrderedBits::Insert(std::uint32_t number) {
  if (levels_.empty() || number / 64 >= levels_[0].size()) Grow(number);
  if (Contains(number)) return;
  ++size_;
  for (auto& level : levels_) {
    level[number / 64] |= std::uint64_t{1} << (number % 64);
    number /= 64;
  }
}

void OrderedBits::Erase(std::uint32_t number) {
  if (!Contains(number)) return;
  --size_;
  for (auto& level : levels_) {
    level[number / 64] &= ~(std::uint64_t{1} << (number % 64));
    if (level[number / 64] != 0) return;
    number /= 64;
  }
}

bool OrderedBits::Contains(std::uint32_t number) const {
  return !levels_.empty() && number / 64 < levels_[0].size() && (levels_[0][number / 64] >> (number % 64) & 1) != 0;
}

std::uint32_t OrderedBits::NextFrom(std::uint32_t number) const {
  std::uint64_t at = number;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (at / 64 >= levels_[level].size()) return kNone;
    const std::uint64_t rest = levels_[level][at / 64] >> (at % 64);
    if (rest == 0) {
      at = at / 64 + 1;
      continue;
    }
    at += static_cast<std::uint64_t>(std::countr_zero(rest));
    while (level > 0) {
      --level;
      at = at * 64 + static_cast<std::uint64_t>(std::countr_zero(levels_[level][at]));
    }
    return static_cast<std::uint32_t>(at);
  }
  return kNone;
}

}  // namespace millrace::sched
