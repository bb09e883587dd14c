// SPDX-License-Identifier: Apache-2.0
// OutputMoves plans copies of map outputs of running jobs from nodes that will leave: which output goes to which node,
// and how often its copy has failed. Pure. Thread rule: the control thread.
//
// An output is copied whole, all partitions, to a node that stays. Until that node serves the output, the old one does.
// Then the new place is reported to the engine (sched::OutputMoved), and reduces fetch the output from there; the
// attempt that made it remains the winner of its map. An output that cannot be copied is lost with its node, and its
// map runs again.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "master/jobs/orders.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {

// Returns the outputs on this node for reduces of live jobs, in order. O(outputs of the node)
[[nodiscard]] std::vector<AttemptId> OutputsOn(NodeId node, const sched::ClusterState& cluster);

class OutputMoves {
 public:
  static constexpr unsigned kMostTo = 2;        // copies under way to one node: one runs, the next one waits
  static constexpr unsigned kMostFailures = 4;  // after this many, the output is no longer copied

  // Returns the copies of outputs on the `leaving` nodes that should start now. Targets are nodes that take tasks and
  // are not leaving. The one with the fewest copies under way comes first, and among equals the one to which the fewest
  // outputs were sent so far.
  std::vector<OutputCopyOrder> Next(const sched::ClusterState& cluster, const std::set<NodeId>& leaving);
  // Notes that a copy has ended; `made` says whether it succeeded.
  void End(const OutputCopyOrder& copy, bool made);

 private:
  struct UnderWay {
    NodeId to, from;
  };
  void DropStale(const sched::ClusterState& cluster);
  [[nodiscard]] bool CanTake(const sched::NodeState& node, const std::set<NodeId>& leaving) const;

  std::map<AttemptId, UnderWay> under_way_;
  std::map<NodeId, unsigned> to_;            // the number of copies under way to each node
  std::map<NodeId, std::uint64_t> went_to_;  // the number of copies to each node so far
  std::map<AttemptId, unsigned> failures_;   // of outputs of live jobs
};

// Predicts whether an attempt will end before its node leaves: returns whether it will end within `left`, less
// kLeavingMargin, which is kept for copying the attempt's output to another node. Extrapolates from the `fraction`, 0
// to 1, that the attempt has done in `elapsed`. An attempt without known progress is assumed to need as long again as
// it has run, but at least kBeginning.
inline constexpr Micros kLeavingMargin = 5 * kSecond;

[[nodiscard]] constexpr bool EndsInTime(Micros elapsed, double fraction, Micros left) {
  constexpr Micros kBeginning = 10 * kSecond;
  constexpr double kLeastKnown = 0.02;
  const Micros usable = left - kLeavingMargin;
  if (usable <= 0) return false;
  if (fraction < kLeastKnown) return elapsed < kBeginning ? kBeginning <= usable : elapsed <= usable;
  return static_cast<double>(elapsed) * (1 - fraction) / fraction <= static_cast<double>(usable);
}

}  // namespace millrace::master
