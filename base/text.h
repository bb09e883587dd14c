// Text for people: names inside error messages, and "did you mean".
// Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// `name` in double quotes, fit for one line of an error message: quotes, backslashes, control characters and bytes that
// are not UTF-8 are escaped (\n, \x1b), and more than 80 bytes are shortened in the middle: "abc...xyz" (4000 bytes).
[[nodiscard]] std::string Quote(std::string_view name);

// The candidate that takes the fewest insertions, deletions and replacements of a byte to become `name` (Levenshtein),
// the first of equals; none when even that one takes more than max(1, size of `name` / 3).
[[nodiscard]] std::optional<std::string> Nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace millrace
