// Shorthands of the experiments that simulate. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "lab/model/simulate.h"
#include "schedulers/events/effects.h"

namespace millrace::sim::experiments {

inline constexpr std::uint64_t kMegabyte = 1'000'000;
inline constexpr std::uint64_t kBlock128 = 128ULL << 20;

// Returns 100 nodes with 4 map and 2 reduce slots in one rack (table 1 of Zaharia et al.), whose links carry 50 MB/s
// each way. They measured 1 Gbit/s between two nodes; half to two fifths of that reproduces figure 13
// (docs/schedulers/papers.md).
[[nodiscard]] ClusterSpec Ec2Cluster();

// Calls Simulate, and aborts with the reason if it fails, since no experiment passes arguments that it refuses.
[[nodiscard]] SimResult Run(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
                            const sched::Settings& settings, const SimOptions& options);

// Returns the default options with this seed.
[[nodiscard]] SimOptions Seeded(std::uint64_t seed);

// Returns "20 schedules" or "1 schedule"; the plural adds "s" unless it is given.
[[nodiscard]] std::string Count(std::uint32_t count, const std::string& what, const std::string& plural = "");

// Returns, in %, the share of maps launched by these jobs at this level or nearer.
[[nodiscard]] double LocalityPercent(const std::vector<JobRow>& jobs, Locality worst);

// Returns the jobs of this group.
[[nodiscard]] std::vector<JobRow> OfGroup(const SimResult& result, const std::string& group);
[[nodiscard]] double GroupLocality(const SimResult& result, const std::string& group, Locality worst);

// Returns the settings of `+delay` with this wait before each level of locality is given up.
[[nodiscard]] sched::Settings DelayWaits(double seconds);

// Returns a map-only job whose maps each read a block of 128 MiB.
[[nodiscard]] SimJob ScanJob(std::uint32_t maps, double map_seconds);

}  // namespace millrace::sim::experiments
