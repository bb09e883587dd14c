// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/history_words.h"

#include <utility>

namespace millrace::compare {

void DeclareHistory(console::Arguments& arguments, HistoryWords* words) {
  arguments.Text("--since", &words->since, "jobs submitted in this time until now (default: 24h)");
  arguments.Text("--workload", &words->workload, "a workload file or SWIM trace in place of the cluster's history");
  arguments.Text("--in-force", &words->in_force, "with --workload: the scheduler that is in force (default: fifo)");
  arguments.Integer("--seed", &words->seed, 0, 1'000'000'000'000'000, "seed of all random choices");
}

Result<History> ReadHistory(const cli::Invocation& invocation, const HistoryWords& words,
                            const cli::SchedulerWords& settings) {
  if (words.workload.empty()) {
    if (!words.in_force.empty())
      return Invalid("--in-force goes with --workload only: a cluster says what is in force");
    return HistoryOfCluster(invocation, words.since.empty() ? "24h" : words.since, words.seed);
  }
  if (!words.since.empty()) return Invalid("--since asks a cluster, so it does not go with --workload");
  cli::SchedulerWords in_force{words.in_force.empty() ? "fifo" : words.in_force, {}};
  for (const std::string& word : settings.settings) {
    if (!cli::HasLabel(word)) in_force.settings.push_back(word);
  }
  MILLRACE_ASSIGN(cli::Schedulers read, cli::ReadSchedulers(in_force));
  MILLRACE_TRY(cli::CheckNoPrograms(read.variants, "`millrace compare` takes it"));
  if (read.variants.size() != 1) return Invalid("--in-force names more than one scheduler");
  return HistoryOfFile(words.workload, std::move(read.variants[0]), words.seed);
}

}  // namespace millrace::compare
