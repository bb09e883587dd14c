// How TOML is parsed, and a value of it as text, for whoever walks a TOML file by toml++ (toml_file.cc;
// schedulers/sim). Nobody else calls its parser. Thread rule: any thread.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

inline constexpr std::size_t kMostTomlKeyParts = 32;  // of a key: a.b.c has three
inline constexpr std::size_t kMostTomlNesting = 64;   // of brackets and braces

// Returns the table that the text is, or kInvalid for what is not TOML: "FILE:3: ...". A text that is nested more
// deeply than the constants above say is refused before it is parsed: the parser recurses, and would run out of its
// stack.
[[nodiscard]] Result<toml::table> ParseToml(std::string_view text, const std::string& file_name);

// Returns the text, number, true or false as a Field takes it (field.h): a text without quotes, a number without an
// exponent. Returns nothing for a list, a table or a date.
[[nodiscard]] std::optional<std::string> TomlValueText(const toml::node& node);

}  // namespace millrace
