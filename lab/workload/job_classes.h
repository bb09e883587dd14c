// SPDX-License-Identifier: Apache-2.0
// The classes of jobs of a workload file ([[jobs]]), their arrivals and the data that they read ([data.NAME]). Private
// to lab/workload. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/workload/live_parts.h"
#include "lab/workload/toml_section.h"
#include "lab/workload/workload.h"

namespace millrace::sim {

struct Scaling {
  double sizes = 1;  // of the number of a job's tasks, of its `input` and of data sets
  double times = 1;  // of all times of the workload, not those of the cluster
};

// Returns the jobs, class by class. `root` keeps the first error; `live` gets the programs, the data and the class of
// each job. Requires: live->block_size is set.
[[nodiscard]] std::vector<SimJob> ReadJobs(TomlSection& root, std::uint64_t seed, const Scaling& scaling,
                                           LiveParts* live);

// Multiplies the times of a job by the factor.
void ScaleTimes(double factor, SimJob* job);

}  // namespace millrace::sim
