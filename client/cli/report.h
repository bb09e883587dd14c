// SPDX-License-Identifier: Apache-2.0
// Texts about jobs: one line of progress, the summary at the end, why a job waits, JSON for programs. Pure. Thread
// rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

// Returns the part of the whole job that is done, 0 to 1; maps, copies and reduces have equal weights.
[[nodiscard]] double OverallFraction(const JobStatus& status);

// TimeLeft estimates how long a job will still run, from the part that is done at the times of its updates: by the pace
// of the last tenth. It tells nothing before it saw a tenth, nor while the pace of the last twentieth is another one,
// as after a slow start or when a job stands still. Thread rule: one thread.
class TimeLeft {
 public:
  // `now` may be any clock that does not go back. Returns nothing if there is no estimate.
  std::optional<Micros> Update(double fraction, Micros now);

 private:
  struct Seen {
    Micros at = 0;
    double fraction = 0;
  };
  Micros begin_ = 0;
  std::vector<Seen> seen_;  // of the last tenth, in the order of time
};

// How a job goes on while somebody watches it, who may have come late.
struct Pace {
  std::uint64_t bytes = 0;  // that were read in `time`
  Micros time = 0;
  std::optional<Micros> left = {};  // until the end, as estimated
};

// Returns "job7 [====>   ] map 45%  copy 20%  reduce 0%  12.5 MiB/s  1 min 3 s left". The bar is of the whole job, and
// takes what the words leave of `width`, but has ten places at least. The rate is left out of a pace of less than a
// MiB.
[[nodiscard]] std::string BarLine(const JobStatus& status, const Pace& pace, std::size_t width = 80);

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

// Returns the time from the submission of a job to its end, in microseconds; 0 if it has not ended.
[[nodiscard]] Micros TimeOf(const JobStatus& status);

// Returns what is to be counted of an ended job, in several lines, each with its newline: its tasks, what it left out,
// its bytes, and by how much it missed its deadline.
[[nodiscard]] std::string Figures(const JobStatus& status);

// Returns how and when the job ended and where its output is, and its figures, in lines that each have their newline.
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
