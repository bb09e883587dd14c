// Greedy: the policy that offers each free slot to the jobs in the order of a JobOrder, and gives it to the first that
// takes it. fifo, fair, capacity, sjf, mlq and edf are Greedy with an order of their own.
//
// A free map slot goes to the first job in order with a map that Admission lets run there, and of the job's maps to the
// closest, the one with the lowest index among equals. A free reduce slot goes to the first job in order with a reduce
// that may start there. Maps go before reduces. Of several free nodes one that holds the data of the first job's first
// pending map is served first, else the next in turn by id, one slot each (as Hadoop spreads tasks by its trackers'
// heartbeats).
//
// It decides as if it asked every job for every free slot whenever it is called. It asks fewer: a slot that every job
// refused is not offered again until something has happened that could change the answer (refusal_memory.h), and with
// `+delay` a refused offer costs O(jobs with input on that node + jobs whose wait is over), not O(jobs)
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

  [[nodiscard]] std::string_view name() const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override;
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 protected:
  [[nodiscard]] JobOrder& order() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// GreedyOver: what a policy derives from that adds something to Greedy over an order of its own. order() is that order.
template <class Order>
class GreedyOver : public Greedy {
 public:
  GreedyOver(std::string name, std::unique_ptr<Order> order, Admission admission)
      : Greedy(std::move(name), std::move(order), std::move(admission)) {}

 protected:
  [[nodiscard]] Order& order() const { return static_cast<Order&>(Greedy::order()); }
};

}  // namespace millrace::sched
