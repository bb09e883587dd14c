// Points in time and spans of it. The header includes the standard library alone, so that the engine may use it.
#pragma once

#include <cstdint>

namespace millrace {

// Microseconds: a span, or a point counted from the Unix epoch (in a simulation: from its start).
using Micros = std::int64_t;

inline constexpr Micros kMillisecond = 1'000;
inline constexpr Micros kSecond = 1'000'000;

}  // namespace millrace
