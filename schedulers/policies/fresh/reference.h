// SPDX-License-Identifier: Apache-2.0
// Algorithm 1 of FRESH as it is printed (Wang et al.) and mended in docs/schedulers/policies.md#fresh. It is slow; only
// tests link it, to check that slot_split.h gives every makespan, and the least of them. Thread rule: a free function
// over its arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/policies/fresh/slot_split.h"

namespace millrace::sched {

// Returns the time at which the batch ends with s_m map slots and s_r reduce slots: lines 6 to 21 of Algorithm 1, one
// round of the while loop after another.
[[nodiscard]] double PlayAlgorithmOne(const std::vector<PhaseProfile>& batch, double s_m, double s_r, std::uint32_t k);

}  // namespace millrace::sched
