// SPDX-License-Identifier: Apache-2.0
// Redraw makes workloads like one that has happened, so that conclusions do not depend on its accidents.
//
// The jobs, with the gaps between them, are drawn in runs of consecutive jobs. A run begins anywhere in the history and
// continues past its end at its beginning (the circular block bootstrap: Politis and Romano 1992). The length of a run
// is the cube root of the number of jobs (Hall, Horowitz and Jing 1995). So a burst stays a burst, and jobs that a user
// submits together stay together, while the numbers of large and small jobs, and their times, differ from draw to draw
// as between similar days.
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>

#include "lab/workload/workload.h"

namespace millrace::compare {

// Returns as many jobs as the workload has, the first one submitted at 0. Requires: the workload has jobs, and no job
// waits for another one.
[[nodiscard]] sim::Workload Redraw(const sim::Workload& workload, std::uint64_t seed);

// Returns whether Redraw can draw from the workload.
[[nodiscard]] bool CanRedraw(const sim::Workload& workload);

// Returns whether the two workloads have the same jobs, judged by the times and sizes of the jobs.
[[nodiscard]] bool SameJobs(const sim::Workload& a, const sim::Workload& b);

}  // namespace millrace::compare
