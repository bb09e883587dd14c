#include "schedulers/offering/copy_gate.h"

#include <algorithm>
#include <cmath>

namespace millrace::sched {

NodeLimits ComputePhaseAdmission::LimitsOf(const NodeState&, NodeLimits without) const {
  const double most = std::floor(without.reduces * std::max(settings_.max_reducers, 1.0));
  const auto reduces = static_cast<std::uint32_t>(most);
  return {without.maps, reduces, without.total + (reduces - without.reduces), reduces - without.reduces};
}

bool ComputePhaseAdmission::MayCopy(const ClusterState&, JobId job, const NodeState& node) const {
  return node.Copying(job) < node.slots.reduces;
}

std::vector<Fact> ComputePhaseAdmission::Facts() const {
  return {Fact::Number("ccs.max_reducers", settings_.max_reducers)};
}

}  // namespace millrace::sched
