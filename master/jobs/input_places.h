// SPDX-License-Identifier: Apache-2.0
// InputPlaces finds the maps of live jobs that have to be examined because the replicas of their inputs may have moved
// (re-replication, a worker that was lost or came back, balancing, a bad replica). The engine uses the places that a
// map's input had at the job's submission until a sched::ReplicasMoved changes them.
//
// It names the maps with a replica that has moved, and the maps that run again. A map that is done need not be
// examined, but if its output is lost it runs again. Nothing is stored: after a start every map is examined once. Pure.
// Thread rule: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids/ids.h"
#include "dfs/name/block_manager.h"
#include "dfs/name/types.h"
#include "master/cluster/file_system.h"
#include "master/jobs/job_record.h"
#include "schedulers/cluster/topology.h"

namespace millrace::master {

class InputPlaces {
 public:
  // Watches the inputs of a job's maps. Requires: the job is not watched yet.
  void Watch(JobId job, const std::vector<MapSplits>& maps, dfs::BlockManager& blocks);
  // Undoes Watch. Requires: `maps` are those given to Watch.
  void Unwatch(JobId job, const std::vector<MapSplits>& maps, dfs::BlockManager& blocks);
  // Makes a later call of Take return the map.
  void Doubt(const TaskId& map) { doubted_.insert(map); }
  // Returns at most `most` maps to examine, in turn, each only once until it is in doubt again. O(maps returned + maps
  // of one block)
  [[nodiscard]] std::vector<TaskId> Take(std::size_t most, dfs::BlockManager& blocks);

 private:
  struct Reader {
    JobId job;
    std::uint32_t map = 0;
    bool operator==(const Reader&) const = default;
  };

  std::unordered_multimap<dfs::BlockId, Reader> readers_;  // of watched blocks
  std::set<TaskId> doubted_;
  TaskId last_;  // the maps after this one are next
};

// Returns the node from which a map on `node` got more than half of the input that `node` did not have itself; nothing
// if there is no such node. The rate at which the map got its input then measures the link between the two nodes.
// Readers are assumed to go to the closest holder of a block first.
[[nodiscard]] std::optional<NodeId> MainInputSource(NodeId node, const MapSplits& splits, const FileSystem& files,
                                                    const sched::Topology& topology);

}  // namespace millrace::master
