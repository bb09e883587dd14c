// SPDX-License-Identifier: Apache-2.0
// The forms of `millrace usage`: a table, CSV and JSON (docs/use/json.md). Pure. Thread rule: free functions, any
// thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/usage/usage.h"

namespace millrace::usage {

struct UsageReport {
  UsageBy by = UsageBy::kUser;
  UsagePeriod period;
  Micros known_since = 0;       // not all is known of what was before
  std::uint32_t forgotten = 0;  // the last job that is not remembered any more; 0: all are
  std::vector<UsageRow> rows;
  UsageRow total;
};

// Returns the table for a terminal of this width; 0: of any.
[[nodiscard]] std::string UsageTable(const UsageReport& report, std::size_t width);
// Returns the line below the table: the period, and since when anything is known.
[[nodiscard]] std::string PeriodLine(const UsageReport& report);
// Returns a line of names, and a line for each row; the last one is the total. Names keep all their bytes, quotes in
// them doubled (RFC 4180); for a terminal they are made printable (base/text.h).
[[nodiscard]] std::string UsageCsv(const UsageReport& report, bool for_terminal);
[[nodiscard]] nlohmann::ordered_json ToJson(const UsageReport& report);

}  // namespace millrace::usage
