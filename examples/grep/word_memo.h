// SPDX-License-Identifier: Apache-2.0
// WordMemo remembers the matches in short texts, so that words, which occur again and again, are searched once. Each
// text has one place in a small table. Several texts share a place, which contains the last one of them. Thread rule:
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace millrace::examples {

class WordMemo {
 public:
  static constexpr std::size_t kLongest = 16;

  struct Word {
    std::uint64_t front = 0, back = 0;  // all bytes of the text, some of them twice
    std::uint8_t size = 0;              // 0: the place is free
    std::uint8_t match_begin = 0;
    std::uint8_t match_size = 0;  // 0: the text has no match

    [[nodiscard]] bool operator==(const Word& other) const {
      return front == other.front && back == other.back && size == other.size;
    }
  };

  // Returns a text as a word whose match is not known yet. Requires: the text has 1 to kLongest bytes.
  static Word WordOf(std::string_view text) {
    Word word;
    word.size = static_cast<std::uint8_t>(text.size());
    const char* const end = text.data() + text.size();
    if (text.size() >= 8) {
      std::memcpy(&word.front, text.data(), 8);
      std::memcpy(&word.back, end - 8, 8);
    } else if (text.size() >= 4) {
      std::memcpy(&word.front, text.data(), 4);
      std::memcpy(&word.back, end - 4, 4);
    } else {
      std::memcpy(&word.front, text.data(), 1);
      std::memcpy(&word.back, text.data() + text.size() / 2, 1);
      word.back = word.back << 8 | static_cast<std::uint8_t>(end[-1]);
    }
    return word;
  }

  // Returns the place for this word. The place may be free, or contain another word that shares it.
  [[nodiscard]] Word& PlaceOf(const Word& word) {
    const std::uint64_t mixed = (word.front * 0x9e3779b97f4a7c15u) ^ ((word.back + word.size) * 0xbf58476d1ce4e5b9u);
    return words_[mixed >> (64 - kBits)];
  }

 private:
  static constexpr unsigned kBits = 13;
  std::vector<Word> words_{std::size_t{1} << kBits};
};

}  // namespace millrace::examples
