// SPDX-License-Identifier: Apache-2.0
// psbs: practical size-based scheduling that learns (Dell'Amico et al., "PSBS: Practical Size-Based Scheduling", IEEE
// Transactions on Computers 2016, arXiv 1410.6122; for MapReduce "HFSP", Pastorelli et al., IEEE BigData 2013;
// docs/schedulers/newer.md#psbs). Jobs get the slots one after another, in the order in which fair sharing would end
// them. So small jobs do not wait for large ones, and no job ends later than under fair sharing, as far as the sizes
// are right and whole tasks allow.
//
// The rule, as code, for a free slot of a kind on a node; sizes are learnt as sized_order.h says, and the virtual
// cluster of a phase is a VirtualQueue (virtual_queue.h) in which a job has the weight of its priority:
//
//   key(job) = g when the job entered the phase + size / weight
//   late     = key <= g: the job has ended in the virtual cluster, and runs still
//   for job in the late jobs, by running tasks of the kind / weight, then key, then id; then in the others, by key:
//     if the job has a task that may run on the node: launch the closest, and return
//
// A job whose size was too small becomes late, and all late jobs share the slots before the others. When its tasks have
// shown the true size, its key is larger and it goes back to its place. A job whose size was too large does not keep
// its rivals waiting once its first task has ended. The virtual cluster has no tasks: there a job may use all slots
// at once, however few tasks it has.
//
// Differences from the paper: sizes are corrected; a job that ends well stays in the virtual cluster with its true
// size, not with its estimate; one that is killed or fails leaves it. Thread rule: one thread. Cost: sized_order.h.
#pragma once

#include <memory>

#include "schedulers/policies/virtual/sized_order.h"
#include "schedulers/policies/virtual/virtual_queue.h"

namespace millrace::sched {

class PsbsOrder : public SizedOrder {
 public:
  // `reduces`: the kind of slots that reduces share: kReduceSlot, or kComputePermit with `+ccs`.
  explicit PsbsOrder(SlotKind reduces = kReduceSlot) : SizedOrder(reduces) {}

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<PsbsOrder>(*this);
  }

 protected:
  void Work(TaskKind phase, Micros slots, Micros passed, Micros now) override;
  void Resize(TaskKind phase, const JobState& job, const JobSize& size, Micros now) override;
  void End(TaskKind phase, JobId job, bool served, Micros now) override;
  [[nodiscard]] Rank RankOf(SlotKind kind, const JobState& job) const override;

 private:
  struct Job {
    Micros entered = 0;  // g at that time
    Micros key = 0;
    JobSize size;
  };

  PerKind<VirtualQueue<JobId>> queues_;
  PerKind<JobTable<Job>> jobs_;
};

}  // namespace millrace::sched
