// LastLines cuts the last lines from a text. Thread rule: free function, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// Returns the last `lines` lines of the text, or all of it if it has fewer. A newline at the end of the text ends its
// last line.
[[nodiscard]] inline std::string_view LastLines(std::string_view text, std::uint64_t lines) {
  if (lines == 0) return {};
  std::size_t end = text.ends_with('\n') ? text.size() - 1 : text.size();
  while (true) {
    const std::size_t before = end == 0 ? text.npos : text.rfind('\n', end - 1);
    if (before == text.npos) return text;
    if (--lines == 0) return text.substr(before + 1);
    end = before;
  }
}

}  // namespace millrace
