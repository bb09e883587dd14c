// NodeWatch: finds nodes that ail (master/cluster/node_judge.h) and keeps work from them. Workers say with their
// heartbeats how long their syncs take and whom they cannot reach, and are told with the answers whom to look at: by
// turns everybody, and at once whomever somebody does not reach, so that the others bear it out or do not.
//
// An ailing node takes no tasks, by the NodeDrained events of the journal, and no blocks that others can take. From
// one that others cannot reach nobody fetches anything either, so what runs there, and the map outputs there, are given
// up and run elsewhere. Its replicas count, and nothing is deleted for it. Thread rule: the control thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "master/cluster/node_judge.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

class Control;

// Somebody whom a worker could not reach the last time that it looked, or to whom a transfer of its could not connect.
struct UnreachedPeer {
  std::string host;
  std::uint16_t port = 0;
  std::uint32_t failures = 0;  // of looks, in a row; 0: it has not looked yet
};

class NodeWatch {
 public:
  static constexpr std::size_t kMostLooks = 8;         // of one worker after one heartbeat
  static constexpr std::uint32_t kLeastFailures = 2;   // that make an accusation
  static constexpr Micros kDoubtedFor = 10 * kSecond;  // how long others look at a node for whom somebody failed

  explicit NodeWatch(Control& control) : control_(control) {}  // requires: it outlives this

  // Takes in what the worker says with a heartbeat.
  void Heard(NodeId node, const std::vector<DiskPace>& disks, const std::vector<UnreachedPeer>& unreached);
  // Takes in that a writer could not get through to the node, so that workers look at it.
  void Doubt(NodeId node);
  // Forgets what the worker has said: it is lost, or starts anew.
  void Forget(NodeId node);
  // Returns at whom this worker is to look now: live workers, at most kMostLooks. O(live nodes + those not reached)
  [[nodiscard]] std::vector<NodeId> ToLookAt(NodeId asker);
  // Finds out who ails now, keeps work from them, and gives work to those that are well again. Call it now and then.
  // Requires: changes can be written.
  void Judge();

 private:
  struct Said {
    DiskPace pace;
    std::map<NodeId, std::uint32_t> unreached;  // how often in a row
  };
  [[nodiscard]] std::vector<NodeSigns> Signs() const;
  void Follow(NodeRecord& node, const Diagnosis* diagnosis);
  [[nodiscard]] std::optional<NodeId> At(const UnreachedPeer& peer) const;  // nothing if no live node is there

  Control& control_;
  NodeJudge judge_;
  std::map<NodeId, Said> said_;       // by live workers
  std::map<NodeId, Micros> doubted_;  // when a writer last failed there
  // At whom a worker has looked last.
  struct Turn {
    NodeId own, doubted;
  };
  std::map<NodeId, Turn> turns_;  // by worker
};

}  // namespace millrace::master
