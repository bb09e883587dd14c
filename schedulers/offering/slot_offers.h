// SPDX-License-Identifier: Apache-2.0
// SlotOffers: finds the job that takes a free slot of a node. It makes the offers for Greedy (greedy.h), in the order
// of a JobOrder and through Admission.
//
// With `+delay` most jobs wait for a local slot most of the time, and a waiting job takes a slot only where it has
// pending maps. So of the jobs whose clock runs, only those that ClusterState lists at the node are asked. When these
// jobs, the jobs that may run anywhere and the jobs whose clock is stopped are few in all, no other job is touched. If
// the order is that of the submit queue, no other job is ever touched.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/cluster/job_table.h"
#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/job_order.h"
#include "schedulers/offering/refusal_memory.h"
#include "schedulers/offering/sorted_rows.h"

namespace millrace::sched {

class SlotOffers {
 public:
  // Requires: both arguments outlive this object.
  SlotOffers(const JobOrder* order, Admission* admission) : order_(order), admission_(admission) {}
  // Copies the state of `other`. Requires: order and admission are copies of those of `other`.
  SlotOffers(const SlotOffers& other, const JobOrder* order, Admission* admission) : SlotOffers(other) {
    order_ = order;
    admission_ = admission;
  }

  // Records that the job has changed, or that its wait has changed because it launched a map or earned a level.
  void Update(const ClusterState& state, JobId job, Micros now);
  // Records that the job has ended.
  void Forget(JobId job);
  // Records that the wait of any job may have changed.
  void UpdateAll() { stale_ = recount_all_ = true; }

  // Offers a slot on the node to all runnable jobs. If it returns kTaken, *decision is the launch, and Admission has
  // been notified.
  SlotRefusals::Answer ToAll(const ClusterState& state, TaskKind kind, NodeId node, Micros now, Decision* decision);
  // Offers the slot only to `jobs`, and otherwise does the same as ToAll. Requires: all other jobs have refused the
  // node.
  SlotRefusals::Answer ToAcceptingMore(const ClusterState& state, TaskKind kind, const std::vector<JobId>& jobs,
                                       NodeId node, Micros now, Decision* decision);
  // Starts the clocks of jobs that refused the node and whose clock a launch has stopped since, except that of the job
  // that is about to launch. Returns the jobs that may now run farther from their data. Requires: the node is free, and
  // all jobs have refused it.
  std::vector<JobId> PassOver(const ClusterState& state, NodeId node, Micros now, std::optional<JobId> launching);
  // Returns true if some job has more pending maps than there are slots at their data. Such a job may have a slot that
  // every job has refused.
  [[nodiscard]] bool HasJobsBeyondLocalSlots(const ClusterState& state);
  // Offers a slot that every job has refused to the jobs with more pending maps than slots at their data. Returns true
  // if one takes it; *decision is then the launch.
  bool ToJobsBeyondLocalSlots(const ClusterState& state, NodeId node, Micros now, Decision* decision);

 private:
  SlotOffers(const SlotOffers&) = default;

  // The places where the maps of a job may run now, with `+delay`.
  enum class MapLocality : std::uint8_t {
    kNotRunnable,     // nowhere: the job is not runnable
    kMayRunAnywhere,  // also away from their data, or the data of some maps lies on no node
    kClockStopped,    // only at their data, and the job's clock does not run
    kClockRunning,    // only at their data, and the job's clock runs
  };
  struct Choice {
    std::uint32_t index = 0;
    Locality locality = Locality::kOff;
  };
  struct Offer;

  // Up to this many jobs are asked one by one, without a walk over all jobs in order.
  static constexpr std::size_t kFew = 16;

  void UpdateLocality(const ClusterState& state, JobId job, Micros now);
  // Adds the job to queued_, or removes it.
  void ListInQueue(const JobState& job, bool wanted);
  void SetLocality(JobId job, MapLocality locality);
  void Refresh(const ClusterState& state, Micros now);
  // Puts into few_ the jobs that could take a map slot of the node or have a clock to start. Returns false if there are
  // too many; few_ is then incomplete.
  bool CollectFew(const ClusterState& state, NodeId node);
  std::optional<Choice> TaskFor(const ClusterState& state, TaskKind kind, JobId job, NodeId node, Micros now);
  void RecountAll(const ClusterState& state);
  void Recount(const ClusterState& state, JobId job);
  // Offers the slot to all jobs in the order of the submit queue, and skips those that wait for other nodes.
  SlotRefusals::Answer AlongTheQueue(Offer& offer, Decision* decision);
  SlotRefusals::Answer ToSome(Offer& offer, const std::vector<JobId>& jobs, Decision* decision);
  bool Ask(Offer& offer, JobId job);
  SlotRefusals::Answer Finish(const Offer& offer, std::optional<JobId> taker, Decision* decision);

  const JobOrder* order_;
  Admission* admission_;
  struct JobPlace {
    MapLocality locality = MapLocality::kNotRunnable;
    std::optional<QueueKey> queued_as;  // its key in queued_
  };
  JobTable<JobPlace> places_;
  OrderedBits may_run_anywhere_;
  OrderedBits clock_stopped_;  // jobs that may not run everywhere and whose clock does not run
  // The jobs of both sets in the order of the submit queue, if order_ follows it.
  SortedRows<QueueKey> queued_;
  bool stale_ = false;
  OrderedBits jobs_beyond_local_slots_;  // as of the last count, except for the jobs in to_recount_
  OrderedBits to_recount_;
  bool recount_all_ = false;
  std::vector<JobId> few_;
};

}  // namespace millrace::sched
