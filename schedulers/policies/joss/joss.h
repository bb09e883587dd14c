// SPDX-License-Identifier: Apache-2.0
// joss-t, joss-j: JoSS for clusters over several datacenters (Lee, Lin, Yahyapour, "Hybrid Job-driven Scheduling for
// Virtual MapReduce Clusters"; docs/schedulers/policies.md#joss).
//
// JossHomes (joss_homes.h) decides where the tasks of a job belong, by policies A, B and C. Joss decides which task
// gets a free slot on a node (section 4.3). The rule, as code:
//
//   the first task that may run of MQ_FIFO or RQ_FIFO, as in `fifo`; else from the node's datacenter's queues, in turn,
//     a map, joss-t: the first of the queue
//     a map, joss-j: the closest: of those with data on the node, that of the first job by priority and submit order,
//                    else the first with data in the datacenter, else the first
//     a reduce: the first that may start
//
// Free nodes are served in turn by id, datacenters in turn by number. joss-j chooses the node as `fifo` does
// (offering/greedy.h): if free nodes of the datacenter hold the data of the first map of the queue whose turn it is,
// the first such node is served first. Joss decides exactly as JossReference (reference.h).
//
// Additions to the paper, beside those of JossHomes:
// - The choice of a node. The paper's nodes ask one by one, so the paper has no choice to make, nor has its FIFO.
// - A map whose output does not fit on the node lets maps behind it go first if their outputs are smaller.
// - With fewer than two live datacenters Joss runs as `fifo`, and reports this.
//
// Thread rule: one thread. Cost of an assignment: O(log) of tasks and jobs, and a walk past free nodes of other
// datacenters where the node ids of several datacenters are mixed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/policies/joss/joss_fifo.h"
#include "schedulers/policies/joss/joss_homes.h"
#include "schedulers/policies/joss/joss_queues.h"
#include "schedulers/policies/joss/joss_settings.h"

namespace millrace::sched {

// Greedy serves MQ_FIFO and RQ_FIFO.
class Joss : public GreedyOver<JossFifo> {
 public:
  enum class Assigner : std::uint8_t { kTask, kJob };  // joss-t, joss-j

  Joss(Assigner assigner, const JossSettings& settings);

  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState& state) const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  Limits BeginRound(const ClusterState& state, Micros now) override;
  // Permits are assigned by priority and submit order, since JossFifo does not know the jobs that have homes.
  std::optional<AttemptId> NextToCompute(const ClusterState& state, Micros now) override {
    return Policy::NextToCompute(state, now);
  }
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  // Every job may run, including those in queues of datacenters.
  [[nodiscard]] bool WantsSlots(const ClusterState& state, TaskKind kind, Micros now) const override;
  [[nodiscard]] bool MayRun(const ClusterState&, TaskKind, JobId) const override { return true; }
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  Joss(const Joss& other, std::unique_ptr<JobOrder> order)
      : GreedyOver(other, std::move(order)), assigner_(other.assigner_), homes_(other.homes_), turns_(other.turns_) {}

  using Share = JossQueues::Share;
  using Queue = JossQueues::ReadyQueues::value_type;
  // kMoved: the task that would have been next has been moved to another datacenter, and waits there.
  enum class Outcome : std::uint8_t { kTaken, kRefused, kMoved };
  // The outcome of an offer of slots, and the launch if it was taken.
  struct Answer {
    Outcome outcome = Outcome::kRefused;
    TaskId task;
    NodeId node;
  };

  // Returns the reason why the job waits. Requires: its tasks of the kind are in queues of datacenters.
  [[nodiscard]] WaitView WhyWaitsAtHome(const ClusterState& state, TaskKind kind, JobId job, Micros now) const;
  std::optional<Decision> NextOf(const ClusterState& state, TaskKind kind);
  // Offers the free slots of the datacenter.
  Answer OfferIn(const ClusterState& state, TaskKind kind, CenterId center);
  // Offers to the queue in turn a free node with the data of the queue's first map, if there is one.
  Answer OfferAtData(const ClusterState& state, CenterId center);
  // Offers the node to the queues in turn.
  Answer OfferNode(const ClusterState& state, TaskKind kind, CenterId center, NodeId node);
  Answer OfferToQueue(const ClusterState& state, TaskKind kind, const Queue& queue, NodeId node);
  // Offers the node to the maps of the queue that have their data on it.
  Answer OfferToLocal(const ClusterState& state, const Queue& queue, NodeId node);
  Answer OfferToFirst(const ClusterState& state, const std::map<std::int64_t, Share*>& line, NodeId node);
  // `at_data`: the task is a map with its data on the node, and so in the node's datacenter.
  Outcome Check(const ClusterState& state, const TaskId& task, NodeId node, bool at_data);

  const Assigner assigner_;
  JossHomes homes_;
  struct Turns {
    CenterId center = 0;
    std::vector<std::uint32_t> node;  // by datacenter
  };
  PerKind<Turns> turns_;
};

}  // namespace millrace::sched
