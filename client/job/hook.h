// Hook names the function of a job's code that is running, for the message of a failure. Thread rule: values.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class Hook : std::uint8_t { kNone, kConstructor, kStart, kMap, kFinishMap, kCombine, kReduce, kFinishReduce };

// Returns the function's name as the job's author knows it; empty for kNone. A function that Map calls, such as
// Partition, counts as Map.
[[nodiscard]] constexpr std::string_view ToString(Hook hook) {
  constexpr std::string_view kNames[] = {"",          "constructor", "Start",  "Map",
                                         "FinishMap", "Combine",     "Reduce", "FinishReduce"};
  return kNames[static_cast<std::size_t>(hook)];
}

}  // namespace millrace
