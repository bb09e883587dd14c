// SPDX-License-Identifier: Apache-2.0
// The naive twin of JoSS, only for tests: joss-t and joss-j, decided from the whole state each time, with the task
// queues of the paper as plain lists.
//
// It decides as Joss (joss.h) does: which jobs have an unknown filtering percentage, where tasks are queued, which node
// is served next, and which task it gets. Only the rules of PlaceByBlocks and of small and reduce-heavy jobs are not
// implemented again, since they have tests of their own (joss_placing.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/policies/joss/joss.h"
#include "schedulers/policies/joss/joss_placing.h"
#include "schedulers/policies/joss/joss_settings.h"

namespace millrace::sched {

class JossReference {
 public:
  JossReference(Joss::Assigner assigner, const JossSettings& settings) : assigner_(assigner), settings_(settings) {}

  // Called after the policy's calls with the same names. OnJobChanged is also called for OnJobSubmitted.
  void OnJobChanged(JobId job) { changed_.push_back(job); }
  void OnJobEnded(JobId job);
  // Returns the decision of Joss::Next. Requires: this is called once after each call of Joss::Next, with the same
  // state.
  std::optional<Decision> Next(const ClusterState& state);
  // Returns the result of Joss::WaitsForSpace. Requires: Next has been called with the same state.
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state) const;

 private:
  // Tasks of one job that came to a queue together.
  struct Batch {
    JobId job;
    bool near = true;  // of maps of joss-j: their data was in the datacenter when they joined the queue
    std::set<std::uint32_t> tasks;
  };
  using QueueId = std::tuple<TaskKind, CenterId, std::uint32_t>;  // the last is the queue's number
  struct Job {
    std::uint32_t queue = 0;
    bool by_blocks = false;
    std::vector<CenterId> maps;  // the datacenter of each map
    CenterId reduces = 0;        // the datacenter of all reduces
  };
  enum class Verdict : std::uint8_t { kTake, kSkip, kMoved };
  struct Pick {
    Verdict verdict = Verdict::kSkip;
    TaskId task;
  };

  void ApplyChanges(const ClusterState& state);
  void Place(const ClusterState& state, const JobState& job);
  void QueueMissing(const ClusterState& state, const JobState& job, TaskKind kind, bool at_head);
  void RemoveGone(const JobState& job, TaskKind kind);
  void LeaveClosedCenters(const ClusterState& state);
  void Put(const ClusterState& state, TaskKind kind, const std::map<CenterId, std::set<std::uint32_t>>& tasks,
           const JobState& job, bool at_head);
  void Remove(const TaskId& task);

  std::optional<Decision> NextUnknown(const ClusterState& state, TaskKind kind);
  std::optional<Decision> NextQueued(const ClusterState& state, TaskKind kind);
  Decision Give(const QueueId& queue, const TaskId& task, NodeId node);
  // Returns the tasks of the queue that may run, as batches: first those whose data was in the datacenter.
  [[nodiscard]] std::vector<Batch> InOrder(const ClusterState& state, const QueueId& queue) const;
  Pick PickFrom(const ClusterState& state, const QueueId& queue, NodeId node);
  Pick PickLocal(const ClusterState& state, const QueueId& queue, NodeId node);
  Verdict Check(const ClusterState& state, const TaskId& task, CenterId center, NodeId node, bool at_data);
  void Move(const ClusterState& state, const TaskId& task, CenterId to);

  [[nodiscard]] bool IsUnknown(const JobState& job) const;
  [[nodiscard]] CenterId& Home(const TaskId& task);
  [[nodiscard]] bool IsIn(const QueueId& queue, const TaskId& task) const;
  [[nodiscard]] bool IsQueued(const TaskId& task) const;
  [[nodiscard]] std::uint64_t Unprocessed(const ClusterState& state, CenterId center) const;
  [[nodiscard]] CenterId LeastLoaded(const ClusterState& state, const std::vector<TaskKind>& kinds) const;
  [[nodiscard]] std::optional<CenterId> Elsewhere(const ClusterState& state, const TaskId& task, CenterId center,
                                                  bool holding) const;

  const Joss::Assigner assigner_;
  const JossSettings settings_;
  bool spread_ = false;         // at least two datacenters are live
  std::vector<JobId> changed_;  // since the last call of Next, in order
  std::map<JobId, Job> jobs_;   // jobs in queues of datacenters
  std::map<QueueId, std::deque<Batch>> queues_;
  std::uint32_t last_queue_ = 0;
  // The turns.
  PerKind<std::uint32_t> unknown_turn_ = {};  // of the nodes that MQ_FIFO and RQ_FIFO serve
  PerKind<CenterId> center_turn_ = {};
  std::map<std::pair<TaskKind, CenterId>, std::uint32_t> node_turn_, queue_turn_;
};

}  // namespace millrace::sched
