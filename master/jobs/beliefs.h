// What the master believes of the attempts on a worker that registers, to be settled against what the worker claims
// (base/protocol/settlement.h). Pure functions of const state. Thread rule: control thread.
#pragma once

#include <map>
#include <vector>

#include "base/ids/ids.h"
#include "base/protocol/settlement.h"
#include "master/cluster/node_table.h"
#include "master/jobs/job_table.h"
#include "schedulers/core/engine.h"

namespace millrace::master {

// What a worker says that it has. If an attempt is in several lists, the first of them counts.
struct Claims {
  std::vector<AttemptId> running, done, failed, served;
};

// Returns what the master believes of this attempt on this node.
[[nodiscard]] worker::Belief BeliefOf(NodeId node, const AttemptId& attempt, const JobTable& jobs,
                                      const sched::Engine& engine);

// Returns what the worker claims of every attempt that one of the two sides knows of; Claim::kUnknown where it does not
// mention the attempt. Requires: the engine knows the node.
[[nodiscard]] std::map<AttemptId, worker::Claim> GatherClaims(NodeId node, const Claims& claims, const JobTable& jobs,
                                                              const sched::Engine& engine);

}  // namespace millrace::master
