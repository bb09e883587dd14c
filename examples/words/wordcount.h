// SPDX-License-Identifier: Apache-2.0
// Counts words and writes a line "word TAB count" for each.
#pragma once

#include <cstdint>
#include <string_view>

#include "client/api/job.h"
#include "examples/words/words.h"

namespace millrace::examples {

struct WordCount {
  using Key = std::string_view;
  using Value = std::uint64_t;

  void Map(std::string_view line, auto& emit) {
    ForEachWord(line, [&](std::string_view word) { emit(word, 1); });
  }

  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }

  void Reduce(std::string_view word, auto& counts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    emit(word, sum);
  }
};

}  // namespace millrace::examples
