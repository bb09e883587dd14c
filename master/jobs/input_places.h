// InputPlaces: which maps of live jobs have to be looked at because the replicas of their inputs may have moved
// (re-replication, a worker that was lost or came back, balancing, a bad replica). The engine takes the places of a
// map's input as they were when the job was submitted, until it is told otherwise (sched::ReplicasMoved).
//
// It only says which maps to look at: those of which a replica has moved, and those that run again. Nobody has to look
// at a map that is done, but its output may be lost. Nothing is stored: after a start every map is looked at once.
// Pure. Thread rule: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids/ids.h"
#include "dfs/name/block_manager.h"
#include "dfs/name/types.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

class InputPlaces {
 public:
  // Watches the inputs of a job's maps. Requires: the job is not watched yet.
  void Watch(JobId job, const std::vector<MapSplits>& maps, dfs::BlockManager& blocks);
  // Undoes it; `maps` are those given to Watch.
  void Unwatch(JobId job, const std::vector<MapSplits>& maps, dfs::BlockManager& blocks);
  // Has the map looked at.
  void Doubt(const TaskId& map) { doubted_.insert(map); }
  // Returns maps to look at, at most `most`, each once until it is in doubt anew; the maps come in turn. O(maps
  // returned), and one block's maps.
  [[nodiscard]] std::vector<TaskId> Take(std::size_t most, dfs::BlockManager& blocks);

 private:
  struct Reader {
    JobId job;
    std::uint32_t map = 0;
    bool operator==(const Reader&) const = default;
  };

  std::unordered_multimap<dfs::BlockId, Reader> readers_;  // of watched blocks
  std::set<TaskId> doubted_;
  TaskId last_;  // the turn comes to the maps after this one
};

}  // namespace millrace::master
