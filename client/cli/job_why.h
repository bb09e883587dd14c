// SPDX-License-Identifier: Apache-2.0
// What is ahead of a job and what would help it, as text and JSON. A change helps if the job ends earlier with it by at
// least a second, or starts so if its end is unknown. Pure, but for the verb (commands.h). Thread rule: any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "client/job_client/job_types.h"

namespace millrace::cli {

// Returns whether the change helps; nothing if that is not known, or it was not tried.
[[nodiscard]] std::optional<bool> Helps(const job::Why& why, const job::TriedChange& change);
// Returns lines that each have their newline. Of priorities with the same effect only the lowest has a line.
[[nodiscard]] std::string WhyText(const job::Why& why);
// Returns the fields that `millrace job why --json` adds to the job's (docs/use/json.md).
void AddWhy(const job::Why& why, nlohmann::ordered_json* json);

}  // namespace millrace::cli
