// SPDX-License-Identifier: Apache-2.0
// Numbers of the comparison document: finite, and with only the digits that mean something. Thread rule: free
// functions, any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "base/ids/time.h"
#include "lab/measure/estimate.h"

namespace millrace::compare {

// Returns the number with nine significant digits; null if it is not finite.
[[nodiscard]] nlohmann::ordered_json Exact(double value);
// Returns seconds, rounded to milliseconds.
[[nodiscard]] nlohmann::ordered_json Seconds(Micros time);
// Returns the number rounded to four decimals; null if it is not finite.
[[nodiscard]] nlohmann::ordered_json Rounded(double value);
[[nodiscard]] nlohmann::ordered_json ToJson(const sim::Estimate& estimate);

// Returns null if there is no value, else the result of `write` (a function above) for the value.
template <class Value>
[[nodiscard]] nlohmann::ordered_json OrNull(const std::optional<Value>& value, nlohmann::ordered_json (*write)(Value)) {
  return value ? write(*value) : nlohmann::ordered_json();
}

}  // namespace millrace::compare
