// SPDX-License-Identifier: Apache-2.0
// dl: gives each free slot in turn the task that is closest to it (Guo et al., "Investigation of Data Locality and
// Fairness in MapReduce", section 3.1, which calls it dl-sched).
//
// The rule, as code, for a free map slot on a node; free nodes take turns by id, one slot each:
//
//   for locality in node, rack, datacenter, off:
//     for job in the jobs with pending maps, by priority and submit order:
//       for map in the pending maps of the job, by index:
//         if the map's data is that close to the node: launch it there, and return
//
// So the closest map of ALL jobs goes first, and the order of jobs counts only among equals. The policy knows no
// fairness and does not look ahead: it is the baseline for `lsap`. Reduces are launched as in `fifo`; maps come before
// reduces.
//
// Dl remembers refusals (refusal_memory.h), and without `+delay` it decides exactly as DlReference (reference.h), which
// offers every free slot to every job. With `+delay` a job is skipped if it has not waited long enough for the
// distance, and a slot that all jobs refuse may go to a job that has more maps than there are slots at their data
// (locality_wait.h).
//
// Cost of an assignment: O(log) of nodes and jobs while some task is local to the node. Otherwise each job with pending
// maps is examined, up to the first with a rack-local map. Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/refusal_memory.h"
#include "schedulers/offering/slot_offers.h"
#include "schedulers/policies/simple/fifo.h"

namespace millrace::sched {

class Dl : public Policy {
 public:
  Dl(std::string name, Admission admission);
  Dl(const Dl& other);
  Dl& operator=(const Dl&) = delete;
  ~Dl() override = default;

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState&) const override {
    return std::make_unique<Dl>(*this);
  }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 protected:
  std::optional<Decision> NextMap(const ClusterState& state, Micros now);
  std::optional<Decision> NextReduce(const ClusterState& state);
  // Returns true if jobs have earned farther slots since the last call.
  bool ConsumeRaised(const ClusterState& state, Micros now);
  // Records that a map of the job is about to be launched.
  void OnMapLaunched(const ClusterState& state, JobId job, const MapChoice& choice, Micros now);
  [[nodiscard]] Admission& admission() { return admission_; }
  // Returns the time at which free slots will be assigned, if they are being gathered to be assigned together.
  [[nodiscard]] virtual std::optional<Micros> GatheredAt() const { return std::nullopt; }
  // Returns, in words, the map that gets a slot that becomes free (WaitView::rule).
  [[nodiscard]] virtual std::string_view WhoIsNext() const { return "to the pending map that is closest to it"; }

 private:
  struct Offer {
    JobId job;
    MapChoice choice;
  };

  // Returns true if one of the jobs in launched_ may now take a slot that it refused.
  bool AskAgain(const ClusterState& state, Micros now);
  std::optional<Offer> BestOfAll(const ClusterState& state, NodeId node, Micros now);
  std::optional<Offer> BestOfAcceptingMore(const ClusterState& state, NodeId node, Micros now);
  std::optional<Decision> NextIdle(const ClusterState& state);

  const std::string name_;
  Admission admission_;
  FifoOrder reduce_order_;
  SlotOffers reduces_{&reduce_order_, &admission_};
  RefusalMemory refusals_{admission_.copy() != nullptr};
  std::set<JobId> launched_;  // with `+delay`: jobs that launched maps since every free slot was last refused
};

}  // namespace millrace::sched
