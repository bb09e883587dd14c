// ComputePhaseAdmission: copy-compute splitting, CPAC (Zaharia et al., section 5.2; docs/policies.md#ccs). It is the
// master's side of `+ccs`; the worker gives the compute permits, at most one for each reduce slot.
//
// The rule, as code, on a node with s reduce slots:
//
//   a job may start a reduce if the node holds fewer than max_reducers * s reduces, which copy, wait or compute,
//                           and fewer than s reduces of that job copy there
//   a reduce may compute    if fewer than s reduces compute there      // the worker's permits, first come first served
//   a reduce ceases to copy when it has its permit (ReduceComputing)
//
// Map slots and slots without a type stay as they are: the reduces beyond the slots come on top.
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
