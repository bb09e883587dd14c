// SPDX-License-Identifier: Apache-2.0
// The environment variables MILLRACE_HISTORIES and MILLRACE_SEED set the number of random histories that a test plays,
// and the first seed. With them a test can play far more histories than in an ordinary run. Thread rule: any thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>

namespace millrace {

// Calls `play` with the seed of each history until one fails; the failure message contains the seed. By default the
// number of histories is `otherwise`.
inline void PlayHistories(std::uint64_t otherwise, const std::function<void(std::uint64_t seed)>& play) {
  const auto number = [](const char* name) -> std::optional<std::uint64_t> {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::uint64_t>(std::stoull(text));
  };
  const std::uint64_t histories = number("MILLRACE_HISTORIES").value_or(otherwise);
  const std::uint64_t base = number("MILLRACE_SEED").value_or(std::random_device()());
  for (std::uint64_t seed = base; seed < base + histories && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    play(seed);
  }
}

}  // namespace millrace
