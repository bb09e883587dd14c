// SPDX-License-Identifier: Apache-2.0
// TripleCounter counts every three consecutive words, and gives the counts in the order of the text "a|b|c".
//
// Words are first turned into numbers, in the order in which they compare within such a text. Three words are then one
// number, and sorting numbers replaces sorting text. The first two compare with a bar after them ("ab|" is less than
// "a|", because a bar comes after all letters). The third compares as it is or, when text follows it, with a bar as
// well. (Where words hold bars themselves, two triples can be one text, and the counts are not quite in order.)
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/sort/spreadsort/integer_sort.hpp>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/key_order.h"
#include "client/api/key_table.h"
#include "client/api/large_array.h"
#include "examples/words/packed_word.h"

namespace millrace::examples {

class TripleCounter {
 public:
  // The counter takes about `memory` bytes. If `barred`, text follows the third word.
  TripleCounter(std::uint64_t memory, bool barred)
      : barred_(barred),
        most_words_(std::clamp<std::uint64_t>(memory / 16, 1024, kRanked - 1)),
        numbers_(most_words_),
        table_({numbers_.data()}, std::clamp<std::uint64_t>(memory / 4, std::uint64_t{2} << 20, kMostTable)) {}

  // Adds a word. It follows the word that was pushed before it, unless a text ended between the two. Returns false if
  // there was no room to add the word; push it again after Take, preceded by the two words before it.
  [[nodiscard]] bool Push(std::string_view word) {
    if (full_ || count_ == most_words_) return false;
    numbers_[count_] = static_cast<Number>(count_);
    full_ = table_.Add(word, static_cast<Number>(count_));
    ++count_;
    return true;
  }
  void EndText() { ends_.push_back(count_); }
  // Calls on_triple(std::string_view "a|b|c", std::uint64_t count) for all triples in order, and forgets them.
  template <class OnTriple>
  void Take(OnTriple&& on_triple) {
    EndText();
    NumberInOrder();
    const LargeArray<std::uint64_t> triples(count_);
    Give(MakeTriples(triples.data()), on_triple);
    count_ = 0;
    full_ = false;
    ends_.clear();
  }

 private:
  using Number = std::uint32_t;
  static constexpr int kBucketBits = 11;
  static constexpr std::size_t kAhead = 16;           // the number of triples by which their words are fetched ahead
  static constexpr Number kRanked = Number{1} << 31;  // set in the number of a word's first place once it is in order
  // A table of this size holds fewer than 2^21 words, so that three numbers fit into 64 bits.
  static constexpr std::uint64_t kMostTable = std::uint64_t{64} << 20;

  // Until words are in order, the number of each is the place where the same word stands first.
  struct NoteFirst {
    Number* numbers;
    void operator()(Number& first, const Number& at) const { numbers[at] = first; }
  };
  using Table = KeyTable<Number, NoteFirst>;

  void NumberInOrder();
  // Returns the number of bytes at the end of a third word that do not compare.
  [[nodiscard]] std::size_t bars() const { return barred_ ? 0 : 1; }
  // Calls on_number(triple) for all triples, in the order of the texts.
  template <class OnNumber>
  void ForEachTriple(const OnNumber& on_number) const;
  // Returns the triples, sorted, in the memory at `triples`.
  [[nodiscard]] std::span<const std::uint64_t> MakeTriples(std::uint64_t* triples) const;
  template <class OnTriple>
  void Give(std::span<const std::uint64_t> triples, OnTriple&& on_triple);

  const bool barred_;
  const std::uint64_t most_words_;
  LargeArray<Number> numbers_;  // the words in the order of the text
  std::uint64_t count_ = 0;
  bool full_ = false;
  std::vector<std::uint64_t> ends_;  // where the texts end
  Table table_;

