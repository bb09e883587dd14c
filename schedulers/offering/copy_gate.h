// ComputePhaseAdmission: copy-compute splitting, CPAC (Zaharia et al., section 5.2; docs/policies.md#ccs). It is the
// master's side of `+ccs`; the worker gives the compute permits, at most one for each reduce slot.
//
// A node holds up to max_reducers x its reduce slots of reduces, which copy, wait for a permit or compute. At most as
// many reduces of one job as the node has reduce slots may copy there at once. A reduce ceases to copy when it has its
// permit (ReduceComputing). Map slots and slots without a type stay as they are: the reduces beyond the slots come on
// top.
#pragma once

#include "schedulers/offering/admission.h"
#include "schedulers/offering/ccs_settings.h"

namespace millrace::sched {

class ComputePhaseAdmission : public CopyGate {
 public:
  explicit ComputePhaseAdmission(const CcsSettings& settings) : settings_(settings) {}

  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node, NodeLimits without) const override;
  [[nodiscard]] bool MayCopy(const ClusterState& state, JobId job, const NodeState& node) const override;

 private:
  const CcsSettings settings_;
};

}  // namespace millrace::sched
