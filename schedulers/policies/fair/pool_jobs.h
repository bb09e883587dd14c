// PoolJobs: the jobs of one pool of `fair`, in the pool's own order: fair, fifo, sjf or mlq (docs/policies.md#fair).
//
// fair: by running/share, where a job's weight is 4, 2, 1, 0.5 or 0.25 by its priority. fifo: by priority, then submit
// order. sjf: the least remaining work of that kind first (estimates.h). mlq: the small jobs, of at most
// mlq.small_job_maps maps, and the large ones share the pool by mlq's weights; fifo inside. Ties by job id.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/offering/job_order.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/water_level.h"

namespace millrace::sched {

class PoolJobs {
 public:
  // What the order keeps of one of its jobs. It belongs to the caller, and may be put in again after an Erase.
  // Requires: it is erased before it is destroyed.
  class Job {
   public:
    explicit Job(JobId job) : job_(job) {}
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;
    [[nodiscard]] JobId job() const { return job_; }
    // Keeps the job from being offered slots of the kind, though it keeps its share. It takes effect with the next Put.
    void Hold(SlotKind kind, bool held) { held_[kind] = held; }
    [[nodiscard]] bool Offered(const JobState& job, SlotKind kind) const { return job.runnable[kind] && !held_[kind]; }

   private:
    JobId job_;
    PerSlot<bool> held_ = {};
  };

  virtual ~PoolJobs() = default;
  [[nodiscard]] virtual std::unique_ptr<Job> NewJob(JobId job) const = 0;
  // Puts in the job of the entry, which is new here, or its tasks or its priority changed.
  virtual void Put(const ClusterState& state, const JobState& job, Job& entry) = 0;
  // Requires: the job is here.
  virtual void Erase(Job& entry) = 0;
  // Sets how many slots the pool has to share out.
  virtual void SetShare(SlotKind, Units) {}
  // Both do what they do in JobOrder. They may do work that was put off, and change nothing else.
  virtual std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, const JobOrder::Take& take) = 0;
  [[nodiscard]] virtual bool Before(const ClusterState& state, SlotKind kind, const Job& a, const Job& b) = 0;
};

[[nodiscard]] std::unique_ptr<PoolJobs> MakePoolJobs(PoolOrder order, const MlqSettings& mlq);
[[nodiscard]] std::unique_ptr<PoolJobs> MakeSjfJobs();

// Returns the weight of a job in its pool.
[[nodiscard]] double PriorityWeight(Priority priority);
[[nodiscard]] bool IsSmall(const MlqSettings& mlq, const JobState& job);

// Returns what each of these jobs may have of the pool's slots by the pool's order, in the order of `jobs`. In an order
// that is not fair, the first job gets all that it can use, and so on. O(jobs log jobs).
[[nodiscard]] std::vector<double> JobShares(const ClusterState& state, PoolOrder order, const MlqSettings& mlq,
                                            SlotKind kind, double slots, const std::vector<JobId>& jobs);

}  // namespace millrace::sched
