// Plays an open stream of jobs with deadlines to a policy in an engine, on a cluster where every task takes exactly the
// time that its job says: Lim et al., section 5, without network and disks.
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
  Micros map_estimate = 0, reduce_estimate = 0;  // of each task, as the user says
};

// A workload of the paper: jobs of one size, Poisson arrivals, deadlines 1 to 5 times the time that a job takes alone
// on the four nodes.
struct StreamShape {
  std::uint32_t jobs = 300;
  std::uint32_t maps = 3;
  double map_seconds = 18, reduce_seconds = 32;  // of a task, on average
  double spread = 0.3;                           // of the jobs around the average
  double gap_seconds = 15;                       // between arrivals, on average
  double bias_sigma = 0;                         // of the logarithm of actual over estimated task times
};
std::vector<StreamJob> MakeStream(const StreamShape& shape, std::uint64_t seed);

struct StreamResult {
  double late = 0;               // P
  double turnaround = 0;         // T, seconds
  double decision_ms = 0;        // O, wall-clock time for each job
  std::uint32_t idle_slots = 0;  // times that a slot was left idle after a decision although a task could run there
};
// Plays the stream on this many nodes with one slot of each kind.
StreamResult RunStream(const std::vector<StreamJob>& jobs, std::unique_ptr<Policy> policy, std::uint32_t nodes = 4);

}  // namespace millrace::sched
