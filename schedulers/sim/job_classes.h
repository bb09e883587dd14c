// The classes of jobs of a simulation file ([[jobs]]) and their arrivals. Private to schedulers/sim. Thread rule: free
// functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/sim/toml_section.h"
#include "schedulers/sim/workload.h"

namespace millrace::sim {

// By time of submission. What is wrong is kept by `root`.
[[nodiscard]] std::vector<SimJob> ReadJobs(TomlSection& root, std::uint64_t seed, std::uint64_t block_size);

}  // namespace millrace::sim
