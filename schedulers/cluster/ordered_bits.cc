// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/ordered_bits.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace millrace::sched {

OrderedBits::OrderedBits(std::uint32_t words) {
  for (std::uint32_t count = words;; count = (count + 63) / 64) {
    begin_[levels_ + 1] = begin_[levels_] + count;
    ++levels_;
    if (count == 1) break;
  }
  words_.assign(begin_[levels_], 0);
}

OrderedBits OrderedBits::Full(std::uint32_t count) {
  if (count == 0) return {};
  OrderedBits bits((count - 1) / 64 + 1);
  std::uint64_t left = count;  // bits to set on this level
  for (std::size_t level = 0; level < bits.levels_; ++level) {
    std::uint64_t* words = &bits.words_[bits.begin_[level]];
    std::fill_n(words, left / 64, ~std::uint64_t{0});
    if (left % 64 != 0) words[left / 64] = (std::uint64_t{1} << left % 64) - 1;
    left = (left + 63) / 64;
  }
  bits.size_ = count;
  return bits;
}

void OrderedBits::Grow(std::uint32_t number) {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 26;
  const std::uint64_t doubled = std::min(std::uint64_t{begin_[1]} * 2, kAll);
  OrderedBits grown(static_cast<std::uint32_t>(std::max<std::uint64_t>(number / 64 + 1, doubled)));
  grown.size_ = size_;
  for (std::size_t level = 0; level < levels_; ++level) {
    std::copy_n(&words_[begin_[level]], WordsOf(level), &grown.words_[grown.begin_[level]]);
  }
  // These are the levels above the old top, which was one word.
  for (std::size_t level = std::max<std::size_t>(levels_, 1); level < grown.levels_; ++level) {
    grown.words_[grown.begin_[level]] = grown.words_[grown.begin_[level - 1]] != 0 ? 1 : 0;
  }
  *this = std::move(grown);
}

void OrderedBits::Insert(std::uint32_t number) {
  if (number / 64 >= begin_[1]) Grow(number);
  if (Contains(number)) return;
  ++size_;
  for (std::size_t level = 0; level < levels_; ++level) {
    words_[begin_[level] + number / 64] |= std::uint64_t{1} << (number % 64);
    number /= 64;
  }
}

void OrderedBits::Erase(std::uint32_t number) {
  if (!Contains(number)) return;
  --size_;
  for (std::size_t level = 0; level < levels_; ++level) {
    std::uint64_t& word = words_[begin_[level] + number / 64];
    word &= ~(std::uint64_t{1} << (number % 64));
    if (word != 0) return;
    number /= 64;
  }
}

std::uint32_t OrderedBits::NextFrom(std::uint32_t number) const {
  std::uint64_t at = number;
  for (std::size_t level = 0; level < levels_; ++level) {
    if (at / 64 >= WordsOf(level)) return kNone;
    const std::uint64_t rest = words_[begin_[level] + at / 64] >> (at % 64);
    if (rest == 0) {
      at = at / 64 + 1;
      continue;
    }
    at += static_cast<std::uint64_t>(std::countr_zero(rest));
    while (level > 0) {
      --level;
      at = at * 64 + static_cast<std::uint64_t>(std::countr_zero(words_[begin_[level] + at]));
    }
    return static_cast<std::uint32_t>(at);
  }
  return kNone;
}

std::uint32_t OrderedBits::NextCommon(const OrderedBits& a, const OrderedBits& b, std::uint32_t from) {
  std::uint32_t of_a = a.NextFrom(from);
  while (of_a != kNone) {
    const std::uint32_t of_b = b.NextFrom(of_a);
    if (of_b == of_a || of_b == kNone) return of_b;
    of_a = a.NextFrom(of_b);
    if (of_a == of_b) return of_a;
  }
  return kNone;
}

bool OrderedBits::ContainsAll(const OrderedBits& part) const {
  if (part.size_ > size_) return false;
  for (std::uint32_t word = 0; word < part.begin_[1]; ++word) {
    const std::uint64_t mine = word < begin_[1] ? words_[word] : 0;
    if ((part.words_[word] & ~mine) != 0) return false;
  }
  return true;
}

}  // namespace millrace::sched
