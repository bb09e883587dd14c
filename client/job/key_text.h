// Writes keys for people without allocating memory, so that a signal handler can do it. Text is quoted, a number is
// written as a number, and other bytes are written as text with escapes. A long key is cut.
// Thread rule: free functions, any thread or a signal handler.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "client/format/codec.h"

namespace millrace {

// Writes the bytes in quotes, with \xNN for those that are not printable ASCII, as far as there is room. If only the
// first bytes are shown, "..." follows. Returns the number of bytes written.
[[nodiscard]] std::size_t WriteQuoted(std::string_view bytes, std::span<char> out);

// Writes a key of this type, given by its encoded bytes.
template <class Key>
[[nodiscard]] std::size_t WriteKey(std::string_view bytes, std::span<char> out) {
  if constexpr (std::integral<Key> && !std::same_as<Key, bool>) {
    Key key{};
    if (out.size() >= 24 && Codec<Key>::Decode(bytes, &key))
      return static_cast<std::size_t>(std::to_chars(out.data(), out.data() + out.size(), key).ptr - out.data());
  }
  return WriteQuoted(bytes, out);
}

}  // namespace millrace
