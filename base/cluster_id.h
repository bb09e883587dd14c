// The identity of a cluster: 128 random bits as 32 hexadecimal digits, drawn once when a master's directory is made.
// Master, workers and clients carry it, so that none of them mistakes another cluster's blocks or files for its own.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

[[nodiscard]] std::string FormatClusterId(std::uint64_t high, std::uint64_t low);
// Returns true for 32 hexadecimal digits in lower case.
[[nodiscard]] bool IsClusterId(std::string_view text);

}  // namespace millrace
