// SPDX-License-Identifier: Apache-2.0
// fresh-static: the split of slots into map and reduce slots that ends the batch first (Wang et al., "FRESH",
// Algorithm 1; docs/schedulers/policies.md#fresh; slot_split.h).
//
// The rule, as code, when a job has come, has failed or was killed, or the slots of the cluster have changed:
//
//   batch = for each live job, those in R first, then R', M and those that wait:
//             (n_m, t_m, n_r, t_r) of the tasks that are not done                              // section IV
//   S = the slots of all nodes that take tasks, of both kinds together
//   s_m = BestSplit(batch, S, k)                                                               // Algorithm 1
//   node i gets floor(s_m * (slots of nodes 0 to i) / S) map slots less those of the nodes before it
//
// A free slot of a kind is assigned by `fair` among the jobs that may run tasks of that kind (phase_admission.h has k,
// M and R, fresh_fair_order.h the order). So a reduce starts when all maps of its job are done, whatever the job's slow
// start.
//
// The paper knows the batch before the cluster starts. Here the batch is the live jobs. When a job comes, when one
// fails or is killed, and when the slots of the cluster change, the split is computed again for the remaining tasks of
// all jobs, those in R first, then R', M and those that wait. A job that ends as planned changes nothing. Task times
// are those of the job's finished tasks, else the user's estimates, else those of the history, else the cluster's mean.
// A node that runs more tasks of a kind than its new split allows gets no further tasks of that kind until enough of
// them have ended. A cluster with one slot uses it for both kinds.
//
// If a job refuses every node with slots of a kind (too many of its attempts failed there), the slots that do not
// divide evenly go to other nodes. They also go to other nodes when no map runs, and no map that may run fits on a node
// with map slots. Where a slot serves both kinds, a reduce gives its slot to a map that it waits for
// (stalled_reduces.h).
//
// Thread rule: one thread. It costs what `fair` costs; a new split costs O(jobs log jobs + nodes).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/offering/greedy.h"
#include "schedulers/policies/fresh/fresh_fair_order.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

class FreshStatic : public GreedyOver<FreshFairOrder> {
 public:
  FreshStatic(std::string name, const Settings& settings, Admission admission);

  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState& state) const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override;
  // Computes the split again if it is due.
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::uint32_t MapsBeforeReduces(const ClusterState& state, JobId job) const override {
    return state.FindJob(job)->progress.maps;
  }
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

  [[nodiscard]] const PhaseAdmission& admission() const { return order().admission(); }
  // Returns s_m; 0 before the first split.
  [[nodiscard]] std::uint32_t map_slots() const { return map_slots_; }

 private:
  FreshStatic(const FreshStatic& other, std::unique_ptr<JobOrder> order);
  // Notes the nodes that take tasks, and their slots. Returns true if they differ from those of the split.
  bool NoteNodes(const ClusterState& state);
  // Computes the split for the remaining tasks of the live jobs.
  void Split(const ClusterState& state);
  // Spreads map_slots_ over the nodes, from turn_.
  void Spread();
  // Moves turn_ until no job refuses every node with slots of a kind, if that is possible.
  void AvoidRefusals(const ClusterState& state);
  // Moves turn_ until some map fits on a node with map slots, if that is possible.
  void AvoidFullNodes(const ClusterState& state);
  // Returns the jobs with a map that may run.
  [[nodiscard]] std::vector<JobId> JobsWithMaps(const ClusterState& state) const;
  [[nodiscard]] bool RefusedEverywhere(const ClusterState& state, TaskKind kind, JobId job) const;

  const std::uint32_t k_;
  std::vector<std::pair<NodeId, std::uint32_t>> nodes_;  // nodes that take tasks, with their slots, by id
  std::uint32_t slots_ = 0;                              // of all nodes_
  std::uint32_t map_slots_ = 0, turn_ = 0;
  std::vector<std::optional<std::uint32_t>> node_maps_;  // by node id: its map slots; empty if it was not in the split
  std::set<JobId> refused_;                              // jobs that may refuse nodes
  bool batch_changed_ = false, nodes_changed_ = true, limits_changed_ = false;
};

}  // namespace millrace::sched
