// Which pending maps can matter for an assignment of all idle map slots: with a million pending maps and a hundred free
// slots, few of them.
//
// With S slots, no place needs more than S maps that cost the same there: one of those is always left for it. So for
// each free node the first maps with their data on it are taken, by job order and index; for its rack and datacenter
// the first with their data there, by node, then in that order; and the first S of the whole queue. All maps are taken
// when there are few.
//
// What that guarantees:
// - As many maps run as could, if every map may run everywhere: the queue alone has S.
// - Up to 512 slots, the cost is the least of all pending maps, if a map's cost depends on its distance alone: maps of
//   one size, no measured bandwidths, no refused nodes, no waits, no fairness. Where these differ the first maps stand
//   for those after them, so the queue decides before size, bandwidth or, in lsap-fair, age and price within a group.
// - Above 512 slots a place takes no more than 64 maps for each of its free slots. If other slots need all of those, a
//   map after them that could run at its data may be missed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedulers/cluster/cluster_state.h"

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
