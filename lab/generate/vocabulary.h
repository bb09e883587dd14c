// A Vocabulary has made-up words by rank. All are different, and frequent words are shorter. Consonants and vowels
// alternate; some words have an ending that cannot arise in that way (ing, ly, ness, tion), so words with and without
// an ending differ.
// Thread rule: constant: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::generate {

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

}  // namespace millrace::generate
