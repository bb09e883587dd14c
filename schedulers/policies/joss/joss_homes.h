// JossHomes: where the tasks of each job belong (Lee et al. section 4.2; docs/policies.md#joss), and the queues in
// which they wait there.
//
// The rule, as code; td = k / (k - 1) for k datacenters:
//
//   when a job is submitted:
//     its filtering percentage FP (map output / map input) is unknown: it is listed in the JossFifo
//     it is small and FP > td (reduce-heavy): all to the datacenter with the fewest unprocessed tasks      // policy A
//     it is small otherwise: its maps to the datacenters that hold their blocks, its reduces to that of most     // B
//     it is large: as B, into queues of its own                                                                  // C
//
// What the paper does not have:
// - Unprocessed tasks are those that wait for a datacenter or run there: otherwise an idle and a full one are equal.
// - With fewer than two datacenters alive every job is listed. When that changes, all tasks that wait are placed anew.
// - A task that must run again returns to the head of its queue, in its old datacenter.
// - A datacenter that takes no tasks of a kind any more (its last node is lost or drained) gives its queues of the kind
//   to the one with the fewest unprocessed tasks.
// - A map that was placed by its block moves, when its turn comes, to a datacenter with a replica if the block has none
//   left in its own. Any task that no node of the datacenter may run (it failed there, its output does not fit) moves
//   to one where a node may.
//
// Its pure parts are in joss_placing.h. Thread rule: one thread. A task that returns costs O(pending tasks of its
// job), and a submission O(maps x datacenters that hold blocks + nodes).
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/joss/joss_centers.h"
#include "schedulers/policies/joss/joss_fifo.h"
#include "schedulers/policies/joss/joss_placing.h"
#include "schedulers/policies/joss/joss_queues.h"
#include "schedulers/policies/joss/joss_settings.h"

namespace millrace::sched {

class JossHomes {
 public:
  // kByData: maps that came to a queue where their data is in the datacenter come before the others.
  enum class QueueOrder : std::uint8_t { kAsTheyCame, kByData };

  JossHomes(const JossSettings& settings, QueueOrder order) : settings_(settings), order_(order) {}

  // Take note of what the policy was told. They cost O(1), but for OnJobEnded: O(tasks of the job that wait).
  void OnJobSubmitted(JobId job);
  void OnJobChanged(JobId job);
  void OnJobEnded(JobId job);
  void OnNodesChanged() { nodes_changed_ = true; }
  // Places the tasks of all that has changed, and lists the jobs of which nothing is known. Call it before anything
  // below is asked.
  void Update(const ClusterState& state, JossFifo& unknown);

  // Returns true if at least two datacenters live. If not, no task is in a queue.
  [[nodiscard]] bool spread() const { return spread_; }
  [[nodiscard]] const JossCenters& centers() const { return centers_; }
  [[nodiscard]] const JossQueues& queues() const { return queues_; }

  // Takes note that the task, which is in a queue, has been given a slot in its datacenter: its queue has had its turn.
  void OnLaunched(const TaskId& task);
  // These move a task that is in a queue to the head of that queue in another datacenter, of several the one with the
  // fewest unprocessed tasks, and return false if it stays. MoveToOpenNodes does it if no node of its datacenter may
  // run the task, MoveToItsBlock if it is a map that was placed by its block and the datacenter has no replica.
  // O(nodes).
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
    bool changed = false;    // it is in changed_
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
  // `held`: to a datacenter that holds this input; null: to any.
  bool MoveElsewhere(const ClusterState& state, const TaskId& task, const MapInput* held);

  const JossSettings settings_;
  const QueueOrder order_;
  JossCenters centers_;
  JossQueues queues_;
  std::vector<JobHomes> jobs_;  // by id
  std::vector<JobId> changed_;
  std::uint32_t last_queue_ = 0;
  bool nodes_changed_ = true;
  bool spread_ = false;
};

}  // namespace millrace::sched
