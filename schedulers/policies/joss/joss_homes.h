// SPDX-License-Identifier: Apache-2.0
// JossHomes: decides to which datacenter each task belongs (Lee et al. section 4.2; docs/schedulers/policies.md#joss),
// and keeps the queues of each datacenter in which tasks wait.
//
// The rule, as code; td = k / (k - 1) for k datacenters:
//
//   when a job is submitted:
//     its filtering percentage FP (map output / map input) is unknown: it is listed in the JossFifo
//     it is small and FP > td (reduce-heavy): all tasks to the datacenter with fewest unprocessed ones     // policy A
//     it is small otherwise: maps to the datacenters with their blocks, reduces to the one with most blocks      // B
//     it is large: as B, into queues of its own                                                                  // C
//
// Additions to the paper:
// - Unprocessed tasks are those that wait for a datacenter or run in it; otherwise an idle and a full one would be
//   equal.
// - With fewer than two live datacenters every job is listed. When that changes, all waiting tasks are placed again.
// - A task that must run again returns to the head of its queue, in its old datacenter.
// - A datacenter that no longer takes tasks of a kind (its last node is lost or drained) gives its queues of the kind
//   to the datacenter with the fewest unprocessed tasks.
// - A map that was placed by its block moves, when its turn comes, to a datacenter with a replica if its own has none
//   left. Any task that no node of its datacenter may run (it failed there, its output does not fit) moves to a
//   datacenter where a node may run it.
//
// Its pure parts are in joss_placing.h. Thread rule: one thread. A task that returns costs O(pending tasks of its
// job), and a submission O(maps x datacenters that hold blocks + nodes).
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/cluster/job_table.h"
#include "schedulers/policies/joss/joss_centers.h"
#include "schedulers/policies/joss/joss_fifo.h"
#include "schedulers/policies/joss/joss_placing.h"
#include "schedulers/policies/joss/joss_queues.h"
#include "schedulers/policies/joss/joss_settings.h"

namespace millrace::sched {

class JossHomes {
 public:
  // kByData: maps whose data was in the datacenter when they joined the queue are served before the others.
  enum class QueueOrder : std::uint8_t { kAsTheyCame, kByData };

  JossHomes(const JossSettings& settings, QueueOrder order) : settings_(settings), order_(order) {}

  // The calls of the policy with the same names call these. O(1), but OnJobEnded costs O(waiting tasks of the job).
  void OnJobSubmitted(JobId job);
  void OnJobChanged(JobId job);
  void OnJobEnded(JobId job);
  void OnNodesChanged() { nodes_changed_ = true; }
  // Places the tasks of all jobs that have changed, and lists the jobs with an unknown filtering percentage. Call this
  // before any call below.
  void Update(const ClusterState& state, JossFifo& unknown);

  // Returns true if at least two datacenters are live. If not, no task is in a queue.
  [[nodiscard]] bool spread() const { return spread_; }
  [[nodiscard]] const JossCenters& centers() const { return centers_; }
  [[nodiscard]] const JossQueues& queues() const { return queues_; }

  // Records that the task, which is in a queue, has got a slot in its datacenter, so that its queue has had its turn.
  void OnLaunched(const TaskId& task);
  // Move a queued task to the head of the same queue in another datacenter; among several datacenters, the one with the
  // fewest unprocessed tasks. Return false if the task stays. MoveToOpenNodes moves the task if no node of its
  // datacenter may run it. MoveToItsBlock moves it if it is a map that was placed by its block and its datacenter has
  // no replica. O(nodes).
  bool MoveToOpenNodes(const ClusterState& state, const TaskId& task);
  bool MoveToItsBlock(const ClusterState& state, const TaskId& task);

 private:
  enum class Standing : std::uint8_t {
    kNone,       // not submitted, or ended
    kSubmitted,  // to be placed
    kListed,     // in the JossFifo
    kPlaced      // its pending tasks are in queues of datacenters
  };
  struct JobHomes {
    Standing standing = Standing::kNone;
    bool changed = false;    // the job is in changed_
    bool by_blocks = false;  // B, C
    std::uint32_t queue = 0;
    std::vector<CenterId> maps;
    CenterId reduces = 0;
  };

  void ApplyNodes(const ClusterState& state, JossFifo& unknown);
  void PlaceAll(const ClusterState& state, JossFifo& unknown);
  void Place(const ClusterState& state, JobId job, JossFifo& unknown);
  void Bind(const ClusterState& state, const JobState& job, double filtering);
  void LeaveClosedCenters(const ClusterState& state);
  void Refresh(const ClusterState& state, JobId job);
  void RemoveGone(const JobState& job, TaskKind kind);
  void QueueMissing(const ClusterState& state, const JobState& job, TaskKind kind, JossQueues::End end);
  [[nodiscard]] CenterId& HomeOf(const TaskId& task);
  [[nodiscard]] bool IsNear(const ClusterState& state, const JobState& job, const TaskId& task, CenterId center) const;
  // With `held`, moves the task only to a datacenter that holds this input; null: to any.
  bool MoveElsewhere(const ClusterState& state, const TaskId& task, const MapInput* held);

  const JossSettings settings_;
  const QueueOrder order_;
  JossCenters centers_;
  JossQueues queues_;
  JobTable<JobHomes> jobs_;
  std::vector<JobId> changed_;
  std::uint32_t last_queue_ = 0;
  bool nodes_changed_ = true;
  bool spread_ = false;
};

}  // namespace millrace::sched
