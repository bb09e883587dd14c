// SPDX-License-Identifier: Apache-2.0
// Sizes and durations as text. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids/time.h"
#include "base/status.h"

namespace millrace {

// Returns the bytes that "512", "64K", "64MiB" or "1.5 GB" stand for. The multiples are binary, up to T, in upper or
// lower case. Returns kInvalid for anything else.
[[nodiscard]] Result<std::uint64_t> ParseBytes(std::string_view text);
// Returns the time that "100us", "250ms", "10s", "5m", "1.5h", "7d" or "2w" stands for; a bare number means seconds,
// and a day has 24 hours. Returns kInvalid for anything else.
[[nodiscard]] Result<Micros> ParseDuration(std::string_view text);
[[nodiscard]] std::string FormatBytes(std::uint64_t bytes);  // "1.5 GiB", "12 B"
[[nodiscard]] std::string FormatUtc(Micros time);            // since the epoch: "2026-01-31 12:00:00"

}  // namespace millrace
