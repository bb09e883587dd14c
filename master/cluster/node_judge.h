// SPDX-License-Identifier: Apache-2.0
// NodeJudge finds ailing nodes from the reports of the workers. An ailing node is alive and its heartbeats arrive, but
// the syncs of one of its disks have become slow, or other nodes cannot reach it. Pure; all times are on one clock of
// the caller's choice. Thread rule: one thread.
//
// Slow: the median sync of the node's slowest disk takes kSlowest or more, and kTimesSlower times as long as the median
// of the other nodes. The node then ails until its median is below half of the larger of these limits.
//
// Out of reach: two nodes are apart if one of them reports that it cannot reach the other. A node is to blame if it is
// apart from kAccusers others (from all others where there are fewer), or cannot reach most of the others and at least
// two. The worst node is found first; after that, its own reports and the reports about it no longer count against any
// other node. So a node that reaches nobody is itself to blame, and not the nodes that it names. A node that is to
// blame ails while it is apart from at least half of kAccusers.
//
// An ailing node is well again once nothing has spoken against it for kWellFor. At most a third of the nodes ail at a
// time, and some other node always keeps slots of each kind. If the reports can only be explained by more nodes out of
// reach than may ail, the network is at fault and no further node is blamed. Slow nodes, the slowest first, take the
// places that nodes out of reach leave. If there are fewer than three nodes, none ails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace::master {

// The recent syncs of a node's slowest disk (dfs/data/sync_meter.h).
struct DiskPace {
  std::string disk;
  std::uint32_t syncs = 0;
  Micros median = 0, worst = 0;
};

// The signs of a node that is alive and in use.
struct NodeSigns {
  NodeId node;
  std::uint32_t map_slots = 0, reduce_slots = 0;
  DiskPace pace;                  // no syncs: nothing is known of its disks
  std::vector<NodeId> unreached;  // nodes that it failed to reach more than once, and failed to reach the last time
};

enum class Ailment : std::uint8_t { kSlowDisk, kOutOfReach };

struct Diagnosis {
  Ailment ailment = Ailment::kSlowDisk;
  std::string reason;  // for people: "the syncs of /data take 2.1 s, ..."
};

class NodeJudge {
 public:
  static constexpr Micros kSlowest = kSecond;
  static constexpr Micros kTimesSlower = 10;
  static constexpr std::uint32_t kLeastSyncs = 3;  // a disk with fewer is not judged
  static constexpr std::size_t kAccusers = 3;
  static constexpr Micros kWellFor = 10 * kSecond;
  static constexpr std::size_t kShare = 3;  // one node in this many may ail

  // Takes in the signs of all nodes that are alive and in use. Returns the nodes that ail; the reference is valid until
  // the next call. Requires: `nodes` is sorted by number. O(n log n + pairs that are apart x nodes to blame)
  const std::map<NodeId, Diagnosis>& Judge(const std::vector<NodeSigns>& nodes, Micros now);

 private:
  struct Suspect {
    NodeId node;
    Diagnosis diagnosis;
  };
  [[nodiscard]] bool Ails(NodeId node, Ailment ailment) const;
  // These return the nodes that the signs speak against: Slow with the slowest first, OutOfReach with those that ail
  // already first.
  [[nodiscard]] std::vector<Suspect> Slow(const std::vector<NodeSigns>& nodes) const;
  [[nodiscard]] std::vector<Suspect> OutOfReach(const std::vector<NodeSigns>& nodes) const;

  std::map<NodeId, Diagnosis> ailing_;
  std::map<NodeId, Micros> seen_;  // for ailing nodes: when the signs last spoke against them
};

}  // namespace millrace::master
