// SPDX-License-Identifier: Apache-2.0
// Declared options: each is declared once, with its name, type, default, range and one line. --help,
// docs/operate/options.md, the TOML reader and the check of `--set key=value` all come from the declaration. Thread
// rule: one thread at a time while options are declared or set; any thread once they are only read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/field.h"
#include "base/status.h"

namespace millrace {

struct OptionInfo {
  std::string name;  // "worker.map_slots"
  OptionType type = OptionType::kText;
  std::string default_text;
  std::string range;  // "1 to 1024", "lz4 or zstd"; empty if every value of the type is allowed
  std::string one_line;
};

// A set of options that are bound to the fields of a struct (field.h lists the texts that each type takes). Declaring
// an option sets its field to the default.
// Requires: the struct outlives the set, no name is declared twice, and each default is in its own range; the
// declaration aborts if one of the last two conditions is broken.
//   OptionSet set;
//   set.Integer("worker.map_slots", &config.map_slots, 2, 1, 1024, "map tasks that run at once");
//   MILLRACE_TRY(set.Set("worker.map_slots", "4"));
class OptionSet {
 public:
  void Text(std::string name, std::string* field, std::string initial, std::string one_line);
  void Choice(std::string name, std::string* field, std::string initial, std::vector<std::string> choices,
              std::string one_line);
  void Bool(std::string name, bool* field, bool initial, std::string one_line);
  void Integer(std::string name, std::int64_t* field, std::int64_t initial, std::int64_t least, std::int64_t most,
               std::string one_line);
  void Integer(std::string name, std::uint32_t* field, std::uint32_t initial, std::uint32_t least, std::uint32_t most,
               std::string one_line);
  // Also takes "auto", the default, which sets the field to kAuto.
  void IntegerOrAuto(std::string name, std::int64_t* field, std::int64_t least, std::int64_t most,
                     std::string one_line);
  void Real(std::string name, double* field, double initial, double least, double most, std::string one_line);
  void Bytes(std::string name, std::uint64_t* field, std::uint64_t initial, std::uint64_t least, std::uint64_t most,
             std::string one_line);
  void Duration(std::string name, Micros* field, Micros initial, Micros least, Micros most, std::string one_line);

  // Sets the option's field. Returns kNotFound if there is no such option; the message names the nearest option.
  // Returns kInvalid if the value is not of the option's type or is out of range; the message says what is allowed.
  Status Set(std::string_view name, std::string_view value);
  // Sets an option from "name=value".
  Status SetPair(std::string_view pair);
  // Sets an option for every key of a TOML file (tables are prefixes: [worker] map_slots = 4). An error names the file
  // and the line. The keys are set in order of name; those before a wrong one stay set.
  Status LoadToml(const std::string& path);
  [[nodiscard]] std::vector<OptionInfo> List() const;  // in the order declared

 private:
  struct Option {
    OptionInfo info;
    Field field;
  };
  void Add(std::string name, Field field, std::string one_line);
  std::vector<Option> options_;
};

}  // namespace millrace
