// SPDX-License-Identifier: Apache-2.0
// The code that `millrace job list` shares with `job status`, and the filter of the list. Thread rule: main; JobFilter
// as a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/console/json_output.h"
#include "client/cli/invocation.h"
#include "client/job_client/job_client.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

using Waits = std::vector<job::SchedulerView::Wait>;

[[nodiscard]] std::string Percent(double fraction);  // "45%", rounded down
[[nodiscard]] nlohmann::ordered_json WithWaits(const JobStatus& status, const Waits& waits);

// Selects the jobs that a user wants to see. A field that is empty or not set excludes none.
struct JobFilter {
  std::string user = {}, pool = {};
  std::string state = {};                // as in JSON, or "held", which are those of the waiting jobs that are held
  std::string name = {};                 // a part of the job's name
  std::optional<Micros> since = {};      // jobs submitted at this time or later, or not ended before this time
  std::optional<std::size_t> last = {};  // only this many jobs, those submitted last

  // Returns kInvalid, with the states that exist, if the state is unknown.
  [[nodiscard]] Status Check() const;
  [[nodiscard]] std::vector<JobStatus> Pick(std::vector<JobStatus> jobs) const;
};

// Returns the state of a job for people: "held" if it is held, else that of programs.
[[nodiscard]] std::string StateWord(const JobStatus& status);

// Returns the master's time, by which it states the times of jobs, since the clock of this machine may differ; the time
// of this machine if the master does not tell.
[[nodiscard]] Micros MasterTime(job::JobClient& client);

// Returns how long the job has run, or ran: from its first launch to its end, or to `now`; 0 if nothing was launched.
[[nodiscard]] Micros TimeRun(const JobStatus& status, Micros now);

}  // namespace millrace::cli
