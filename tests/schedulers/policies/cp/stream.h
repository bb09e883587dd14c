// SPDX-License-Identifier: Apache-2.0
// Plays an open stream of jobs with deadlines to a policy in an engine, as in section 5 of Lim et al., but without
// network and disks. Every task takes exactly the time that its job sets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/policy.h"

namespace millrace::sched {

struct StreamJob {
  Micros arrival = 0;
  Micros deadline = 0;
  std::uint32_t maps = 0, reduces = 0;
  Micros map_time = 0, reduce_time = 0;          // of each task
  Micros map_estimate = 0, reduce_estimate = 0;  // of each task, by the user's estimate
};

// A workload of that paper: jobs of one size, Poisson arrivals, and deadlines of 1 to 5 times the time that a job takes
// alone on the four nodes.
struct StreamShape {
  std::uint32_t jobs = 300;
  std::uint32_t maps = 3;
  double map_seconds = 18, reduce_seconds = 32;  // of a task, on average
  double spread = 0.3;                           // of the jobs' task times around the average
  double gap_seconds = 15;                       // between arrivals, on average
  double bias_sigma = 0;                         // of the logarithm of actual over estimated task times
};
std::vector<StreamJob> MakeStream(const StreamShape& shape, std::uint64_t seed);

struct StreamResult {
  double late = 0;               // P
  double turnaround = 0;         // T, seconds
  double decision_ms = 0;        // O, wall-clock time for each job
  std::uint32_t idle_slots = 0;  // how often a slot stayed idle after a decision although a task could have run there
};
// Plays the stream on this many nodes with one slot of each kind.
StreamResult RunStream(const std::vector<StreamJob>& jobs, std::unique_ptr<Policy> policy, std::uint32_t nodes = 4);

}  // namespace millrace::sched
