#include "base/cluster_id.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace {

std::string FormatClusterId(std::uint64_t high, std::uint64_t low) { return fmt::format("{:016x}{:016x}", high, low); }

bool IsClusterId(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), [&](char c) { return kDigits.find(c) != std::string_view::npos; });
}

}  // namespace millrace
