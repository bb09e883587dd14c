// dl: the closest task for each free slot, one slot after the other (Guo et al., "Investigation of Data Locality and
// Fairness in MapReduce", section 3.1, there dl-sched).
//
// A free map slot goes to a node-local task, else to a rack-local one, else to one of the same datacenter, else to any,
// over the pending maps of ALL jobs together; among equals to the first job by priority and submit order, then to the
// map with the lowest index. Free nodes take turns by id, one slot each. It knows no fairness and does not look ahead:
// it is what `lsap` is measured against. Reduces go as in `fifo`; maps come before reduces.
//
// Cost of an assignment: O(log) of nodes and jobs while some task is local to the node; else a look at each job with
// pending maps, up to the first that is rack-local. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/refusal_memory.h"

namespace millrace::sched {

class Dl : public Policy {
 public:
  Dl(std::string name, Admission admission);

  [[nodiscard]] std::string_view name() const override { return name_; }
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
  bool TakeRaised(const ClusterState& state, Micros now);
  [[nodiscard]] Admission& admission() { return admission_; }
  // Returns why a job's maps wait although slots are free, if a derived policy knows more about it than dl does.
  [[nodiscard]] virtual std::optional<std::string> WhyMapsWait(Micros) const { return std::nullopt; }

 private:
  struct Seen {  // of a job's maps and reduces: what says whether it may take what it refused
    PerKind<std::uint32_t> pending, running;
    std::uint64_t failed = 0;
    std::uint32_t done = 0;
    PerKind<bool> runnable = {};
    bool operator==(const Seen&) const = default;
  };
  struct Offer {
    JobId job;
    MapChoice choice;
  };

  void See(const JobState& job);
  // Returns true if one of launched_ may take a slot that it refused.
  bool AskAgain(const ClusterState& state, Micros now);
  std::optional<Offer> BestOfAll(const ClusterState& state, NodeId node, Micros now);
  std::optional<Offer> BestOfAcceptingMore(const ClusterState& state, NodeId node, Micros now);
  std::optional<Decision> NextIdle(const ClusterState& state);
  [[nodiscard]] std::string WaitReason(const ClusterState& state, TaskKind kind, JobId job, Micros now) const;

  const std::string name_;
  Admission admission_;
  PerKind<RefusalMemory> refusals_;
  std::vector<Seen> seen_;    // by job id
  std::set<JobId> launched_;  // with `+delay`: maps since the last time that every free slot was refused
};

}  // namespace millrace::sched
