// SPDX-License-Identifier: Apache-2.0
// The words of a command line that select the history which a command simulates. `advise` and `tune` share them. Thread
// rule: values.
#pragma once

#include <cstdint>
#include <string>

#include "base/console/arguments.h"
#include "client/cli/invocation.h"
#include "lab/advise/history.h"
#include "lab/command/scheduler_names.h"

namespace millrace::compare {

struct HistoryWords {
  std::string since, workload, in_force;
  std::int64_t seed = -1;
};

void DeclareHistory(console::Arguments& arguments, HistoryWords* words);

// Returns the history of the cluster of the invocation, or of the workload file. The settings in force of a file are
// those of `settings` without a label (--settings). Returns kInvalid if a word is wrong or does not go with another,
// and kNotFound if the cluster has run no jobs; also fails as HistoryOfCluster and HistoryOfFile do.
[[nodiscard]] Result<History> ReadHistory(const cli::Invocation& invocation, const HistoryWords& words,
                                          const cli::SchedulerWords& settings);

}  // namespace millrace::compare
