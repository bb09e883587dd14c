// SPDX-License-Identifier: Apache-2.0
// capacity: queues with guaranteed shares of the slots (Hadoop 1's CapacityTaskScheduler;
// docs/schedulers/policies.md#capacity).
//
// The rule, as code, for a free slot of a kind on a node; maps and reduces are counted apart:
//
//   for queue in the queues, by running / capacity, then by name:          // capacity 0 comes last
//     if the queue is at its ceiling, max(1, floor(slots * max_capacity %)): continue
//     for at_limit in no, yes:                                             // a limit idles no slot, as in Hadoop
//       for job in the queue's jobs, by priority if the queue supports it, then submit order:
//         if (the job's user holds their limit or more) != at_limit: continue
//         if the job has a task that may run on the node: launch the closest, and return
//
//   limit of a user = max(queue's slots / active users, queue's slots * user_limit %); none if user_limit is 100
//   queue's slots   = its capacity, or its running tasks + 1 if that is more than its capacity
//   active          = has a running or runnable task of that kind in the queue
//
// So the unused capacity of a queue is lent out, and comes back as tasks finish; nothing is preempted.
//
// A job belongs to the queue that it names, else to one with its user's name, else to "default". A "default" without
// settings gets the capacity that the other queues leave, or all of it if there are no others. Where queues have
// settings, a job that names another queue is refused at its submission, as in Hadoop. Such a job that was submitted
// before those settings belongs to its user's queue or to "default".
//
// Thread rule: one thread. A change costs O(log jobs). An offer costs O(queues), and in a queue with user limits O(jobs
// ahead whose users are at their limit).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedulers/cluster/job_table.h"
#include "schedulers/offering/job_order.h"
#include "schedulers/policies/simple/capacity_settings.h"

namespace millrace::sched {

class CapacityOrder : public JobOrder {
 public:
  // `reduces`: the kind by which reduces count towards ceilings and user limits. It is kReduceSlot, or kComputePermit
  // with `+ccs`, since a reduce that copies or waits takes no part of the capacity.
  explicit CapacityOrder(const std::map<std::string, QueueSettings>& queues, SlotKind reduces = kReduceSlot);

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState& state) const override;
  [[nodiscard]] std::string Refusal(const JobSpec& spec) const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;
  [[nodiscard]] bool MayHoldBack(const ClusterState& state, JobId job) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  struct Held {
    std::uint32_t running = 0, demand = 0;
  };
  struct User {
    PerSlot<Held> counts;
    std::uint32_t jobs = 0;
  };
  struct Queue {
    std::string name;
    QueueSettings settings;
    PerSlot<std::set<QueueKey>> runnable;
    std::map<std::string, User> users;  // the users with live jobs, by name
    PerSlot<std::uint32_t> active_users = {};
    PerSlot<Held> counts;
    std::uint32_t jobs = 0;
  };
  struct Job {
    Queue* queue = nullptr;
    std::map<std::string, User>::iterator user;  // of the queue
    QueueKey key;                                // the key under which it is listed
    PerSlot<bool> runnable = {};
    PerSlot<Held> counts;
  };

  Queue& QueueFor(const JobSpec& spec);
  void Count(Job& job, SlotKind kind, const Held& now);
  void Unlist(Job& job);
  [[nodiscard]] static std::uint32_t Ceiling(const ClusterState& state, SlotKind kind, const Queue& queue);
  [[nodiscard]] bool AtCeiling(const ClusterState& state, SlotKind kind, const Queue& queue) const;
  [[nodiscard]] bool AtLimit(const ClusterState& state, SlotKind kind, const Queue& queue, const User& user) const;
  // Returns true if queue `a` comes before queue `b`.
  [[nodiscard]] static bool Earlier(SlotKind kind, const Queue& a, const Queue& b);
  std::optional<JobId> OfferIn(const ClusterState& state, SlotKind kind, const Queue& queue, const Take& take) const;

  // Returns true if ceilings and limits apply to slots of this kind.
  [[nodiscard]] bool Counts(SlotKind kind) const { return kind == kMapSlot || kind == reduces_; }

  const SlotKind reduces_;
  const bool named_;  // some queue has settings
  std::map<std::string, Queue> queues_;
  JobTable<Job> jobs_;
  PerSlot<bool> let_in_ = {};  // since the last round began: a queue at its ceiling has room again
};

}  // namespace millrace::sched
