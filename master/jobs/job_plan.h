// SPDX-License-Identifier: Apache-2.0
// Makes a job from a request: checks what it names, and makes its description for the engine and the inputs of its
// maps. Pure functions. Thread rule: control thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/status.h"
#include "dfs/name/types.h"
#include "master/cluster/file_system.h"
#include "master/jobs/job_record.h"
#include "master/jobs/pack_splits.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/events.h"

namespace millrace::master {

// Checks the inputs and the output, so that no job is accepted that would fail after its work is done. Clients check
// both before they submit, but clients of an earlier version do not. Returns kInvalid if the request has
// - the URL of another storage system as an input or the output: `s3://a/b`, or `/s3://a/b`, as earlier clients
//   wrote it,
// - an output path so long that the paths of the output files would exceed the limit,
// - options with which the output files cannot be made (output.block_size, output.replication).
// The paths are as the client sent them.
[[nodiscard]] Status CheckPlaces(const JobRequest& request);

// Returns the job's description for the engine, without its maps and the profile of its program.
[[nodiscard]] sched::JobSpec SpecOf(const JobRequest& request, Micros now);

// Cuts the inputs of the job into splits, and gives each map one or more of them. Returns kNotFound, naming the input,
// if one does not exist, and kDenied, naming it, if `reader` may not read one (splits.h).
[[nodiscard]] Result<std::vector<PackedSplits>> PlanMaps(const JobRequest& request, const FileSystem& files,
                                                         const sched::ClusterState& cluster,
                                                         const dfs::Principal& reader = dfs::Everybody());

// Returns the map's input as the scheduler describes it.
[[nodiscard]] sched::MapInput InputOf(const PackedSplits& map);

// Returns the block whose holders count as the holders of the whole split. Requires: the split has blocks.
[[nodiscard]] dfs::BlockId PlacingBlock(const Split& split);
// Returns the nodes that now have a replica of each of the map's splits, by rising id.
[[nodiscard]] std::vector<NodeId> ReplicasOf(const MapSplits& map, const FileSystem& files);

}  // namespace millrace::master
