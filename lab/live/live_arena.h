// SPDX-License-Identifier: Apache-2.0
// MakeLiveArena makes an Arena (arena.h) whose runs are real jobs on real daemons.
//
//   local              Each run has a cluster of its own on this machine, as `millrace local` makes it, with the nodes,
//                      racks and slots of the workload file. The data is made once: a cluster is filled with it and
//                      stopped, and each run begins with a copy of that cluster's directories. So every run finds the
//                      same blocks on the same nodes, but no profiles, no processes and no other state. The scheduler
//                      file of a run has the variant's settings.
//   cluster, testbed   An existing cluster. Each run waits until the cluster is idle, sets the scheduler, has the
//                      master forget what it has learnt of programs, and removes its outputs. The master's scheduler
//                      file stays as it is, so the variant's settings are assumed to be those in force. When the arena
//                      ends, the data is removed and the former scheduler is set again.
//
// While an arena exists, SIGINT, SIGTERM and SIGHUP do not end the process; instead, the run that is under way, or the
// next one, returns kCancelled. If the process is killed, the processes that it has started on this machine are stopped
// and its files are removed; the files that it has put on an existing cluster stay. Thread rule: one thread, and no
// other in the process while Run is called (local/process.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "client/cli/invocation.h"
#include "lab/run/arena.h"
#include "lab/workload/simulation_file.h"

namespace millrace::compare {

struct LiveOptions {
  std::string kind = "local";             // or "cluster" or "testbed"
  cli::Invocation invocation;             // the programs lie beside `self`; `master` is the existing cluster's
  std::string workload;                   // path of the workload file
  sim::Overrides overrides = {};          // except for the seed: each run has its own
  std::vector<std::string> daemons = {};  // NAME=VALUE, as for `millrace local --set`. For `local` only
  bool keep_profiles = false;             // keep the learnt profiles of programs from run to run. Not for `local`
  Micros sample_interval = kSecond;       // between the samples of a result
  Micros patience = 300 * kSecond;        // a run in which no job makes progress for this long ends with an error
  bool one_by_one = false;                // run only the jobs that KeepOneOfEachProgram leaves (live_jobs.h)
  double disturbed_above = 0.05;          // a run is disturbed if others use more than this share of the processors
};

// Returns the arena. Returns kInvalid if the file cannot be run live, and kUnavailable if the cluster cannot be
// reached.
[[nodiscard]] Result<std::unique_ptr<Arena>> MakeLiveArena(LiveOptions options);

}  // namespace millrace::compare
