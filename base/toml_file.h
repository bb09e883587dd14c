// TomlFile: a TOML text as one list of its tables and values, for readers that know by declarations what may stand
// there (options.h; schedulers/config). Thread rule: free functions, any thread.
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
    kOther,  // another list, or a date
  };
  std::vector<std::string> path;  // {"pools", "ads", "weight"}
  Kind kind = Kind::kValue;
  std::string text;                     // of a value: without quotes, as `--set` takes it
  std::vector<std::string> items = {};  // of a list: each as the text of a value
  std::size_t line = 0;                 // from 1
};

// Returns everything in the text, by name, each table before what it holds. Returns kInvalid for what is not TOML, with
// the line: "FILE:3: not TOML: ...".
[[nodiscard]] Result<std::vector<TomlEntry>> ReadToml(std::string_view text, const std::string& file_name);
// Returns the same of a file; also the failures of reading it.
[[nodiscard]] Result<std::vector<TomlEntry>> ReadTomlFile(const std::string& path);

}  // namespace millrace
