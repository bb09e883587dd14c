// SPDX-License-Identifier: Apache-2.0
// Greedy: the policy that offers each free slot to the jobs in the order of a JobOrder, and gives it to the first that
// takes it. fifo, fair, edf and others are Greedy with an order of their own (MakeGreedy in policies/catalog.cc).
//
// The rule, as code; `turn` is the node after the one that was served last:
//
//   for kind in map, reduce:
//     if kind is map, several nodes are free and one of them holds the data of the first job's first pending map:
//       if a map of the first job has its data there, too, and may run there: launch the first such map, and return
//     for node in the free nodes, by id from `turn` on:       // one slot each, as Hadoop's trackers ask one by one
//       for job in the order:
//         if a task of the job may run on the node:           // Admission says so: +delay, +ccs, space, bad nodes
//           launch the closest map, or the reduce with the lowest index, and return
//     if kind is map, with +delay: the same once more for jobs with more maps than there are slots at their data
//
// A compute permit (SlotKind) goes to the first job in the order with a reduce that waits on a node with a free permit,
// and among these reduces to the one that has waited longest.
//
// Greedy decides exactly as GreedyReference (reference.h), which makes all these offers at each call. Greedy makes
// fewer: a slot that every job refused is not offered again until an event could change the answer (refusal_memory.h),
// and with `+delay` a refused offer costs O(jobs with input on that node + jobs whose wait is over), not O(jobs)
// (slot_offers.h).
//
// Thread rule: one thread. Cost of an assignment: O(log) of nodes and jobs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class Greedy : public Policy {
 public:
  Greedy(std::string name, std::unique_ptr<JobOrder> order, Admission admission);
  ~Greedy() override;

  // Takes the order out of a policy that is nothing but a Greedy over it; null for any other policy. The policy ends.
  [[nodiscard]] static std::unique_ptr<JobOrder> TakeOrder(std::unique_ptr<Policy> policy);

  [[nodiscard]] std::string_view name() const override;
  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState& state) const override;
  [[nodiscard]] std::string Refusal(const JobSpec& spec) const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override;
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::optional<AttemptId> NextToCompute(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool MayHoldBack(const ClusterState& state, JobId job) const override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] bool WantsSlots(const ClusterState& state, TaskKind kind, Micros now) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, TaskKind kind, JobId job) const override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 protected:
  // Makes a copy that decides as `other` does. Requires: the order is a clone of other's order, or becomes one before
  // its first call.
  Greedy(const Greedy& other, std::unique_ptr<JobOrder> order);

  [[nodiscard]] JobOrder& order() const;
  [[nodiscard]] const Admission& admission() const;

 private:
  // Adds, for each job to which the order offers slots of the kind, the reason why it waits.
  void AddInTurn(const ClusterState& state, TaskKind kind, Micros now, PolicyView* view) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// GreedyOver: the base class of a policy that extends Greedy over an order of its own, which order() returns.
template <class Order>
class GreedyOver : public Greedy {
 public:
  GreedyOver(std::string name, std::unique_ptr<Order> order, Admission admission)
      : Greedy(std::move(name), std::move(order), std::move(admission)) {}

 protected:
  GreedyOver(const GreedyOver& other, std::unique_ptr<JobOrder> order) : Greedy(other, std::move(order)) {}

  [[nodiscard]] Order& order() const { return static_cast<Order&>(Greedy::order()); }
};

}  // namespace millrace::sched
