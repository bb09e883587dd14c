// SPDX-License-Identifier: Apache-2.0
// SWIM traces: workloads of jobs as Facebook ran them (Chen et al., "Statistical Workload Injector for MapReduce").
//
// A line is a job, with fields separated by tabs: name, submission in seconds, seconds since the job before, bytes of
// map input, bytes of shuffle, bytes of output. A seventh field, the input path, may follow and names the data. Values
// that are not in the trace are derived as in SWIM's own replay (its GenerateReplayScript), where that has a rule:
// - sizes are multiplied by `scale` (nodes of the cluster / nodes of the traced one);
// - maps: one per block of input, at least one, and at least 1 byte of input each;
// - reduces: (shuffle + output) / bytes_per_reduce, rounded, at least 1; but nodes / 5 when that is more than `nodes`.
//   A job without shuffle is map only (SWIM, which has no such jobs, makes up 1 KiB).
// - CPU time: our rule, since traces have none: `task_overhead` plus the task's bytes at `map_rate` or `reduce_rate`.
// - user: also our rule. Without `users` all jobs belong to one user, "user". Otherwise the user of each job is drawn
//   from "user1" to "user<users>", independent of the job's size; the k-th user has a probability proportional to
//   k^-user_skew (Zipf's law). It is an assumption that few users submit most jobs; at Facebook each user had a pool
//   (Zaharia et al., section 3).
// - estimates: with `estimate_bias` each job says the mean CPU time of its maps and of its reduces, times one draw.
//
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "lab/workload/distribution.h"
#include "lab/workload/workload.h"

namespace millrace::sim {

struct SwimOptions {
  std::uint64_t block_size = 128 << 20;  // above 0
  std::uint64_t bytes_per_reduce = 1ULL << 30;
  double scale = 1;                            // above 0
  std::uint32_t nodes = 100;                   // of the cluster
  Micros task_overhead = kSecond;              // of each task
  double map_rate = 50e6, reduce_rate = 50e6;  // bytes/s of a task on a node of speed 1, above 0
  std::uint32_t users = 0;                     // 0: the trace has one user
  double user_skew = 1;                        // at least 0; 0: all users are equally likely
  // The factor by which a job's estimate of its task times is wrong, of maps and reduces alike; nothing: none is given.
  std::optional<Distribution> estimate_bias = {};
  std::uint64_t seed = 1;  // of the draws of users and estimates
};

// Returns the jobs of the trace. Lines that are empty or begin with '#' are skipped. Returns kInvalid, with file and
// line, for a line that is not a job and for more maps than an engine takes.
[[nodiscard]] Result<Workload> ParseSwim(std::string_view text, const std::string& file_name,
                                         const SwimOptions& options);

}  // namespace millrace::sim
