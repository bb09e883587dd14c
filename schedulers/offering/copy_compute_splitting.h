// SPDX-License-Identifier: Apache-2.0
// CopyComputeSplitting: copy-compute splitting, CPAC (Zaharia et al., section 5.2; docs/schedulers/policies.md#ccs).
//
// The rule, as code, on a node with s reduce slots:
//
//   a job may start a reduce if the node holds fewer than max_reducers * s reduces, which copy, wait or compute,
//                           and fewer than s reduces of that job copy there
//   a reduce may compute    if fewer than s reduces compute there, or wait there ahead of it in the policy's order
//   a reduce stops copying when it has its permit (ReduceComputing, ComputeGranted)
//
// This class implements the first rule. The policy assigns the permits (Policy::NextToCompute), since they are scarce.
// While no more than s reduces run on the node, there are permits for all, and a reduce computes without asking.
//
// A new reduce goes to a node where fewer than s reduces run, if there is one, since it cannot leave its node to
// compute.
//
// Map slots and slots without a type stay as they are: the reduces beyond the slots do not use them up.
#pragma once

#include <memory>
#include <string_view>

#include "schedulers/offering/admission.h"

namespace millrace::sched {

class KeyList;

// CcsSettings: the number of reduces that a node holds under copy-compute splitting.
struct CcsSettings {
  double max_reducers = 3;  // the most reduces that a node holds, as a multiple of its reduce slots; at least 1

  static constexpr std::string_view kSection = "ccs";
  static constexpr std::string_view kOneLine = "With +ccs.";
};

void Declare(KeyList& keys, CcsSettings& settings);

class CopyComputeSplitting : public CopyGate {
 public:
  explicit CopyComputeSplitting(const CcsSettings& settings) : settings_(settings) {}

  [[nodiscard]] std::unique_ptr<CopyGate> Clone() const override {
    return std::make_unique<CopyComputeSplitting>(settings_);
  }
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node, NodeLimits without) const override;
  [[nodiscard]] std::uint32_t CopyRoom(JobId job, const NodeState& node) const override;
  [[nodiscard]] std::vector<Fact> Facts() const override;

 private:
  const CcsSettings settings_;
};

}  // namespace millrace::sched
