// SlotOffers: which job takes a free slot of a node. The asking of Greedy (greedy.h), in the order of a JobOrder and
// through Admission.
//
// With `+delay` most jobs wait for a local slot most of the time, and a waiting job takes a slot only where it has
// pending maps. So of the jobs whose clock runs only those are asked that ClusterState lists at the node, and when
// these, the jobs that may run farther and those whose clock does not run yet are few, no other job is touched. Where
// the order is that of the queue no other job is touched in any case.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/job_order.h"
#include "schedulers/offering/offer_book.h"
#include "schedulers/offering/sorted_rows.h"

namespace millrace::sched {

class SlotOffers {
 public:
  // Both outlive this.
  SlotOffers(JobOrder* order, Admission* admission) : order_(order), admission_(admission) {}

  // The job has changed, or waits differently: launched, or earned a level.
  void Update(const ClusterState& state, JobId job, Micros now);
  void Forget(JobId job);
  // All jobs may wait differently.
  void UpdateAll() { stale_ = crowds_stale_ = true; }

  // Offers a slot on the node to all runnable jobs. kTaken: *decision is what to launch, and Admission knows.
  OfferBook::Answer ToAll(const ClusterState& state, TaskKind kind, NodeId node, Micros now, Decision* decision);
  // The same when all but these have refused the node before.
  OfferBook::Answer ToGrown(const ClusterState& state, TaskKind kind, const std::vector<JobId>& jobs, NodeId node,
                            Micros now, Decision* decision);
  // The node is free and all jobs refused it, some before their clock was stopped by a launch: it runs from now, but
  // for the job that is about to launch. Gives the jobs that may then run farther.
  std::vector<JobId> PassOver(const ClusterState& state, NodeId node, Micros now, std::optional<JobId> launching);
  // Jobs that have more pending maps than slots at their data, and may have slots that all others refused.
  [[nodiscard]] bool AnyCrowded(const ClusterState& state);
  // Offers them such a slot. True if one takes it.
  bool ToCrowded(const ClusterState& state, NodeId node, Micros now, Decision* decision);

 private:
  // Of a runnable job towards a map slot, with `+delay`.
  enum class Stance : std::uint8_t {
    kNone,     // not runnable
    kFar,      // may run away from its data
    kUnasked,  // at its data alone; its clock does not run
    kWaiting,  // at its data alone; its clock runs
  };
  struct Choice {
    std::uint32_t index = 0;
    Locality locality = Locality::kOff;
  };
  struct Offer;

  // So few are asked one by one, without a walk over the jobs in order.
  static constexpr std::size_t kFew = 16;

  void UpdateStance(const ClusterState& state, JobId job, Micros now);
  // Keeps anywhere_.
  void ListAnywhere(const JobState& job, bool is);
  void SetStance(JobId job, Stance stance);
  void Refresh(const ClusterState& state, Micros now);
  // The jobs that alone could take a map slot of the node or have a clock to start, if they are few.
  bool CollectFew(const ClusterState& state, NodeId node);
  std::optional<Choice> TaskFor(const ClusterState& state, TaskKind kind, JobId job, NodeId node, Micros now);
  // That the job refused the node is for lack of space there, which may come back unnoticed.
  [[nodiscard]] bool LacksSpace(const ClusterState& state, JobId job, NodeId node, Micros now) const;
  void RefreshCrowds(const ClusterState& state);
  void SetCrowded(const ClusterState& state, JobId job);
  // To all jobs, in the order of the queue, without a look at those that wait for other nodes.
  OfferBook::Answer AlongTheQueue(Offer& offer, Decision* decision);
  OfferBook::Answer ToSome(Offer& offer, const std::vector<JobId>& jobs, Decision* decision);
  bool Ask(Offer& offer, JobId job);
  OfferBook::Answer Finish(const Offer& offer, std::optional<JobId> taker, Decision* decision);

  JobOrder* order_;
  Admission* admission_;
  std::vector<Stance> stances_;  // by job id
  OrderedBits far_;
  OrderedBits unasked_;  // those that wait for something and whose clock does not run
  // The jobs of both in the order of the queue, when the jobs are asked in that.
  SortedRows<QueueKey> anywhere_;
  std::vector<std::optional<QueueKey>> anywhere_as_;  // by job id: its key there
  bool stale_ = false;
  OrderedBits crowded_;  // as of the last look, but for those in to_count_
  OrderedBits to_count_;
  bool crowds_stale_ = false;
  std::vector<JobId> few_;
};

}  // namespace millrace::sched
