// SPDX-License-Identifier: Apache-2.0
// Text for people: printable and quoted names for messages, "did you mean", and the last lines.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace millrace {

// Returns `text` in a form that is safe on one line of a terminal or a log, whatever its source. Control characters
// (line breaks and ESC among them), characters that change the direction of writing, and bytes that are not UTF-8 are
// escaped (\n, \x1b). All else stays, even backslashes, so that a second call changes nothing.
[[nodiscard]] std::string Printable(std::string_view text);

// Returns the text, made printable, as a JSON string with its quotes.
[[nodiscard]] std::string JsonString(std::string_view text);

// Returns `name` in double quotes, fit for one line of an error message. It is escaped as by Printable, with quotes and
// backslashes escaped as well, and a name of more than `longest` bytes is shortened in the middle: "abc...xyz" (4000
// bytes).
[[nodiscard]] std::string Quote(std::string_view name, std::size_t longest = 80);

// Returns the parts, with `between` between any two.
[[nodiscard]] std::string Joined(const std::vector<std::string>& parts, std::string_view between);

// Returns the values as printf writes them. The text has at most 255 bytes.
template <class... Values>
requires(std::is_scalar_v<Values>&&...) [[nodiscard]] std::string Formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Returns kInvalid if the text has more than `most` bytes; `what` begins the message, as in "the job's name".
[[nodiscard]] Status CheckLength(std::string_view what, std::string_view text, std::size_t most);

// The longest name (of a job, a user, a pool, a parameter, a counter) that the master takes, in bytes.
inline constexpr std::size_t kLongestName = 255;

// Returns the candidate that takes the fewest insertions, deletions and replacements of a byte, and exchanges of two
// neighbours, to become `name` (Damerau and Levenshtein, each byte exchanged once), the first if several are equally
// near, or nothing if even that one takes more than max(1, size of `name` / 3).
[[nodiscard]] std::optional<std::string> Nearest(std::string_view name, const std::vector<std::string>& candidates);

// Returns the last `lines` lines of the text, or all of it if it has fewer. A newline at the end of the text ends its
// last line.
[[nodiscard]] std::string_view LastLines(std::string_view text, std::uint64_t lines);

}  // namespace millrace
