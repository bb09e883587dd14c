// SPDX-License-Identifier: Apache-2.0
#include "client/job/group_place.h"

namespace millrace {

std::size_t WriteQuoted(std::string_view bytes, std::span<char> out) {
  constexpr std::size_t kMost = 80;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::size_t size = 0;
  const auto put = [&](std::string_view text) {
    for (const char c : text.substr(0, out.size() - size)) out[size++] = c;
  };
  put("\"");
  for (const char c : bytes.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= ' ' && byte < 0x7f && c != '"' && c != '\\';
    const char escaped[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    put(plain ? std::string_view(&c, 1) : std::string_view(escaped, sizeof escaped));
  }
  put(bytes.size() > kMost ? "\"..." : "\"");
  return size;
}

}  // namespace millrace
