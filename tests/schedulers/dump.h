// SPDX-License-Identifier: Apache-2.0
// Returns the whole state of an engine as text, for tests that compare two engines.
#pragma once

#include <string>

#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

std::string Dump(const ClusterState& state);

}  // namespace millrace::sched
