// SPDX-License-Identifier: Apache-2.0
// Runs a workload live under some schedulers and prints what came of it, for test_compare_live.py:
//
//   compare_live MILLRACE KIND WORKLOAD SEED SCHEDULER...
//
// MASTER in the environment names the cluster of KIND cluster, PATIENCE is for how many seconds a run may get no
// further. For each run: a line "run SCHEDULER OUTPUTS", then the jobs as JobsCsv has them, a line "cost EVENTS
// DECIDING MASTER" with the seconds of deciding and of the master's processors, and a line "tasks N NODES DISTURBED".
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/program.h"
#include "lab/live/live_arena.h"
#include "lab/measure/report.h"

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  using namespace millrace;
  if (argc < 6) return 2;
  compare::LiveOptions options;
  options.invocation.console = console::SystemConsole();
  options.invocation.self = argv[1], options.invocation.user = "tester";
  if (const char* master = std::getenv("MASTER")) options.invocation.master = master;
  if (const char* patience = std::getenv("PATIENCE")) options.patience = std::atoi(patience) * kSecond;
  options.kind = argv[2], options.workload = argv[3];
  options.sample_interval = 100 * kMillisecond;
  const auto fail = [](const Status& why) {
    std::fprintf(stderr, "%s\n", why.message().c_str());
    return 1;
  };
  Result<std::unique_ptr<compare::Arena>> arena = compare::MakeLiveArena(options);
  if (!arena.ok()) return fail(arena.status());
  for (int i = 5; i < argc; ++i) {
    Result<compare::RunOutcome> outcome = (*arena)->Run({{argv[i], argv[i]}, std::strtoull(argv[4], nullptr, 10)});
    if (!outcome.ok()) return fail(outcome.status());
    std::printf("run %s %s\n%scost %llu %.9f %.6f\ntasks %zu %zu %s\n", outcome->result.scheduler.c_str(),
                outcome->outputs.c_str(), sim::JobsCsv(outcome->result).c_str(),
                static_cast<unsigned long long>(outcome->result.summary.events), outcome->result.decision_seconds,
                outcome->master_cpu_seconds.value_or(-1), outcome->result.tasks.size(), (*arena)->Nodes().size(),
                outcome->disturbed.c_str());
    std::fflush(stdout);
  }
  return 0;
}
