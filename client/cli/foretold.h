// SPDX-License-Identifier: Apache-2.0
// Texts about when jobs will probably start and end. An interval is never told without the number of earlier
// statements that it follows from. Pure. Thread rule: any thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

// Returns a point in time in UTC: "14:02"; "14:02:10" if it is within ten minutes of `made`, and "2026-01-31 14:02" if
// it is of another day.
[[nodiscard]] std::string ClockTime(Micros time, Micros made);
// Returns the sentence "likely starts 14:02 (13:58 to 14:11); likely done 14:20 (14:15 to 14:40)", with an "unknown"
// and the reason where nothing is said. Times are UTC; a day is told if it is not that of the statement, and seconds if
// the time is within ten minutes of the statement.
[[nodiscard]] std::string ForetoldText(const job::Foretold& foretold);
// Returns the line about a job that waits for `reason`, with when it will probably start and be done: the fullest text
// that takes at most `width` places of a terminal, else the shortest one. The intervals are left out first, then the
// reason. `foretold` may be null: nothing is said then.
[[nodiscard]] std::string WaitingLine(JobId job, const std::string& reason, const job::Foretold* foretold,
                                      std::size_t width);
// Returns the sentence of ForetoldText and how often such statements have held, in lines that each have their newline.
[[nodiscard]] std::string ForetoldLines(const job::Foretold& foretold);
// Returns a time as in ForetoldText, for a table: "14:02"; "-" if it is unknown.
[[nodiscard]] std::string ForetoldTime(const job::ForetoldTime& time, Micros made);

// Returns the statement as JSON (docs/use/json.md).
[[nodiscard]] nlohmann::ordered_json ToJson(const job::Foretold& foretold);
// Returns the statement about the job, or null if there is none.
[[nodiscard]] nlohmann::ordered_json ForetoldOrNull(const std::vector<job::Foretold>& foretold, JobId job);

}  // namespace millrace::cli
