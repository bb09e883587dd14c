// SPDX-License-Identifier: Apache-2.0
// The journal of jobs as JSON, for `millrace job history --json` (docs/use/json.md). Pure. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

namespace millrace::cli {

// Returns a line of the journal as an object: its number, its time as `at`, the kind of event, and all fields of that
// kind, also those that the line leaves out since they have their defaults. A line that this version cannot read, as a
// newer master may write, has the kind "unknown" and is in `line` as it is.
[[nodiscard]] nlohmann::ordered_json HistoryJson(std::uint64_t number, std::string_view line);

}  // namespace millrace::cli
