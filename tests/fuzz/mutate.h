// SPDX-License-Identifier: Apache-2.0
// Mutates an input as fuzzers do: changes bits and bytes, sets numbers to the limits of their ranges, and cuts out,
// doubles and moves pieces or takes them from another input. Thread rule: one thread.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"

namespace millrace::fuzz {

inline constexpr std::size_t kMostBytes = std::size_t{1} << 16;

// Makes one to eight mutations of `input`, with pieces from `other`.
[[nodiscard]] std::string Mutate(std::string input, std::string_view other, Random& random);

}  // namespace millrace::fuzz
