// SPDX-License-Identifier: Apache-2.0
// Hex writes bytes by hand in tests of formats. Thread rule: a free function.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// Returns the bytes whose hexadecimal digits these are; blanks between them do not count, and text in single quotes is
// taken as it is: Hex("02 'ab' ff"). Requires: an even number of lower-case digits.
inline std::string Hex(std::string_view text) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '\'') {
      while (text[++i] != '\'') bytes += text[i];
    } else {
      bytes += static_cast<char>(value(text[i]) << 4 | value(text[i + 1]));
      ++i;
    }
  }
  return bytes;
}

}  // namespace millrace
