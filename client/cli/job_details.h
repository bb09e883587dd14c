// SPDX-License-Identifier: Apache-2.0
// The text of `millrace job status`, and the line of other commands about a job of which there is nothing to show.
// Pure, but for SayWhyNothing. Thread rule: any thread; SayWhyNothing: main.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "client/cli/invocation.h"
#include "client/cli/job_list.h"
#include "client/job_client/job_client.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

// What the master says of when a job starts and ends.
struct Sayings {
  std::vector<job::Foretold> foretold;
  std::string problem;  // why it says nothing of any job
};

// Returns what there is to say of a job, in lines that each have their newline; a reason is told once. `now` is the
// master's time, by which the deadline of a job that has not ended may be over.
[[nodiscard]] std::string JobDetails(const JobStatus& status, const Waits& waits, const Sayings& sayings, Micros now);

// Returns why no attempt of the job was launched, in a line without its newline: "nothing of job3 has run: it waits for
// job1 to succeed"; empty if one was.
[[nodiscard]] std::string WhyNothingRan(const JobStatus& status);
// Says on standard error, for the command `what`, why nothing of the job ran, or `otherwise` if something did.
void SayWhyNothing(const Invocation& invocation, job::JobClient& client, JobId job, const std::string& what,
                   const std::string& otherwise);

}  // namespace millrace::cli
