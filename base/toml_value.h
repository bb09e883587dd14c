// SPDX-License-Identifier: Apache-2.0
// ParseToml parses TOML, and TomlValueText gives a value as text, for code that walks a file by toml++ (toml_file.cc;
// lab/workload). No other code uses the parser of toml++. Thread rule: any thread.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

inline constexpr std::size_t kMostTomlKeyParts = 32;  // parts of a key: a.b.c has three
inline constexpr std::size_t kMostTomlNesting = 64;   // levels of brackets and braces

// Returns the table in the text, or kInvalid if the text is not TOML: "FILE:3: ...". A text that exceeds one of the
// limits above is refused before it is parsed: the parser recurses, and would overflow its stack.
[[nodiscard]] Result<toml::table> ParseToml(std::string_view text, const std::string& file_name);

// Returns a text, a number, true or false in the form that a Field takes (field.h): a text without quotes, a number
// without an exponent. Returns nothing for a list, a table or a date.
[[nodiscard]] std::optional<std::string> TomlValueText(const toml::node& node);

}  // namespace millrace
