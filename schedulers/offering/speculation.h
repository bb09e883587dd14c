// SPDX-License-Identifier: Apache-2.0
// Speculating: wraps any policy and adds second attempts of tasks that run slowly (LATE, Zaharia et al. 2008;
// docs/schedulers/policies.md#speculation).
//
// The rule, as code, for a kind with free slots that no job may use for another task (Policy::WantsSlots):
//
//   if duplicates hold max_share of the slots of the kind, and as many as the largest node has: return
//   slow = the attempts whose rate is below the slowest quarter of their job's    // running, and finished at the mean
//   leave out those of jobs that may have no further slots (Policy::MayRun: their pool is at its maximum)
//   for attempt in slow, by falling expected end:
//     if a node is free that is neither the attempt's nor one of the slowest quarter:
//       duplicate the attempt there; on a node with its data if one is free, else on the first by id
//
//   rate of an attempt = its progress / its run time;  its end = what is left / its rate
//   rate of a node     = the rates of attempts there compared with those of their jobs
//
// The first attempt to commit wins; the engine kills the other.
//
// These rules are ours and not the paper's. An attempt is not judged before it has run for min_runtime, or, if that is
// shorter, for the time that finished tasks of its kind and job have taken (at least a second). Reduces are not judged
// while maps of their job are missing, because such reduces wait and are not slow. An attempt that should end within
// the time that a task of the job takes is not duplicated. A whole node may be slow, so duplicates may hold as many
// slots as one node has even where that is more than max_share of a small cluster's slots. The attempts of a job
// without duplicates (JobSpec::no_speculation) count towards the speed of their nodes as others do.
//
// Thread rule: one thread. The running attempts are examined at most once a second, and only while slots idle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/common_settings.h"

namespace millrace::sched {

class Speculating : public Policy {
 public:
  Speculating(std::unique_ptr<Policy> policy, const SpeculationSettings& settings);

  [[nodiscard]] std::string_view name() const override { return policy_->name(); }
  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState& state) const override;
  [[nodiscard]] std::string Refusal(const JobSpec& spec) const override { return policy_->Refusal(spec); }
  void OnJobSubmitted(const ClusterState& state, JobId job) override { policy_->OnJobSubmitted(state, job); }
  void OnJobPrioritySet(const ClusterState& state, JobId job) override { policy_->OnJobPrioritySet(state, job); }
  void OnJobEnded(const ClusterState& state, JobId job) override { policy_->OnJobEnded(state, job); }
  void OnJobChanged(const ClusterState& state, JobId job) override { policy_->OnJobChanged(state, job); }
  void OnNodesChanged(const ClusterState& state) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override { return policy_->LimitsOf(node); }
  Limits BeginRound(const ClusterState& state, Micros now) override { return policy_->BeginRound(state, now); }
  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override { return policy_->Preempt(state, now); }
  std::optional<AttemptId> NextToCompute(const ClusterState& state, Micros now) override {
    return policy_->NextToCompute(state, now);
  }
  [[nodiscard]] bool MayHoldBack(const ClusterState& state, JobId job) const override {
    return policy_->MayHoldBack(state, job);
  }
  void OnRefused(const ClusterState& state, const std::string& decision, const std::string& why) override {
    if (own_decision_) return Policy::OnRefused(state, decision, why);
    policy_->OnRefused(state, decision, why);
  }
  [[nodiscard]] Outside* outside() override { return policy_->outside(); }
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override {
    return policy_->WaitsForSpace(state, now);
  }
  [[nodiscard]] bool WantsSlots(const ClusterState& state, TaskKind kind, Micros now) const override {
    return policy_->WantsSlots(state, kind, now);
  }
  [[nodiscard]] bool MayRun(const ClusterState& state, TaskKind kind, JobId job) const override {
    return policy_->MayRun(state, kind, job);
  }
  [[nodiscard]] std::uint32_t MapsBeforeReduces(const ClusterState& state, JobId job) const override {
    return policy_->MapsBeforeReduces(state, job);
  }
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  Speculating(const Speculating& other, std::unique_ptr<Policy> policy)
      : Policy(other),
        policy_(std::move(policy)),
        settings_(other.settings_),
        kinds_(other.kinds_),
        largest_node_(other.largest_node_),
        speeds_(other.speeds_),
        slow_speed_(other.slow_speed_),
        clock_(other.clock_) {}

  // An attempt that is old enough to be judged.
  struct Judged {
    TaskId task;
    NodeId node;
    double rate = 0;  // part of the task per us
    double left = 0;  // us until its end
    bool twin = false;
  };
  struct Kind {
    Micros next_look = 0;
    std::vector<Judged> slow;  // the attempts to duplicate, as of the last look; by rising `left`
  };

  [[nodiscard]] bool MayDuplicate(const ClusterState& state, TaskKind kind) const;
  // Returns the age from which attempts of the job are judged.
  [[nodiscard]] Micros LeastAge(const JobState& job, TaskKind kind) const;
  [[nodiscard]] std::vector<Judged> Judge(const ClusterState& state, TaskKind kind, Micros now) const;
  // Fills kinds_[kind].slow.
  void Look(const ClusterState& state, TaskKind kind, Micros now);
  void PickSlow(const ClusterState& state, TaskKind kind, const Judged* begin, const Judged* end);
  void RankNodes();
  [[nodiscard]] std::optional<NodeId> NodeFor(const ClusterState& state, const Judged& slow) const;
  [[nodiscard]] bool Takes(const ClusterState& state, const Judged& slow, NodeId node) const;

  const std::unique_ptr<Policy> policy_;
  const SpeculationSettings settings_;
  PerKind<Kind> kinds_;
  PerKind<std::uint32_t> largest_node_ = {1, 1};  // slots of the kind on the node with the most of them; at least 1
  // By node id: the rates of the node's attempts divided by the means of their jobs, as last seen; below 0 for a node
  // without data.
  std::vector<double> speeds_;
  double slow_speed_ = 0;      // nodes below this speed are slow
  Micros clock_ = 0;           // the time of the last call of Next
  bool own_decision_ = false;  // the last decision was a second attempt, and not the policy's
};

}  // namespace millrace::sched
