// SPDX-License-Identifier: Apache-2.0
// Writes what clients are told of a node. Thread rule: the control thread.
#pragma once

#include "base/protocol/master.capnp.h"
#include "master/cluster/clearance.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/master_clock.h"
#include "master/control/workers.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// The parts of the master that know of nodes.
struct NodeViewParts {
  const MasterClock& clock;
  const FileSystem& files;
  const JobTracker& jobs;
  const Workers& workers;
};

[[nodiscard]] wire::GoState GoStateOf(Clearance clearance);
void WriteNode(const NodeViewParts& master, const NodeRecord& node, wire::NodeStatus::Builder out);

}  // namespace millrace::master
