// The byte order mark with which some programs begin a text in UTF-8: U+FEFF, in three bytes. At the beginning of a
// file, and nowhere else, it marks the encoding and is not part of the text. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns the number of bytes at the beginning of a file's text that are not part of it: those of the mark, or 0.
[[nodiscard]] constexpr std::size_t MarkSize(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

}  // namespace millrace
