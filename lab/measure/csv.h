// SPDX-License-Identifier: Apache-2.0
// Fields and lines of CSV files (RFC 4180). Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace::sim::csv {

inline constexpr const char* kLevels[] = {"node", "rack", "datacenter", "off"};  // by Locality

// Returns the shortest text that reads back as the number.
[[nodiscard]] std::string Number(double value);
// Returns a time in us as seconds, exactly.
[[nodiscard]] std::string Seconds(Micros time);
// Returns the text as a field, in quotes where it needs them. A text that a spreadsheet would calculate (= + - @) gets
// an apostrophe in front: names of jobs and pools come from others.
[[nodiscard]] std::string Field(const std::string& text);
// Appends a line of fields, which are already formatted.
void Line(std::string* csv, const std::vector<std::string>& fields);

}  // namespace millrace::sim::csv
