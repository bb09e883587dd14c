// The classes of jobs of a simulation file ([[jobs]]) and their arrivals. Private to schedulers/sim. Thread rule: free
// functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/sim/toml_section.h"
#include "schedulers/sim/workload/workload.h"

namespace millrace::sim {

// Returns the jobs by time of submission. `root` keeps what is wrong.
[[nodiscard]] std::vector<SimJob> ReadJobs(TomlSection& root, std::uint64_t seed, std::uint64_t block_size);

}  // namespace millrace::sim
