// SPDX-License-Identifier: Apache-2.0
// uwfq: user weighted fair queuing ("Balancing Fairness and Performance in Multi-User Spark Workloads with Dynamic
// Scheduling", arXiv 2510.15485, 2025; its authors' UserClusterFairScheduler in github.com/kazemaksOG/
// spark-benchmark-tool says what the paper leaves open; docs/schedulers/newer.md#uwfq). The slots are shared fairly
// among users, and a user's part among the user's jobs, in a virtual cluster; the jobs get the slots in the order in
// which this would end them. So many jobs of one user do not delay the jobs of others, as they do under psbs.
//
// The rule, as code, for a free slot of a kind on a node; sizes are learnt as sized_order.h says, and each phase has a
// VirtualQueue (virtual_queue.h) of users, and each user one of jobs, which works when the user is served; all weights
// are equal:
//
//   when a job enters, or is of another size:
//     if the user has no work in the virtual cluster, then for later jobs, too:
//       start(user) = the user's last deadline, if the user's work was done at most uwfq.grace ago; else g of the users
//     key(job) = g of the user's jobs when the job entered + size;  start(job) = start(user) when it entered
//     deadline = base(user)
//     for each job of the user, by key:             // they are served one after another, as if the user had one slot
//       deadline = deadline(job) = max(deadline, start(job)) + size(job)
//   for job in the jobs, by deadline, then id: if a task of the job may run on the node: launch the closest, and return
//
// A job leaves this list when it has ended both here and there, if all jobs before it have left; base(user) is then its
// deadline. A job that ended otherwise leaves at once. Priorities do not count.
//
// Grace: a user who comes back soon, as one does who looks at a result and submits the next job, goes on as if there
// had been no pause. The authors' code grants it to the next stage of the same job; here a job has one phase of a kind,
// so it is granted to the user's next job. Theirs has no correction of sizes, which it assumes to be right.
//
// Thread rule: one thread. Cost: sized_order.h, and O(jobs of the user) for a changed job.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "schedulers/policies/virtual/sized_order.h"
#include "schedulers/policies/virtual/virtual_queue.h"

namespace millrace::sched {

class KeyList;

// UwfqSettings: the settings of `uwfq`.
struct UwfqSettings {
  Micros grace = 5 * kSecond;

  static constexpr std::string_view kSection = "uwfq";
  static constexpr std::string_view kOneLine = "The scheduler uwfq.";
};

void Declare(KeyList& keys, UwfqSettings& settings);

class UwfqOrder : public SizedOrder {
 public:
  // `reduces`: the kind of slots that reduces share: kReduceSlot, or kComputePermit with `+ccs`.
  explicit UwfqOrder(const UwfqSettings& settings, SlotKind reduces = kReduceSlot)
      : SizedOrder(reduces), grace_(settings.grace) {}

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<UwfqOrder>(*this);
  }

 protected:
  void Work(TaskKind phase, Micros slots, Micros passed, Micros now) override;
  void Resize(TaskKind phase, const JobState& job, const JobSize& size, Micros now) override;
  void End(TaskKind phase, JobId job, bool served, Micros now) override;
  [[nodiscard]] Rank RankOf(SlotKind kind, const JobState& job) const override;

 private:
  static constexpr Micros kNever = std::numeric_limits<Micros>::min() / 2;

  struct Job {
    std::uint32_t user = 0;
    Micros entered = 0, key = 0;  // in the virtual time of the user's jobs
    Micros start = 0, work = 0, deadline = 0;
    bool ended = false;
  };
  struct User {
    VirtualQueue<JobId> queue;
    Micros served = 0;                        // g of the users until which the queue has worked
    Micros key = 0;                           // among the users
    Micros start = 0, base = 0, last = 0;     // deadlines: of the rule, and the last of the user's jobs
    Micros idle_since = kNever;               // the time at which its work was done last
    std::set<std::pair<Micros, JobId>> jobs;  // by key
  };
  struct Phase {
    VirtualQueue<std::uint32_t> queue;  // of users
    std::map<std::uint32_t, User> users;
    JobTable<Job> jobs;
  };

  // Lets the user's jobs have what the user was served since the last call.
  static void Serve(Phase& phase, User& user);
  // Puts the user in its place among the users, and computes the deadlines of its jobs.
  static void Settle(Phase& phase, std::uint32_t number, Micros now);

  Micros grace_;
  PerKind<Phase> phases_;
  std::map<std::string, std::uint32_t> numbers_;  // of users, by name
};

}  // namespace millrace::sched
