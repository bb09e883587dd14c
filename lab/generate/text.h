// SPDX-License-Identifier: Apache-2.0
// Text makes lines of Zipf words over a Vocabulary that grows by Heaps' law (generator.h). Thread rule: that of
// Generator; the parts are constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/generate/generator.h"

namespace millrace::generate {

// A Vocabulary has made-up words by rank. All are different, and frequent words are shorter. Consonants and vowels
// alternate; some words have an ending that cannot arise in that way (ing, ly, ness, tion), so words with and without
// an ending differ.
class Vocabulary {
 public:
  static constexpr std::size_t kLongest = 14;
  // A word with a blank after it, and its size without the blank. The whole struct is copied at once.
  struct Word {
    char bytes[kLongest + 1];
    std::uint8_t size;
  };

  // Makes `size` words, at most kMostWords. They are the same for the same seed, and a smaller vocabulary is the
  // beginning of a larger one.
  Vocabulary(std::uint32_t size, std::uint64_t seed);
  static constexpr std::uint32_t kMostWords = 100'000'000;

  [[nodiscard]] const Word& operator[](std::uint32_t rank) const { return words_[rank]; }
  [[nodiscard]] std::string_view text(std::uint32_t rank) const { return {words_[rank].bytes, words_[rank].size}; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(words_.size()); }

 private:
  std::vector<Word> words_;
};

// AliasTable draws i with the probability weight[i] / sum in constant time, by one random number and one look-up
// (Walker, "An efficient method for generating discrete random variables with general distributions", 1977; the table
// is built as Vose describes, 1991). Probabilities are exact to 2^-32 of the mean.
class AliasTable {
 public:
  // Requires: the weights are positive, and there are fewer than 2^32.
  explicit AliasTable(const std::vector<double>& weights);

  // Returns the i that `random`, which is 64 uniform bits, draws.
  [[nodiscard]] std::uint32_t Draw(std::uint64_t random) const {
    const auto i = static_cast<std::uint32_t>(((random >> 32) * cells_.size()) >> 32);
    const Cell cell = cells_[i];
    return static_cast<std::uint32_t>(random) < cell.own ? i : cell.other;
  }

 private:
  struct Cell {
    std::uint32_t own;  // in units of 2^-32: the part of the cell that is its own
    std::uint32_t other;
  };
  std::vector<Cell> cells_;
};

class Text final : public Generator {
 public:
  Text(std::uint64_t size, std::uint64_t seed, const Shape& shape);
  void Fill(std::uint64_t chunk, char* out) const override;

  // Returns the number of words in the vocabulary at the end of a chunk. The chunk's words are drawn from these.
  [[nodiscard]] std::uint32_t VocabularyAt(std::uint64_t chunk) const;
  [[nodiscard]] const Vocabulary& vocabulary() const { return words_; }

 private:
  class Lines;

  Shape shape_;
  Vocabulary words_;
  AliasTable zipf_;
};

}  // namespace millrace::generate
