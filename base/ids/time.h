// SPDX-License-Identifier: Apache-2.0
// Points in time and spans of it. The header includes the standard library alone, so that the engine may use it.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// Microseconds: a span, or a point counted from the Unix epoch (in a simulation: from its start).
using Micros = std::int64_t;

inline constexpr Micros kMillisecond = 1'000;
inline constexpr Micros kSecond = 1'000'000;
inline constexpr double kMicrosPerSecond = 1e6;  // for what is computed in doubles
inline constexpr Micros kMinute = 60 * kSecond;
inline constexpr Micros kHour = 60 * kMinute;

// Returns the span in at most two units, rounded down: "800 us", "12 ms", "3.2 s", "4 min 10 s", "2 h 5 min".
[[nodiscard]] std::string FormatDuration(Micros duration);

}  // namespace millrace
