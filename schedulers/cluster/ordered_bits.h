// SPDX-License-Identifier: Apache-2.0
// OrderedBits: a set of small numbers, iterated in rising order.
//
// It is a bitmap with a summary bitmap above it (one bit for each 64-bit word), another above that, and so on. Insert,
// erase and "the next member" touch one word a level, so they cost log64 of the largest number ever inserted. All
// levels lie in one piece of memory. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace millrace::sched {

class OrderedBits {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;  // never a member

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::uint32_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::uint32_t*;
    using reference = std::uint32_t;

    Iterator() = default;
    Iterator(const OrderedBits* bits, std::uint32_t at) : bits_(bits), at_(at) {}
    std::uint32_t operator*() const { return at_; }
    Iterator& operator++() {
      at_ = bits_->NextFrom(at_ + 1);
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const OrderedBits* bits_ = nullptr;
    std::uint32_t at_ = kNone;
  };

  OrderedBits() = default;
  // Returns the set of the numbers 0 to count - 1.
  static OrderedBits Full(std::uint32_t count);

  // Insert does nothing if the number is a member, and Erase does nothing if it is not. Requires: number < kNone.
  void Insert(std::uint32_t number);
  void Erase(std::uint32_t number);

  [[nodiscard]] bool Contains(std::uint32_t number) const {
    return number / 64 < begin_[1] && (words_[number / 64] >> (number % 64) & 1) != 0;
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Returns the least member that is at least `number`; kNone if there is none.
  [[nodiscard]] std::uint32_t NextFrom(std::uint32_t number) const;
  // Returns the least number that is at least `from` and a member of both; kNone if there is none. It skips in one step
  // a run of members of one set that the other set lacks.
  [[nodiscard]] static std::uint32_t NextCommon(const OrderedBits& a, const OrderedBits& b, std::uint32_t from);
  [[nodiscard]] std::uint32_t First() const { return NextFrom(0); }
  // Returns true if each member of `part` is a member of this set. O(largest number of part / 64).
  [[nodiscard]] bool ContainsAll(const OrderedBits& part) const;

  // Requires: a loop does not change the set.
  [[nodiscard]] Iterator begin() const { return {this, First()}; }
  [[nodiscard]] Iterator end() const { return {this, kNone}; }

 private:
  static constexpr std::size_t kMostLevels = 6;  // 64^6 is more than there are numbers

  // Makes room for `words` words of members, and sets none.
  explicit OrderedBits(std::uint32_t words);
  void Grow(std::uint32_t number);
  [[nodiscard]] std::uint32_t WordsOf(std::size_t level) const { return begin_[level + 1] - begin_[level]; }

  std::vector<std::uint64_t> words_;           // the levels one after the other, the members first, a single word last
  std::uint32_t begin_[kMostLevels + 1] = {};  // the start of each level in words_, and the end of the last
  std::size_t levels_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace millrace::sched
