// SPDX-License-Identifier: Apache-2.0
// Gathers the master's beliefs about the attempts on a worker that registers, and the worker's claims, so that the two
// can be settled against each other (base/protocol/settlement.h). Pure functions of const state. Thread rule: control
// thread.
#pragma once

#include <map>
#include <vector>

#include "base/ids/ids.h"
#include "base/protocol/settlement.h"
#include "master/cluster/node_table.h"
#include "master/jobs/job_table.h"
#include "schedulers/core/engine.h"

namespace millrace::master {

// The attempts that a worker says it has. If an attempt is in several lists, the first of them counts.
struct Claims {
  std::vector<AttemptId> running, done, failed, served;
};

// Returns the master's belief about this attempt on this node.
[[nodiscard]] worker::Belief BeliefOf(NodeId node, const AttemptId& attempt, const JobTable& jobs,
                                      const sched::Engine& engine);

// Returns the worker's claim about every attempt that either side knows of; Claim::kUnknown for one that the worker
// does not mention. Requires: the engine knows the node.
[[nodiscard]] std::map<AttemptId, worker::Claim> GatherClaims(NodeId node, const Claims& claims, const JobTable& jobs,
                                                              const sched::Engine& engine);

}  // namespace millrace::master
