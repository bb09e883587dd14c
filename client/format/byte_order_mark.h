// The mark with which some programs begin a text in UTF-8: U+FEFF, in three bytes. It says what the text is and is no
// part of it, at the beginning of a file and nowhere else. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns how many bytes at the beginning of a file's text are no part of it: those of the mark, or none.
[[nodiscard]] constexpr std::size_t MarkSize(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

}  // namespace millrace
