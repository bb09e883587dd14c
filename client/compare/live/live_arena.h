// MakeLiveArena: an Arena (arena.h) whose runs are real jobs on real daemons.
//
//   local              Each run has a cluster of its own on this machine, as `millrace local` makes it, with the nodes,
//                      racks and slots of the workload file. The data is made once: a cluster is filled with it, ends,
//                      and each run begins with a copy of its directories, so that every run finds the same blocks on
//                      the same nodes and nothing else: no profiles, no processes, no other state. Its scheduler file
//                      has the variant's settings.
//   cluster, testbed   A cluster that is there. Each run waits until it is idle, sets the scheduler, has the master
//                      forget what it has learnt of programs, and removes its outputs. The master's scheduler file
//                      stays as it is, so the settings of a variant are taken for those in force. When the arena ends,
//                      the data is removed and the scheduler is as it was.
//
// While an arena exists, SIGINT, SIGTERM and SIGHUP do not end the process: a run that is under way, or the next one,
// returns kCancelled. If the process is killed, what it has started on this machine ends and its files are removed;
// what it has put on a cluster that was there stays. Thread rule: one thread, and no other in the process while Run is
// called (local/process.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "client/cli/invocation.h"
#include "client/compare/arena.h"
#include "schedulers/sim/simulation_file.h"

namespace millrace::compare {

struct LiveOptions {
  std::string kind = "local";             // or "cluster" or "testbed"
  cli::Invocation invocation;             // the programs lie beside `self`; `master` is the cluster that is there
  std::string workload;                   // path of the workload file
  sim::Overrides overrides = {};          // but for the seed, which each run has of its own
  std::vector<std::string> daemons = {};  // NAME=VALUE, as `millrace local --set` takes. Of `local` alone
  bool keep_profiles = false;             // what is learnt of programs stays from run to run. Not of `local`
  Micros sample_interval = kSecond;       // between the samples of a result
  Micros patience = 300 * kSecond;        // a run in which no job gets any further for this long ends with an error
  bool one_by_one = false;                // of the workload only what KeepOneOfEachProgram leaves (live_jobs.h)
  double disturbed_above = 0.05;          // a run is disturbed if others use more than this share of the processors
};

// Returns the arena. kInvalid for a file that cannot be run live; kUnavailable if the cluster cannot be reached.
[[nodiscard]] Result<std::unique_ptr<Arena>> MakeLiveArena(LiveOptions options);

}  // namespace millrace::compare
