// Which pending maps can matter for an assignment of all idle map slots: with a million pending maps and a hundred free
// slots, few of them.
//
// With S slots, no place needs more than the S cheapest maps that can run there: one of those is always left for it. So
// for each free node the first maps with their data on it are taken, for its rack and datacenter the first with their
// data there, and the first S of the whole queue, each by job order and index. All maps are taken when there are few.
// For up to 512 slots nothing is lost, but that among maps equally far from their data the queue decides before their
// size does; with more, maps behind the first 64 for each free slot of a node, rack or datacenter are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedulers/core/cluster_state.h"

namespace millrace::sched {

struct PendingMap {
  JobId job;
  std::uint32_t map = 0;
};

struct MapCandidates {
  std::vector<PendingMap> maps;  // by job order, then index
  bool all = false;              // nothing was left out
};

enum class CandidateReach : std::uint8_t {
  kNodes,   // the first few on each free node: enough if all slots get node-local maps
  kPlaces,  // as above
};

struct CandidateGroups {
  std::uint32_t count = 1;  // maps are taken of each group as if it were alone
  std::function<std::uint32_t(JobId)> of = [](JobId) { return 0u; };
};

[[nodiscard]] MapCandidates CollectCandidates(const ClusterState& state, CandidateReach reach,
                                              const CandidateGroups& groups);

}  // namespace millrace::sched
