// Finds the other node from which most of a map's input came. The rate at which the map got its input then measures the
// link between the two nodes. Pure. Thread rule: control thread.
#pragma once

#include <optional>

#include "dfs/name/types.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/jobs/job_record.h"
#include "schedulers/cluster/topology.h"

namespace millrace::master {

// Returns the node from which a map on `node` got more than half of the input that `node` did not have itself; nothing
// if there is no such node. Readers are assumed to go to the closest holder of a block first.
[[nodiscard]] std::optional<NodeId> MainInputSource(NodeId node, const MapSplits& splits, const FileSystem& files,
                                                    const sched::Topology& topology);

}  // namespace millrace::master
