// SPDX-License-Identifier: Apache-2.0
// Costs are the times and resources that a cluster takes beyond those of the workload file, measured on runs of it.
// They are the parameters with which its runs are simulated (fit.h).
//
// - Scale, one for the maps and one for the reduces of a class of jobs, if these tasks work. They work if the class has
//   a program, or `map_cores` (`reduce_cores`) above 0. The scale is the time that an attempt takes when it runs alone
//   (lab/journal/task_demand.h), divided by the time in the workload. The time of a reduce counts from the moment
//   when it was running and the last map had ended, without its wait for a compute permit. If some maps have a local
//   block, only these maps count.
// - Latency instead of a scale, for tasks that sleep, or for which the workload has no times: the time for which an
//   attempt holds its slot beyond the time in the workload.
// - Cores: the number that a task keeps busy during that time, by the CPU time that its attempts reported.
// - For all attempts alike: the CPU time of a process's start, and a latency for the way of orders and reports between
//   master and worker. This latency is the least time that the maps of a class take without working, or beyond their
//   sleep.
// - The share of the machines' cores that tasks have, since daemons and clients use them, too (fit.h).
// - Bandwidths of links that the file does not state. That of a node is the speed that nine tenths of the reads within
//   a rack do not exceed (of all reads, if none are within a rack). Those of a rack and of a datacenter are set only if
//   reads across them are clearly slower; they are the speed that nine tenths of these reads do not exceed.
// - The lateness with which jobs reach the master, counted from their time in the workload or, for a job that follows
//   another one, from the end of that job and the pause.
// Thread rule: values and free functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "lab/run/arena.h"
#include "lab/workload/simulation_file.h"

namespace millrace::compare {

struct TaskCost {
  std::uint64_t attempts = 0;  // that were measured; 0: the cost is not known, and the values mean no cost
  double latency = 0;          // us
  double scale = 1;
  double taken = 0;     // us of an attempt in all
  bool scaled = false;  // times are scaled; else `latency` is all time beyond that of the workload
  double alone = 0;     // us that it would have taken with a process and all the cores that it can use
  double asked = 0;     // us in the workload
  double cpu = -1;      // us on a core; below 0: not reported
  double threads = 1;   // the most cores that it keeps busy, at least 1
};

struct ClassCost {
  PerKind<TaskCost> of = {};
  double output_scale = 1;   // bytes that maps gave to reduces, over those of the workload
  double output_ratio = -1;  // bytes that maps gave to reduces, over those of their input; below 0: not known
};

struct Costs {
  std::vector<ClassCost> classes;  // by LiveParts::classes
  std::uint64_t reads = 0;         // from other nodes, of known rate; if 0 the bandwidths mean nothing
  // bytes/s, each way; 0: no limit was seen.
  double node_bandwidth = 0, rack_bandwidth = 0, datacenter_bandwidth = 0;
  double lateness = 0, follow_delay = 0;       // us
  double process_start = 0, task_latency = 0;  // us
  double cores_share = 1;                      // of the machines' cores
  double waited = 0;                           // us that all measured attempts waited for cores
};

// A run that is measured, with the jobs that it was meant to have. Pointers outlive the call.
struct MeasuredRun {
  const sim::SimulationFile* file = nullptr;
  const RunOutcome* outcome = nullptr;
};

// Gives all tasks of a kind the mean of their times, as on a live cluster (live/live_jobs.h).
void EvenOut(sim::Workload* workload);
// Returns whether the tasks of this kind work for their time; false if they sleep.
[[nodiscard]] bool Works(const sim::SimJob& job, TaskKind kind);

// Requires: at least one run; all have the same classes; an outcome has a row for each job of its file.
[[nodiscard]] Costs MeasureCosts(const std::vector<MeasuredRun>& runs, const std::vector<NodeRow>& nodes);

}  // namespace millrace::compare
