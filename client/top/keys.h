// SPDX-License-Identifier: Apache-2.0
// The keys of `millrace top`: bytes of a terminal as keys, and what a key changes. Pure. Thread rule: a KeyReader on
// one thread; Press on any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/top/picture.h"

namespace millrace::top {

enum class KeyKind { kLetter, kUp, kDown, kLeft, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape };

struct Key {
  KeyKind kind = KeyKind::kLetter;
  char letter = 0;  // of kLetter
  bool operator==(const Key&) const = default;
};

// Finds the keys in what a terminal sends. Sequences that it does not know are no keys.
class KeyReader {
 public:
  // Returns the keys that are complete. An escape sequence may come in pieces.
  [[nodiscard]] std::vector<Key> Take(std::string_view bytes);
  // Says that nothing more came for a while, so that an ESC which was taken was the key Escape.
  [[nodiscard]] std::vector<Key> Pause();
  [[nodiscard]] bool waits() const { return !begun_.empty(); }  // a sequence has begun

 private:
  std::string begun_;  // from its ESC on
};

// Changes the state as the key says. `page` is the number of rows by which Page Down moves.
void Press(const Key& key, const Picture& picture, std::size_t page, State* state);

}  // namespace millrace::top
