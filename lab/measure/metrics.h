// SPDX-License-Identifier: Apache-2.0
// The report of a simulation (docs/schedulers/policies.md#metrics). Plain values. Times in us, shares 0 to 1, sizes in
// bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"

namespace millrace::sim {

struct JobRow {
  std::uint32_t job = 0;  // index in the workload
  std::string name, user, pool, group;
  std::uint32_t maps = 0, reduces = 0;
  bool submitted = false;  // before the simulation was stopped
  bool started = false;    // a task was launched
  std::optional<sched::JobOutcome> outcome;
  Micros submit = 0;
  Micros start = 0;       // first launch
  Micros maps_ended = 0;  // the last map succeeded for the last time
  Micros end = 0;
  Micros deadline = 0;                         // absolute; 0: none
  Micros alone = 0;                            // turnaround on an empty cluster; 0: not known
  std::optional<Micros> foretold;              // the turnaround that was foretold when it came, if one was
  std::uint32_t maps_at[4] = {};               // launches by Locality
  std::uint64_t bytes_at[4] = {};              // of the maps' input, by the Locality from which it was read
  std::uint64_t shuffle_bytes = 0;             // bytes that reduces fetched
  std::uint64_t shuffle_datacenter_bytes = 0;  // of these, from the reduce's own datacenter
  std::uint32_t preempted = 0, speculative = 0, failed = 0, killed = 0;  // attempts
  std::uint32_t evicted = 0;  // how often the job was evicted for lack of room for map outputs

  [[nodiscard]] Micros Turnaround() const { return end - submit; }
  [[nodiscard]] Micros Wait() const { return (started ? start : end) - submit; }
  [[nodiscard]] double Slowdown() const {
    return alone > 0 ? static_cast<double>(Turnaround()) / static_cast<double>(alone) : 0;
  }
  [[nodiscard]] bool Ended() const { return outcome.has_value(); }
  [[nodiscard]] bool Late() const { return deadline > 0 && (!Ended() || end > deadline); }
};

enum class AttemptEnd : std::uint8_t { kRunning, kSucceeded, kFailed, kKilled, kLost, kPreempted };

struct TaskRow {
  AttemptId attempt;
  NodeId node;
  Locality locality = Locality::kOff;  // of a map
  bool speculative = false;
  Micros start = 0;
  Micros read = 0;     // the time at which a map had its input, or a reduce had copied all its input
  Micros compute = 0;  // the time at which a reduce got its compute permit
  Micros end = 0;
  AttemptEnd how = AttemptEnd::kRunning;
  sched::ProcessorUse use;  // of an attempt that succeeded
};

// One moment of the run.
struct Sample {
  Micros time = 0;
  PerKind<std::uint32_t> running = {};   // tasks, by TaskKind
  PerKind<std::uint32_t> capacity = {};  // slots
  PerKind<std::uint32_t> pending = {};   // tasks that could run, by TaskKind
  std::uint32_t jobs = 0;                // submitted and not ended
  std::uint32_t active = 0;              // the jobs among these that have started
  double fairness = 1;                   // F over the active ones
  double distance = 0;                   // d over the pools with jobs; 0 while no map runs
};

struct GroupRow {
  std::uint32_t jobs = 0;
  Micros makespan = 0;         // from the first submission to the last end
  double mean_turnaround = 0;  // us
  std::uint32_t ended = 0;     // jobs that ended; if 0, the times mean nothing
};

struct Summary {
  std::uint32_t jobs = 0, succeeded = 0, failed = 0, unfinished = 0;
  Micros makespan = 0;                        // from the first submission to the last end
  double mean_turnaround = 0, mean_wait = 0;  // us, over the jobs that ended (T)
  // Percentiles over the jobs that ended, us.
  double turnaround_p50 = 0, turnaround_p95 = 0, turnaround_p99 = 0;
  double mean_slowdown = 0, max_slowdown = 0;  // 0 when unknown
  double maps_at[4] = {};                      // share of map launches by Locality
  std::uint64_t bytes_at[4] = {};
  double reduce_locality = 0;          // share of the reduces' input from their own datacenter; 1 if there was none
  std::uint64_t rack_bytes = 0;        // bytes that crossed racks (other datacenters included): maps' input and shuffle
  std::uint64_t datacenter_bytes = 0;  // INT
  double fairness = 1;                 // F, mean over the samples with active jobs
  double distance = 0;                 // d, mean over the samples with running maps
  double late = 0;                     // P: share of the jobs with a deadline that were late
  // The numbers behind the figures: jobs with a deadline, launches of maps, samples with active jobs, samples with
  // running maps, bytes that reduces copied, and slot time, in us. If such a number is 0, its figure means nothing.
  std::uint32_t with_deadline = 0, map_launches = 0, active_samples = 0, map_samples = 0;
  double shuffled = 0;
  PerKind<double> slot_time = {};
  // Busy slot time / slot time, from the start to the last end, by TaskKind. A reduce is busy while it holds a slot:
  // from its launch, or, where reduces copy beside the slots (`+ccs`), from its compute permit.
  PerKind<double> utilisation = {};
  double utilisation_total = 0;
  double tasks_per_node = 0, tasks_per_node_deviation = 0;  // attempts launched; population deviation
  std::uint64_t peak_space = 0;                             // map outputs kept, all nodes together
  std::uint32_t preempted = 0, speculative = 0, failed_attempts = 0, killed_attempts = 0;
  std::uint32_t evictions = 0;
  std::uint64_t launches = 0, events = 0;
};

// A job that can no longer continue. The reason begins in lower case and has no full stop.
struct StuckJob {
  std::uint32_t job = 0;  // index in the workload
  std::string why;
};

// A program that ordered the jobs was relieved of it.
struct Relief {
  Micros at = 0;
  std::string why, successor;  // the scheduler that decided from then on
  std::string transcript;      // what was said last between the two
};

// How a program that ordered jobs has kept to what it may say, until the run ended or it was relieved.
struct ProgramConduct {
  std::uint64_t asked = 0;    // questions
  std::uint64_t refused = 0;  // parts of its answers
  std::uint64_t missed = 0;   // limits, of an assignment
};

struct SimResult {
  std::string scheduler, workload;
  Summary summary;
  std::vector<JobRow> jobs;    // by index in the workload
  std::vector<TaskRow> tasks;  // by start, then attempt; only if SimOptions::task_rows
  std::vector<Sample> samples;
  std::map<std::string, GroupRow> pools, groups;
  // The jobs that had not ended, if the run ended because nothing ran and no future event would make a task run.
  std::vector<StuckJob> stuck;
  std::vector<StuckJob> given_up;         // jobs that failed because an output of their maps fitted nowhere
  std::optional<Relief> relief;           // the first one
  std::optional<ProgramConduct> program;  // of the last one that was asked
  double decision_seconds = 0;            // wall time in Apply and Decide; O is this over the jobs. Not reproducible.
};

// Return "succeeded", "unfinished", "preempted" and so on, for the tables.
[[nodiscard]] const char* OutcomeName(const JobRow& row);
[[nodiscard]] const char* AttemptEndName(AttemptEnd how);

// Fills summary, pools and groups from the rows and samples, and from the driver's counts in `result->summary`
// (utilisation, tasks per node, space, launches, events).
void Summarise(SimResult* result);

}  // namespace millrace::sim