  // The different words, by number:
  std::string text_;                // all words, each with a bar after it
  std::vector<PackedWord> words_;   // where they are in text_
  std::vector<Number> third_;       // the number of the word as a third word
  std::vector<PackedWord> thirds_;  // by that number, without a bar
  std::size_t longest_ = 0;         // the size of the longest word, with its bar
  int bits_ = 0;
};

inline void TripleCounter::NumberInOrder() {
  struct Word {
    std::size_t begin, size;
    Number first;
  };
  std::vector<Word> words;
  text_.clear();
  table_.TakeAll([&](std::string_view word, Number first) {
    words.push_back({text_.size(), word.size() + 1, first});
    text_.append(word) += '|';
  });
  const std::string_view text = text_;
  const std::vector<Number> order =
      OrderOfKeys(words.size(), [&](std::uint64_t i) { return text.substr(words[i].begin, words[i].size); });
  words_.clear();
  longest_ = 0;
  for (Number i = 0; i < order.size(); ++i) {
    const Word& word = words[order[i]];
    words_.emplace_back(text, word.begin, word.size);
    longest_ = std::max(longest_, word.size);
    numbers_[word.first] = i | kRanked;
  }
  for (std::uint64_t i = 0; i < count_; ++i) {
    numbers_[i] = (numbers_[i] & kRanked) != 0 ? numbers_[i] & ~kRanked : numbers_[numbers_[i]];
  }
  const auto as_third = [&](std::uint64_t i) {
    const std::string_view word = words_[i].In(text);
    return word.substr(0, word.size() - bars());
  };
  const std::vector<Number> by_third = OrderOfKeys(words_.size(), as_third);
  third_.resize(words_.size());
  thirds_.clear();
  for (Number i = 0; i < by_third.size(); ++i) {
    const Word& word = words[order[by_third[i]]];
    third_[by_third[i]] = i;
    thirds_.emplace_back(text, word.begin, word.size - 1);
  }
  bits_ = std::bit_width(words_.size());
}

template <class OnNumber>
void TripleCounter::ForEachTriple(const OnNumber& on_number) const {
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends_) {
    for (std::uint64_t i = begin; i + 2 < end; ++i) {
      const std::uint64_t pair = std::uint64_t{numbers_[i]} << bits_ | numbers_[i + 1];
      on_number(pair << bits_ | third_[numbers_[i + 2]]);
    }
    begin = end;
  }
}

// Triples are put into buckets by their first bits as they are made, so that a bucket mostly fits the cache when it is
// sorted.
inline std::span<const std::uint64_t> TripleCounter::MakeTriples(std::uint64_t* triples) const {
  const int shift = std::max(3 * bits_ - kBucketBits, 0);
  std::array<std::uint64_t, (1u << kBucketBits) + 1> ends{};  // by bucket: first its begin, then its end
  ForEachTriple([&](std::uint64_t triple) { ++ends[(triple >> shift) + 1]; });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  ForEachTriple([&](std::uint64_t triple) { triples[ends[triple >> shift]++] = triple; });
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    boost::sort::spreadsort::integer_sort(triples + begin, triples + end);
    begin = end;
  }
  return {triples, begin};
}

template <class OnTriple>
void TripleCounter::Give(std::span<const std::uint64_t> triples, OnTriple&& on_triple) {
  const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
  std::string room(3 * (longest_ + PackedWord::kBytes), '\0');
  char* third = nullptr;  // where the third word stands, after the first two
  std::uint64_t pair = ~std::uint64_t{0};
  for (std::size_t i = 0, next = 0; i < triples.size(); i = next) {
    if (i + kAhead < triples.size()) {
      __builtin_prefetch(&words_[triples[i + kAhead] >> bits_ & mask]);
      __builtin_prefetch(&thirds_[triples[i + kAhead] & mask]);
    }
    for (next = i + 1; next < triples.size() && triples[next] == triples[i]; ++next) {
    }
    if (triples[i] >> bits_ != pair) {
      pair = triples[i] >> bits_;
      third = words_[pair >> bits_].CopyTo(room.data(), text_);
      third = words_[pair & mask].CopyTo(third, text_);
    }
    const char* const end = thirds_[triples[i] & mask].CopyTo(third, text_);
    on_triple(std::string_view(room.data(), static_cast<std::size_t>(end - room.data())), std::uint64_t{next - i});
  }
}

}  // namespace millrace::examples
