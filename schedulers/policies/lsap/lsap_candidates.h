// The pending maps that can matter for an assignment of all idle map slots: with a million pending maps and a hundred
// free slots, they are few.
//
// With S slots, no place needs more than S maps that cost the same there: one of those is always left for it. So these
// maps are taken: for each free node the first with their data on it, by job order and index; for its rack and
// datacenter the first with their data there, by node, then in that order; and the first S of the whole queue. All maps
// are taken when there are few.
//
// This guarantees:
// - As many maps run as possible, if every map may run everywhere: the queue alone provides S.
// - Up to 512 slots, the cost is the least over all pending maps, if a map's cost depends only on its distance: maps of
//   one size, no measured bandwidths, no refused nodes, no waits, no fairness. Otherwise the first maps stand for those
//   after them, so the queue decides before size, bandwidth or, in lsap-fair, age and price within a group.
// - Above 512 slots a place takes no more than 64 maps for each of its free slots. If other slots need all of these, a
//   later map that could run at its data may be missed.
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
  std::uint32_t count = 1;  // maps are taken from each group as if it were alone
  std::function<std::uint32_t(JobId)> of = [](JobId) { return 0u; };
};

[[nodiscard]] MapCandidates CollectCandidates(const ClusterState& state, CandidateReach reach,
                                              const CandidateGroups& groups);

}  // namespace millrace::sched
