// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/copy_compute_splitting.h"

#include <algorithm>
#include <cmath>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, CcsSettings& settings) {
  auto& [max_reducers] = settings;
  keys.Real("max_reducers", &max_reducers, {1, 16},
            "how many reduces a node holds, including those that copy, as a multiple of its reduce slots");
}

NodeLimits CopyComputeSplitting::LimitsOf(const NodeState&, NodeLimits without) const {
  const double most = std::floor(without.reduces * std::max(settings_.max_reducers, 1.0));
  const auto reduces = static_cast<std::uint32_t>(most);
  return {without.maps, reduces, without.total + (reduces - without.reduces), reduces - without.reduces};
}

std::uint32_t CopyComputeSplitting::CopyRoom(JobId job, const NodeState& node) const {
  return node.slots.reduces - std::min(node.slots.reduces, node.Copying(job));
}

std::vector<Fact> CopyComputeSplitting::Facts() const {
  return {Fact::Number("ccs.max_reducers", settings_.max_reducers)};
}

}  // namespace millrace::sched
