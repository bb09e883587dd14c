// SPDX-License-Identifier: Apache-2.0
// Words of every length about the one from which on they stand elsewhere.
#include "examples/words/packed_word.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace millrace::examples {
namespace {

TEST(PackedWordTest, IsTheWordWhateverItsLength) {
  const std::string text = "......abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (std::size_t size = 0; size <= 40; ++size) {
    const PackedWord word(text, 6, size);
    EXPECT_EQ(word.In(text), text.substr(6, size));
    std::string room(std::max(size, PackedWord::kBytes) + 1, '#');
    EXPECT_EQ(word.CopyTo(room.data(), text), room.data() + size);
    EXPECT_EQ(room.substr(0, size), text.substr(6, size));
    EXPECT_EQ(room.back(), '#') << "no more than kBytes, or the word, is written";
  }
}

}  // namespace
}  // namespace millrace::examples
