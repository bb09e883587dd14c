// SPDX-License-Identifier: Apache-2.0
// SizedOrder: what psbs and uwfq have in common. It learns the sizes of jobs, and tells a virtual cluster of them.
//
// The rule, as code. Maps and reduces are two phases with a virtual cluster each:
//
//   when a round begins, for each phase:
//     the virtual cluster works until now, with as many slots as the real one
//     for each job that changed since the last round, by id:
//       if it has tasks that may run for the first time: it enters, and n = its tasks of the phase that are not done
//       size = n * the time of such a task                              // MeasuredTime
//       (schedulers/history/estimates.h) if its own finished tasks or its priority changed since: the virtual cluster
//       is told of its new size
//   when a job ends well: the virtual cluster is told of its size as its tasks have shown it, and goes on with it
//   when a job ends otherwise: it leaves the virtual cluster
//
// So a size is corrected when the first task of the job has ended, and again with each further task. Until then it is
// what the user said, else what the program's history says, else the cluster's mean at that time. A map that has to run
// again is no more work in the virtual cluster. With `+ccs` the slots of reduces are the compute permits.
//
// Thread rule: one thread. A changed job costs O(log jobs) and what the virtual cluster takes, an offer O(runnable
// jobs).
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "schedulers/cluster/job_table.h"
#include "schedulers/offering/job_order.h"

namespace millrace::sched {

// The work of a phase of a job, in us of slot time, and the weight of the job: 16, 8, 4, 2 or 1 by its priority.
struct JobSize {
  Micros work = 0;
  std::uint32_t weight = 4;
  bool operator==(const JobSize&) const = default;
};

class SizedOrder : public JobOrder {
 public:
  explicit SizedOrder(SlotKind reduces) : reduces_(reduces) {}

  void OnJobSubmitted(const ClusterState&, JobId job) override { changed_.push_back(job); }
  void OnJobPrioritySet(const ClusterState&, JobId job) override { changed_.push_back(job); }
  void OnJobChanged(const ClusterState&, JobId job) override { changed_.push_back(job); }
  void OnJobEnded(const ClusterState& state, JobId job) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;

 protected:
  // The lower ranks first.
  using Rank = std::tuple<Micros, Micros, Micros, JobId>;

  // The virtual cluster of a phase has `slots` slots, and works until `now`, for as long as has `passed` since the last
  // call. The next calls come when it has worked until `now`.
  virtual void Work(TaskKind phase, Micros slots, Micros passed, Micros now) = 0;
  // The job enters, or is of another size than it was said to be.
  virtual void Resize(TaskKind phase, const JobState& job, const JobSize& size, Micros now) = 0;
  // The job has ended. If `served`, the virtual cluster goes on with it until its work is done.
  virtual void End(TaskKind phase, JobId job, bool served, Micros now) = 0;
  // Returns the rank of a job for a slot. Requires: the job is in the virtual cluster, or was until its work was done.
  [[nodiscard]] virtual Rank RankOf(SlotKind kind, const JobState& job) const = 0;

 private:
  struct Phase {
    std::uint32_t tasks = 0;  // n; 0: the job has not entered
    std::uint32_t finished = 0;
    JobSize size;
  };
  void WorkUntil(TaskKind phase, Micros now);
  void Learn(const ClusterState& state, const JobState& job, TaskKind phase, Micros now);
  [[nodiscard]] Rank RankFor(SlotKind kind, const JobState& job) const;

  const SlotKind reduces_;
  PerKind<Micros> worked_until_ = {};
  PerKind<std::uint32_t> slots_ = {};
  JobTable<PerKind<Phase>> jobs_;  // live jobs that have entered a phase
  std::vector<JobId> changed_;     // since the last round; a job may be there several times, or have ended
};

}  // namespace millrace::sched
