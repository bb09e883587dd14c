// A value of TOML as text, for whoever walks a TOML file by toml++ (toml_file.cc; schedulers/sim). Thread rule: any
// thread.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>

namespace millrace {

// Returns the text, number, true or false as a Field takes it (field.h): a text without quotes, a number without an
// exponent. Returns nothing for a list, a table or a date.
[[nodiscard]] std::optional<std::string> TomlValueText(const toml::node& node);

}  // namespace millrace
