// SPDX-License-Identifier: Apache-2.0
// A Field sets and returns one field of a struct as text, and describes its range. Only this code converts numbers,
// sizes, durations and choices from the text of command lines, TOML files and journals, and back. An option (options.h)
// and a setting of a scheduler (schedulers/policies/settings_keys.h) are each a Field with a name.
//
// set() accepts every text that get() returns, and restores the same value. Thread rule: that of the struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace millrace {

enum class OptionType { kText, kBool, kInteger, kReal, kBytes, kDuration };

struct Field {
  OptionType type = OptionType::kText;
  std::string range;  // for people: "1 to 1024", "above 0", "lz4 or zstd"; empty if each value of the type is allowed
  // Sets the field. Returns kInvalid, with the reason ("-1 is not above 0"), if the text is not of the type or is out
  // of range. The field then keeps its value.
  std::function<Status(std::string_view text)> set;
  std::function<std::optional<std::string>()> get;  // nothing if the field is a std::optional that is not set
};

// Bounds are inclusive. The least or the greatest value of the type means no bound. Requires: the struct outlives the
// Field.
[[nodiscard]] Field TextField(std::string* field);
// Takes one of the names.
[[nodiscard]] Field ChoiceField(std::string* field, std::vector<std::string> names);
// Takes one of the names. choose(i) sets the field to names[i]; chosen() returns the index of the field's name, or
// nothing if the field has no name.
[[nodiscard]] Field ChoiceField(std::vector<std::string> names, std::function<void(std::size_t)> choose,
                                std::function<std::optional<std::size_t>()> chosen);
// Takes "true", "yes", "on", "1" and "false", "no", "off", "0".
[[nodiscard]] Field BoolField(bool* field);
[[nodiscard]] Field BoolField(std::optional<bool>* field);
// Takes whole numbers, including "2.0" and "1e3".
[[nodiscard]] Field IntegerField(std::int64_t* field, std::int64_t least, std::int64_t most);
// Requires: most < 2^63.
[[nodiscard]] Field IntegerField(std::uint64_t* field, std::uint64_t least, std::uint64_t most);
[[nodiscard]] Field IntegerField(std::uint32_t* field, std::uint32_t least, std::uint32_t most);
[[nodiscard]] Field IntegerField(std::optional<std::uint32_t>* field, std::uint32_t least, std::uint32_t most);
// Also takes "auto", which sets the field to kAuto.
inline constexpr std::int64_t kAuto = -1;
[[nodiscard]] Field IntegerOrAutoField(std::int64_t* field, std::int64_t least, std::int64_t most);
// With `open_below`, `least` itself is out of range.
[[nodiscard]] Field RealField(double* field, double least, double most, bool open_below = false);
// Takes the texts that ParseBytes takes (units.h).
[[nodiscard]] Field BytesField(std::uint64_t* field, std::uint64_t least, std::uint64_t most);
// Takes bytes per second: a number, or a text that ParseBytes takes.
[[nodiscard]] Field BandwidthField(double* field, double least);
// Takes the texts that ParseDuration takes (units.h). A duration is not below 0.
[[nodiscard]] Field DurationField(Micros* field, Micros least, Micros most);
[[nodiscard]] Field DurationField(std::optional<Micros>* field, Micros least, Micros most);

}  // namespace millrace
