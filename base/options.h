// Declared options: each is declared once, with its name, type, default, range and one line. --help, docs/options.md,
// the TOML reader and the check of `--set key=value` all come from the declaration. Thread rule: declare and read on
// one thread, or read only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace millrace {

enum class OptionType { kText, kBool, kInteger, kReal, kBytes, kDuration };

struct OptionInfo {
  std::string name;  // "worker.map_slots"
  OptionType type = OptionType::kText;
  std::string default_text;
  std::string range;  // "1 to 1024", "lz4 or zstd"; empty when anything of the type goes
  std::string one_line;
};

// A set of options bound to fields of a struct that outlives it. Declaring one gives its field the default; a name
// declared twice, or a default out of its own range, is a bug and aborts.
//   OptionSet set;
//   set.Integer("worker.map_slots", &config.map_slots, 2, 1, 1024, "map tasks that run at once");
//   MILLRACE_TRY(set.Set("worker.map_slots", "4"));
class OptionSet {
 public:
  void Text(std::string name, std::string* field, std::string initial, std::string one_line);
  void Choice(std::string name, std::string* field, std::string initial, std::vector<std::string> choices,
              std::string one_line);
  // "true", "yes", "on", "1" or "false", "no", "off", "0".
  void Bool(std::string name, bool* field, bool initial, std::string one_line);
  void Integer(std::string name, std::int64_t* field, std::int64_t initial, std::int64_t least, std::int64_t most,
               std::string one_line);
  void Real(std::string name, double* field, double initial, double least, double most, std::string one_line);
  // As ParseBytes.
  void Bytes(std::string name, std::uint64_t* field, std::uint64_t initial, std::uint64_t least, std::uint64_t most,
             std::string one_line);
  // As ParseDuration.
  void Duration(std::string name, Micros* field, Micros initial, Micros least, Micros most, std::string one_line);

  // kNotFound: no such option, with the nearest name that exists; kInvalid: not of its type or out of range, and what
  // is.
  Status Set(std::string_view name, std::string_view value);
  // "name=value".
  Status SetPair(std::string_view pair);
  // Every key of a TOML file (tables are prefixes: [worker] map_slots = 4). Errors carry file and line; keys that come
  // before the wrong one, in order of name, stay set.
  Status LoadToml(const std::string& path);
  [[nodiscard]] std::vector<OptionInfo> List() const;  // in the order declared

 private:
  struct Entry {
    OptionInfo info;
    std::function<Status(std::string_view)> parse;
  };
  void Add(OptionInfo info, std::function<Status(std::string_view)> parse);
  std::vector<Entry> entries_;
};

// "512", "64K", "64MiB", "1.5 GB": bytes, binary multiples up to T, upper or lower case. kInvalid otherwise.
[[nodiscard]] Result<std::uint64_t> ParseBytes(std::string_view text);
// "100us", "250ms", "10s", "5m", "1.5h"; a bare number is seconds. kInvalid otherwise.
[[nodiscard]] Result<Micros> ParseDuration(std::string_view text);
[[nodiscard]] std::string FormatBytes(std::uint64_t bytes);  // "1.5 GiB", "12 B"
// Two units at most, the rest cut off: "800 us", "12 ms", "3.2 s", "4 min 10 s", "2 h 5 min".
[[nodiscard]] std::string FormatDuration(Micros duration);

}  // namespace millrace
