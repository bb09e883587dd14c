// SPDX-License-Identifier: Apache-2.0
// Texts about jobs: one line of progress, the summary at the end, why a job waits, JSON for programs. Pure. Thread
// rule: any thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

// Returns the part of the whole job that is done, 0 to 1; maps, copies and reduces have equal weights.
[[nodiscard]] double OverallFraction(const JobStatus& status);

// Returns "job7 map [====>   ] 45%  copy 20%  reduce 0%  12.5 MiB/s  1 min 3 s left". `elapsed` is the time since the
// job was first seen running. The bar takes what the other words leave of `width`, within bounds. How much time is left
// is told once enough is done to estimate it.
[[nodiscard]] std::string BarLine(const JobStatus& status, Micros elapsed, std::size_t width = 80);

// Makes the lines of progress for a pipe: one whenever a phase has moved by ten points since the last line.
class PlainProgress {
 public:
  // Returns the next line; empty if there is nothing to report.
  [[nodiscard]] std::string Update(const JobStatus& status);

 private:
  int map_ = 0, copy_ = 0, reduce_ = 0;  // percent, as in the last line
};

// Returns lines that count and name the maps and records that the job left out; empty if there are none.
[[nodiscard]] std::string LeftOutLines(const JobStatus& status);

// Returns the summary in several lines, each with its newline.
[[nodiscard]] std::string Summary(const JobStatus& status);

// Returns a line for each counter that is not one of the engine; empty if there are none.
[[nodiscard]] std::string OwnCounterLines(const Counters& counters);

[[nodiscard]] nlohmann::ordered_json ToJson(const Counters::value_type& counter);

// Returns the jobs as a JSON array of numbers.
[[nodiscard]] nlohmann::ordered_json JobNumbers(const std::vector<JobId>& jobs);

// Returns the status as JSON. A time that has not come is null.
[[nodiscard]] nlohmann::ordered_json ToJson(const JobStatus& status);

// Returns the noun for what the job waits for: "map slots", "reduce slots", "compute permits".
[[nodiscard]] std::string WhatItWaitsFor(const job::SchedulerView::Wait& wait);
// Returns the wait as numbers, with the sentence beside them (`reason`). A time is in microseconds since the epoch, or
// null if the wait has none.
[[nodiscard]] nlohmann::ordered_json WaitToJson(const job::SchedulerView::Wait& wait);

}  // namespace millrace::cli
