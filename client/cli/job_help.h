// SPDX-License-Identifier: Apache-2.0
// The help of one job: `millrace run JOB --help` lists the options that the job declares. Thread rule: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/job_client/job_description.h"

namespace millrace::cli {

// Returns the job whose help is asked for: the first word that names a job, if "--help" or "-h" is among the words
// (before "--").
[[nodiscard]] std::optional<std::string> JobToExplain(const Words& args, const std::string& directory);

// Returns the options as lines of the help, those of the engine last; each line ends with a newline. Pure.
[[nodiscard]] std::string OptionLines(const std::string& job, const std::vector<job::JobOption>& options);

// Prints the job's options after the help of `run`, and returns the exit status. Requires: JobToExplain returned `job`.
[[nodiscard]] int ExplainJob(const Invocation& invocation, const std::string& job);

// Prints the jobs that lie beside the program, each with the options that it declares, as a table or as JSON, and
// returns the exit status.
[[nodiscard]] int ListBundledJobs(const Invocation& invocation, bool json);

}  // namespace millrace::cli
