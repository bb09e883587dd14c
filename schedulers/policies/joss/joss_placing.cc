// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss_placing.h"

#include <algorithm>

namespace millrace::sched {

std::optional<double> FilteringPercentage(const JobState& job, const JossSettings& settings) {
  if (job.spec.profile.runs > 0) return job.spec.profile.output_ratio;
  return settings.default_ratio >= 0 ? std::optional(settings.default_ratio) : std::nullopt;
}

double ReduceHeavyThreshold(std::uint32_t centers) {
  return static_cast<double>(centers) / static_cast<double>(centers - 1);
}

bool IsSmallJob(std::size_t maps, std::uint32_t nodes, std::uint32_t centers) { return maps * centers <= nodes; }

JossPlan PlaceByBlocks(const std::vector<std::vector<CenterId>>& holders, std::uint32_t centers, CenterId otherwise) {
  std::vector<std::size_t> blocks(centers);  // not placed yet, by datacenter
  for (const auto& of_map : holders) {
    for (const CenterId center : of_map) ++blocks[center];
  }
  JossPlan plan{std::vector<CenterId>(holders.size(), otherwise), otherwise};
  std::vector<bool> placed(holders.size());
  for (bool first = true;; first = false) {
    const auto most = std::max_element(blocks.begin(), blocks.end());
    if (most == blocks.end() || *most == 0) return plan;
    const auto chosen = static_cast<CenterId>(most - blocks.begin());
    if (first) plan.reduces = chosen;
    for (std::size_t map = 0; map < holders.size(); ++map) {
      if (placed[map] || std::find(holders[map].begin(), holders[map].end(), chosen) == holders[map].end()) continue;
      placed[map] = true;
      plan.maps[map] = chosen;
      for (const CenterId center : holders[map]) --blocks[center];
    }
  }
}

}  // namespace millrace::sched
