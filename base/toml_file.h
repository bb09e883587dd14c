// SPDX-License-Identifier: Apache-2.0
// ReadToml turns a TOML text into one list of its tables and values, for readers that declare the keys they take
// (options.h; schedulers/policies/settings_file.h). Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace {

struct TomlEntry {
  enum class Kind : std::uint8_t {
    kTable,
    kValue,  // a text, a number, true or false
    kList,   // of values
    kOther,  // any other list, or a date
  };
  std::vector<std::string> path;  // {"pools", "ads", "weight"}
  Kind kind = Kind::kValue;
  std::string text;                     // for kValue: without quotes, as `--set` takes it
  std::vector<std::string> items = {};  // for kList: each like `text`
  std::size_t line = 0;                 // from 1
};

// Returns every table and value in the text, in order of name, each table before its contents. Returns kInvalid, with
// the line, if the text is not TOML: "FILE:3: not TOML: ...".
[[nodiscard]] Result<std::vector<TomlEntry>> ReadToml(std::string_view text, const std::string& file_name);
// Does the same for a file, and also returns failures to read it.
[[nodiscard]] Result<std::vector<TomlEntry>> ReadTomlFile(const std::string& path);

}  // namespace millrace
