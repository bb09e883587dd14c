// Where JoSS puts the tasks of a job (Lee et al. section 4.2, figure 4; docs/policies.md#joss). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/core/job_state.h"
#include "schedulers/policies/joss/joss_settings.h"

namespace millrace::sched {

// A datacenter's number (Location::datacenter).
using CenterId = std::uint32_t;

// How much of its input the job's maps give on, as far as its program's history or the settings tell.
[[nodiscard]] std::optional<double> FilteringPercentage(const JobState& job, const JossSettings& settings);

// td: above it a job is reduce-heavy. centers >= 2.
[[nodiscard]] double ReduceHeavyThreshold(std::uint32_t centers);
// A job with no more maps than a datacenter has nodes on average can run at once in one of them.
[[nodiscard]] bool IsSmallJob(std::size_t maps, std::uint32_t nodes, std::uint32_t centers);

struct JossPlan {
  std::vector<CenterId> maps;  // by map
  CenterId reduces = 0;
};
// Policies B and C: again and again the datacenter with the most blocks that are not placed yet, the lowest number of
// several, gets the maps of those blocks; reduces go to the one with the most at the start. holders: by map, the
// datacenters with a replica, each once. Maps without any, and reduces if no map has one, go to `otherwise`.
[[nodiscard]] JossPlan PlaceByBlocks(const std::vector<std::vector<CenterId>>& holders, std::uint32_t centers,
                                     CenterId otherwise);

}  // namespace millrace::sched
