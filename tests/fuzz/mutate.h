// Mutations of an input, as fuzzers make them: bits, bytes, numbers at the edges, pieces cut out, doubled, moved and
// taken from another input. Thread rule: one thread.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"

namespace millrace::fuzz {

inline constexpr std::size_t kMostBytes = std::size_t{1} << 16;

// Makes one to eight mutations of `input`, with pieces from `other`.
[[nodiscard]] std::string Mutate(std::string input, std::string_view other, Random& random);

}  // namespace millrace::fuzz
