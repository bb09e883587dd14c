// SPDX-License-Identifier: Apache-2.0
// A PackedWord holds a word of up to 15 bytes itself, and for a longer word its place in a text. If many words are read
// in random order, each costs one cache miss, whereas a view costs two, one for itself and one for its text.
// Thread rule: immutable.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace::examples {

class PackedWord {
 public:
  static constexpr std::size_t kBytes = 16;

  // Packs the `size` bytes of `text` from `begin` on. Requires: the text is shorter than 4 GiB.
  PackedWord(std::string_view text, std::size_t begin, std::size_t size) {
    if (size < kBytes) {
      std::memcpy(bytes_, text.data() + begin, size);
      bytes_[kBytes - 1] = static_cast<char>(size);
      return;
    }
    const std::uint32_t place[] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size)};
    std::memcpy(bytes_, place, sizeof place);
    bytes_[kBytes - 1] = kElsewhere;
  }

  // Returns the word, which lives as long as this and the text do.
  [[nodiscard]] std::string_view In(std::string_view text) const {
    if (bytes_[kBytes - 1] != kElsewhere) return {bytes_, static_cast<std::size_t>(bytes_[kBytes - 1])};
    std::uint32_t place[2];
    std::memcpy(place, bytes_, sizeof place);
    return text.substr(place[0], place[1]);
  }
  // Copies the word to `to` and returns the end of the copy. Requires: there is room for kBytes, which may be written
  // even if the word is shorter.
  char* CopyTo(char* to, std::string_view text) const {
    std::memcpy(to, bytes_, kBytes);
    if (bytes_[kBytes - 1] != kElsewhere) [[likely]]
      return to + bytes_[kBytes - 1];
    const std::string_view word = In(text);
    std::memcpy(to, word.data(), word.size());
    return to + word.size();
  }

 private:
  static constexpr char kElsewhere = -1;
  char bytes_[kBytes] = {};  // the last byte is the size
};

}  // namespace millrace::examples
