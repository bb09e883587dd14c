// SPDX-License-Identifier: Apache-2.0
// JSON output of listings (docs/use/json.md). Names may hold any bytes, but JSON text only UTF-8. All times are in
// seconds: a duration's key ends in _s, and that of an instant, in seconds since the epoch, in _at.
// Thread rule: one thread at a time.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/console/console.h"
#include "base/ids/time.h"

namespace millrace::console {

// Sets object[key] to `bytes` if they are UTF-8. Otherwise writes every byte but letters, digits and "/._-" as %XX, and
// sets object[key + "_encoding"] to "percent".
void SetBytes(nlohmann::ordered_json& object, const std::string& key, std::string_view bytes);

// Returns a duration or an instant in seconds, with all its microseconds.
[[nodiscard]] nlohmann::ordered_json Seconds(Micros time);
// Does the same; null stands for a time that is not known.
[[nodiscard]] nlohmann::ordered_json Seconds(const std::optional<Micros>& time);
// Returns an instant in seconds since the epoch; null if it is 0, which stands for an instant that has not come.
[[nodiscard]] nlohmann::ordered_json InstantOrNull(Micros time);

// Returns the text, or null if it is empty.
[[nodiscard]] nlohmann::ordered_json TextOrNull(const std::string& text);

// Returns the JSON on one line. Bytes that are not UTF-8 and were not set by SetBytes become the replacement character.
// What Printable (base/text.h) would escape is escaped, so that no name can control a terminal.
[[nodiscard]] std::string Dump(const nlohmann::ordered_json& value);

// A list that is printed while it is made, with one element on each line.
class JsonList {
 public:
  explicit JsonList(Printer& out) : out_(out) {}
  void Add(const nlohmann::ordered_json& element);
  void Close();  // without this call the text is not valid JSON, which is right for a listing that failed

 private:
  Printer& out_;
  bool begun_ = false;
};

}  // namespace millrace::console
