// Shorthands of the experiments that simulate. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "schedulers/events/effects.h"
#include "schedulers/sim/model/simulate.h"

namespace millrace::sim::experiments {

inline constexpr std::uint64_t kMegabyte = 1'000'000;
inline constexpr std::uint64_t kBlock128 = 128ULL << 20;

// What a node of Zaharia et al.'s EC2 cluster could send and receive under load, bytes/s. They measured 1 Gbit/s
// between two nodes; half to two fifths of it makes figure 13 come out (docs/papers.md), and serves all their EC2
// experiments.
inline constexpr double kEc2Link = 50e6;
inline constexpr double kGigabit = 125e6;

// 100 nodes of 4 map and 2 reduce slots in one rack (table 1).
[[nodiscard]] ClusterSpec Ec2Cluster(double link = kEc2Link);

// Simulate, which refuses nothing that an experiment asks for: aborts with the reason if it does.
[[nodiscard]] SimResult Run(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
                            const sched::Settings& settings, const SimOptions& options);

// The usual options with this seed.
[[nodiscard]] SimOptions Seeded(std::uint64_t seed);

// "20 schedules", "1 schedule"; by "s" unless the plural is given.
[[nodiscard]] std::string Count(std::uint32_t count, const std::string& what, const std::string& plural = "");

// In %: of the maps launched by these jobs, those at this level or nearer.
[[nodiscard]] double LocalityPercent(const std::vector<JobRow>& jobs, Locality worst);

// The jobs of this group.
[[nodiscard]] std::vector<JobRow> OfGroup(const SimResult& result, const std::string& group);
[[nodiscard]] double GroupLocality(const SimResult& result, const std::string& group, Locality worst);

// The settings of `+delay` with this wait before each level of locality is given up.
[[nodiscard]] sched::Settings DelayWaits(double seconds);

// A map-only job, each map reading a block of 128 MiB.
[[nodiscard]] SimJob ScanJob(std::uint32_t maps, double map_seconds);

}  // namespace millrace::sim::experiments
