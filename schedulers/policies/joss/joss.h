// joss-t, joss-j: JoSS for clusters over several datacenters (Lee, Lin, Yahyapour, "Hybrid Job-driven Scheduling for
// Virtual MapReduce Clusters"; docs/policies.md#joss).
//
// The rule, as code; td = k / (k - 1) for k datacenters:
//
//   where a job's tasks belong, when it is submitted (section 4.2; joss_placing.h):
//     its filtering percentage FP (map output / map input) is unknown: MQ_FIFO and RQ_FIFO, served first and everywhere
//     it is small and FP > td (reduce-heavy): all to the datacenter with the fewest unprocessed tasks      // policy A
//     it is small otherwise: its maps to the datacenters that hold their blocks, its reduces to that of most     // B
//     it is large: as B, into queues of its own                                                                  // C
//   who gets a free slot on a node (section 4.3):
//     the first that may run of MQ_FIFO or RQ_FIFO, as by `fifo`; else of the queues of the node's datacenter, in turn,
//       a map, joss-t: the first of the queue
//       a map, joss-j: the closest: of those with data on the node that of the first job by priority and submit order,
//                      else the first with data in the datacenter, else the first
//       a reduce: the first that may start
//
// Free nodes are served in turn by id, datacenters in turn by number. It decides exactly as JossReference
// (reference.h).
//
// What the paper does not have:
// - Unprocessed tasks are those that wait for a datacenter or run there: otherwise an idle and a full one are equal.
// - With fewer than two datacenters alive it runs as `fifo`, and says so. When that changes, all tasks that wait are
//   placed anew.
// - A task that must run again returns to the head of its queue, in its old datacenter.
// - A datacenter that takes no tasks of a kind any more (its last node is lost or drained) gives its queues of the kind
//   to the one with the fewest unprocessed tasks.
// - A map that was placed by its block moves, when its turn comes, to a datacenter with a replica if the block has none
//   left in its own. Any task that no node of the datacenter may run (it failed there, its output does not fit) moves
//   to one where a node may.
//
// Thread rule: one thread. Cost of an assignment: O(log) of tasks and jobs, and a walk past free nodes of other
// datacenters where node ids of several are mixed. A task that returns costs O(pending tasks of its job). A submission
// costs O(maps x datacenters that hold blocks + nodes).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/policies/joss/joss_centers.h"
#include "schedulers/policies/joss/joss_fifo.h"
#include "schedulers/policies/joss/joss_placing.h"
#include "schedulers/policies/joss/joss_queues.h"
#include "schedulers/policies/joss/joss_settings.h"

namespace millrace::sched {

class Joss : public Policy {
 public:
  enum class Assigner : std::uint8_t { kTask, kJob };  // joss-t, joss-j

  Joss(Assigner assigner, const JossSettings& settings);

  [[nodiscard]] std::string_view name() const override { return fifo_.name(); }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  using Share = JossQueues::Share;
  // Where the tasks of a job belong.
  struct Job {
    bool alive = false, dirty = false;
    bool placed = false;     // its tasks are in queues of datacenters, unless it is listed in MQ_FIFO
    bool by_blocks = false;  // B, C
    std::uint32_t queue = 0;
    std::vector<CenterId> maps;
    CenterId reduces = 0;
  };
  enum class Outcome : std::uint8_t { kTake, kSkip, kRequeuedElsewhere };
  struct Pick {
    Outcome outcome = Outcome::kSkip;
    TaskId task;
  };

  Joss(Assigner assigner, const JossSettings& settings, std::unique_ptr<JossFifo> listed);

  // What changed, and where tasks belong.
  void Touch(JobId job);
  void ApplyChanges(const ClusterState& state);
  void PlaceAll(const ClusterState& state);
  void PlaceTasks(const ClusterState& state, JobId job);
  void Bind(const ClusterState& state, const JobState& job, Job& placing, double filtering);
  void LeaveClosedCenters(const ClusterState& state);
  void Refresh(const ClusterState& state, JobId job);
  void TakeGone(const JobState& job, TaskKind kind);
  void QueueMissing(const ClusterState& state, const JobState& job, TaskKind kind, JossQueues::End end);
  [[nodiscard]] CenterId& Home(const TaskId& task);
  [[nodiscard]] bool IsNear(const ClusterState& state, const JobState& job, const TaskId& task, CenterId center) const;

  // Which task a free node is given.
  std::optional<Decision> NextOf(const ClusterState& state, TaskKind kind);
  Pick PickFor(const ClusterState& state, TaskKind kind, CenterId center, NodeId node);
  Pick PickFrom(const ClusterState& state, TaskKind kind, CenterId center, std::uint32_t queue, NodeId node);
  Pick PickLocal(const ClusterState& state, CenterId center, std::uint32_t queue, NodeId node);
  Pick PickLocalOf(const ClusterState& state, JobId job, CenterId center, std::uint32_t queue, NodeId node);
  Pick PickFirst(const ClusterState& state, const std::map<std::int64_t, Share*>& line, NodeId node);
  Outcome Check(const ClusterState& state, const TaskId& task, CenterId center, NodeId node, Locality known);
  // Returns true if maps of the share, which is ready, wait for space on the node.
  [[nodiscard]] static bool LacksSpace(const ClusterState& state, const Share& share, NodeId node);
  void MoveTo(const ClusterState& state, const TaskId& task, CenterId center);
  [[nodiscard]] bool MayRunIn(const ClusterState& state, const TaskId& task, CenterId center) const;
  // Returns another datacenter where the task may run; with `holding`, one that has a replica of its block.
  [[nodiscard]] std::optional<CenterId> Elsewhere(const ClusterState& state, const TaskId& task, CenterId center,
                                                  bool holding) const;

  const Assigner assigner_;
  const JossSettings settings_;
  JossFifo* const listed_;  // the order of fifo_
  Greedy fifo_;
  JossCenters centers_;
  JossQueues queues_;
  std::vector<Job> jobs_;  // by id
  std::vector<JobId> dirty_;
  std::uint32_t last_queue_ = 0;
  bool nodes_changed_ = true;
  bool spread_ = false;  // at least two datacenters live
  struct Turns {
    CenterId center = 0;
    std::vector<std::uint32_t> node;  // by datacenter
  };
  PerKind<Turns> turns_;
};

}  // namespace millrace::sched
