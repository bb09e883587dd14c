// SPDX-License-Identifier: Apache-2.0
// The placing of a job's tasks by JoSS (Lee et al. section 4.2, figure 4; docs/schedulers/policies.md#joss). Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/cluster/job_state.h"
#include "schedulers/policies/joss/joss_settings.h"

namespace millrace::sched {

// A datacenter's number (Location::datacenter).
using CenterId = std::uint32_t;

// Returns the job's map output / its map input, if the history of its program or the settings give this ratio.
[[nodiscard]] std::optional<double> FilteringPercentage(const JobState& job, const JossSettings& settings);

// Returns td: a job with a filtering percentage above it is reduce-heavy. Requires: centers >= 2.
[[nodiscard]] double ReduceHeavyThreshold(std::uint32_t centers);
// Returns true if the job has no more maps than a datacenter has nodes on average, so that one datacenter can run them
// all at once.
[[nodiscard]] bool IsSmallJob(std::size_t maps, std::uint32_t nodes, std::uint32_t centers);

struct JossPlan {
  std::vector<CenterId> maps;  // by map
  CenterId reduces = 0;
};
// Returns the placing of the tasks by policies B and C. Repeatedly, the datacenter with the most blocks that are not
// placed yet (among equals, the one with the lowest number) gets the maps of those blocks. The reduces go to the
// datacenter that has the most blocks at the start. `holders` contains, by map, the datacenters with a replica, each
// once. Maps without any replica, and the reduces if no map has one, go to `otherwise`.
[[nodiscard]] JossPlan PlaceByBlocks(const std::vector<std::vector<CenterId>>& holders, std::uint32_t centers,
                                     CenterId otherwise);

}  // namespace millrace::sched
