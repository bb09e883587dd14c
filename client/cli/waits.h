// Texts about why a job waits, for `job list`, `job status` and `scheduler show`. Pure. Thread rule: any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "client/job_client/job_types.h"

namespace millrace::cli {

// Returns the noun for what the job waits for: "map slots", "reduce slots", "compute permits".
[[nodiscard]] std::string WhatItWaitsFor(const job::SchedulerView::Wait& wait);
// Returns the wait as numbers, with the sentence beside them (`reason`). A time is in microseconds since the epoch, or
// null if the wait has none.
[[nodiscard]] nlohmann::ordered_json WaitToJson(const job::SchedulerView::Wait& wait);

}  // namespace millrace::cli
