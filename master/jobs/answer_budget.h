// SPDX-License-Identifier: Apache-2.0
// AnswerBudget limits how much of a list goes into one answer. A message above 1 MiB breaks the connection
// (base/rpc/transport.h), so lists are returned in pages. A page is limited by bytes as well as by count, since single
// texts may be long. Thread rule: a value, one thread at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::master {

// The bytes of lists that one answer may contain: well below the limit of a message.
inline constexpr std::size_t kAnswerBytes = std::size_t{512} << 10;
// No single element takes more bytes than this: texts are capped where they come in, and longer elements are returned
// in pieces.
inline constexpr std::size_t kElementBytes = std::size_t{256} << 10;

// Returns the bytes that a text or data field of `size` bytes takes in a message besides its pointer: whole words, the
// NUL included.
[[nodiscard]] constexpr std::size_t FieldBytes(std::size_t size) { return size / 8 * 8 + 8; }
[[nodiscard]] constexpr std::size_t FieldBytes(std::string_view text) { return FieldBytes(text.size()); }

class AnswerBudget {
 public:
  // `most` is the number of elements that one answer may contain.
  explicit AnswerBudget(std::size_t most) : most_(most) {}

  // Counts an element of `bytes` if it fits, and returns whether it does. The first element always fits, so that every
  // page makes headway.
  [[nodiscard]] bool Take(std::size_t bytes) {
    if (taken_ == most_ || (taken_ > 0 && bytes_ + bytes > kAnswerBytes)) return false;
    ++taken_;
    bytes_ += bytes;
    return true;
  }
  // Counts bytes that the answer contains besides the lists.
  void Add(std::size_t bytes) { bytes_ += bytes; }
  [[nodiscard]] std::size_t taken() const { return taken_; }  // elements

  // Counts the elements from the front of `list` that fit, and returns their number. `bytes_of(element)` returns the
  // bytes that one takes.
  template <class List, class BytesOf>
  [[nodiscard]] std::size_t TakeFront(const List& list, BytesOf bytes_of) {
    std::size_t count = 0;
    for (const auto& element : list) {
      if (!Take(bytes_of(element))) break;
      ++count;
    }
    return count;
  }

 private:
  std::size_t most_;
  std::size_t taken_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace millrace::master
