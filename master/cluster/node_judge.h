// NodeJudge: which nodes ail, by what the workers report. An ailing node lives and its master hears it, so no heartbeat
// tells; but the syncs of a disk have become slow there, or other nodes cannot reach it. Pure; times are on whatever
// clock the caller uses throughout. Thread rule: one thread.
//
// Slow: the median sync of the node's slowest disk takes kSlowest or more, and kTimesSlower times as long as the median
// of the other nodes. A node that ails for this does so until it takes less than half of both.
//
// Out of reach: two nodes are apart if one of them reports that it cannot reach the other. A node is to blame if it is
// apart from kAccusers others (from all others where there are fewer), or cannot reach most of the others and at least
// two. The worst is found first, and what it says, and what is said of it, then counts for nobody else: so a node that
// reaches nobody is to blame, and not those that it names. A node that ails for this does so while it is apart from
// half as many.
//
// Whoever ails has to be well for kWellFor before it counts as well. Not more than a third of the nodes ail at a time,
// and never so many that no other node has slots of a kind. If more nodes than may ail would have to be out of reach to
// explain the reports, the network is at fault and no further node is blamed; of slow nodes the slowest ail, where
// those out of reach leave any. Fewer than three nodes accuse nobody.
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

// What is known of a node that is alive and in use.
struct NodeSigns {
  NodeId node;
  std::uint32_t map_slots = 0, reduce_slots = 0;
  DiskPace pace;                  // no syncs: nothing is known of its disks
  std::vector<NodeId> unreached;  // whom it has tried to reach more than once, in vain, the last time too
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
  static constexpr std::uint32_t kLeastSyncs = 3;  // of a disk of which anything is said
  static constexpr std::size_t kAccusers = 3;
  static constexpr Micros kWellFor = 10 * kSecond;
  static constexpr std::size_t kShare = 3;  // one in so many may ail

  // Takes in how all nodes that are alive and in use are now. Returns those that ail; the reference is valid until the
  // next call. Requires: they come by rising number. O(n log n + pairs that are apart, times nodes to blame).
  const std::map<NodeId, Diagnosis>& Judge(const std::vector<NodeSigns>& nodes, Micros now);

 private:
  struct Suspect {
    NodeId node;
    Diagnosis diagnosis;
  };
  [[nodiscard]] bool Ails(NodeId node, Ailment ailment) const;
  // These return the nodes that the signs speak against: of slow ones the slowest first, of others those that ail.
  [[nodiscard]] std::vector<Suspect> Slow(const std::vector<NodeSigns>& nodes) const;
  [[nodiscard]] std::vector<Suspect> OutOfReach(const std::vector<NodeSigns>& nodes) const;

  std::map<NodeId, Diagnosis> ailing_;
  std::map<NodeId, Micros> seen_;  // of those: when the signs last spoke against them
};

}  // namespace millrace::master
