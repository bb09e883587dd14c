// SPDX-License-Identifier: Apache-2.0
// The pending maps that can matter for an assignment of all idle map slots. For a hundred free slots they are few, even
// among a million pending maps.
//
// With S slots, no place needs more than S maps that cost the same there, since one of those is always left for it. So
// these maps are taken. For each free node: the first maps with their data on the node, by job order and index. For its
// rack and datacenter: the first maps with their data there, by node, then by job order and index. From the whole
// queue: the first S maps. All maps are taken when there are few.
//
// This guarantees:
// - As many maps run as possible, if every map may run everywhere: the queue alone provides S.
// - With up to 512 slots, the cost is the least over all pending maps, if a map's cost depends only on its distance
//   (maps of one size, no measured bandwidths, no refused nodes, no waits, no fairness). Otherwise the first maps stand
//   for those after them, so the order of the queue takes precedence over size, bandwidth and, within a group of
//   lsap-fair, age and price.
// - With more than 512 slots, no more than 64 maps are taken for each free slot of a place. If other slots need all of
//   these maps, a later map that could run at its data may be missed.
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
  kPlaces,  // on the racks and datacenters of free nodes, too, as above
};

struct CandidateGroups {
  std::uint32_t count = 1;  // maps are taken from each group as if it were alone
  std::function<std::uint32_t(JobId)> of = [](JobId) { return 0u; };
};

[[nodiscard]] MapCandidates CollectCandidates(const ClusterState& state, CandidateReach reach,
                                              const CandidateGroups& groups);

}  // namespace millrace::sched
