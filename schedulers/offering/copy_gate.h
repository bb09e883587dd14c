// ComputePhaseAdmission: copy-compute splitting, CPAC (Zaharia et al., section 5.2; docs/policies.md#ccs). What `+ccs`
// is on the master's side; the compute permits, at most one a reduce slot, are the worker's.
//
// A node holds max_reducers x its reduce slots of reduces, copying, waiting for a permit or computing, of one job at
// most as many as its reduce slots in copy. A reduce leaves copy when it has its permit (ReduceComputing). Map slots
// and slots without a type stay as they are: the reduces beyond the slots come on top.
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
