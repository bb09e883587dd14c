// Hook: which function of a job's code is running, for the message of a failure. Thread rule: as values.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class Hook : std::uint8_t { kNone, kConstructor, kStart, kMap, kFinishMap, kCombine, kReduce, kFinishReduce };

// Returns the name that the job's author knows it by; empty for kNone. What Map calls, such as Partition, counts as
// Map.
[[nodiscard]] constexpr std::string_view ToString(Hook hook) {
  constexpr std::string_view kNames[] = {"",          "constructor", "Start",  "Map",
                                         "FinishMap", "Combine",     "Reduce", "FinishReduce"};
  return kNames[static_cast<std::size_t>(hook)];
}

}  // namespace millrace
