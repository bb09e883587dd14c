// SPDX-License-Identifier: Apache-2.0
// LocalityWait: delay scheduling, the gate that `+delay` adds (Zaharia et al., section 4 and Algorithm 1;
// docs/schedulers/policies.md#delay).
//
// The rule, as code, for the offer of a map slot on a node (Algorithm 1, with datacenters as one more level):
//
//   level = job.level                             // node at first
//   for farther in rack, datacenter, off, beyond job.level, while the job's clock runs:
//     if the clock has run for T1 (rack), T2 more (datacenter), T3 more (off): level = farther
//   if a pending map of the job has its data that close to the node:
//     launch the closest; job.level = how close it is; stop the job's clock
//   else:
//     start the job's clock, unless it runs
//
// A map whose input lies on no live node (generated numbers, a job that only sleeps, replicas only on lost nodes) is
// equally local everywhere: it does not wait, and its launch leaves level and clock as they are.
//
// So a job that finds local slots again goes back to a closer level. A job does not wait for levels that do not exist:
// on one rack there is nothing beyond the rack, on one datacenter nothing beyond the datacenter, and where no
// datacenter has two racks a datacenter is a rack. The waits are the scheduler's, or the job's own
// (JobSpec::locality_waits: zero for CPU-bound jobs is the paper's IO-rate biasing).
//
// The clock is not that of Algorithm 1. In Algorithm 1 a job's wait grows from a heartbeat at which the job was skipped
// to the next one, so the wait stands still while other jobs take the slots. Here the clock runs from the first slot
// that the job refuses to its next launch. So a job takes any slot that it is offered once T1 + T2 + T3 have passed
// since that refusal, whichever jobs took slots meanwhile. A slot need not be offered to every job that waits, since
// their clocks run anyway. Where hundreds of jobs wait at once, this clock costs locality;
// docs/schedulers/policies.md#delay has the figures of both clocks.
//
// Outnumbers (Spark lacked this rule, SPARK-18886): a job with more pending maps than there are map slots on the nodes
// with their data may use slots that would otherwise idle. Each slot counts once, however short the maps are, so that
// at the end of the job the cluster idles for about one map and not for the whole wait.
//
// With mode = auto a wait w gains (1 - e^(-w/t)) (D - t), so a job waits only if D > t, and then at most the fixed
// waits. D is the extra time of the job's maps that do not run on a node with their data, measured from its finished
// maps with and without their data on the node. Until there are some of both, D is the time to move the input of the
// job's first pending map to the node. t is the mean time between free slots on the nodes with the job's data: the
// cluster's mean map time over the number of their slots. D and t are compared when a wait would begin.
//
// Thread rule: one thread. A skip and a launch cost O(log jobs). The slots at the data of a job are counted in O(nodes
// with its data) when a sixteenth of its pending maps is no longer pending since the last count, or nodes have changed.
// Except with mode = auto, the count stops when it reaches the number of the job's pending maps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "schedulers/cluster/bandwidths.h"
#include "schedulers/cluster/job_table.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/delay_settings.h"
#include "schedulers/offering/sorted_rows.h"

namespace millrace::sched {

class LocalityWait : public LocalityGate {
 public:
  // `bandwidths` apply between nodes without measured transfers.
  LocalityWait(const DelaySettings& settings, const LevelBandwidths& bandwidths);

  [[nodiscard]] std::unique_ptr<LocalityGate> Clone() const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  [[nodiscard]] Locality Worst(const ClusterState& state, JobId job, Micros now) const override;
  void OnSkipped(const ClusterState& state, JobId job, NodeId node, Micros now) override;
  void OnLaunched(const ClusterState& state, JobId job, Locality locality, Micros now) override;
  [[nodiscard]] bool Outnumbers(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  void OnDataMoved(JobId job) override { Of(job).counted_pending = 0; }
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  void Advance(const ClusterState& state, Micros now) override;
  std::vector<JobId> TakeRaised(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::optional<Micros> WaitingSince(JobId job) const override;
  [[nodiscard]] std::optional<Micros> WaitingUntil(const ClusterState& state, JobId job, Micros now) const override;
  [[nodiscard]] std::vector<Fact> Facts() const override;

 private:
  struct JobClock {
    Micros waits[3] = {};  // T1, T2, T3
    Locality level = Locality::kNode;
    std::optional<Micros> since;  // the time since which the clock runs; nothing if it does not run
    std::optional<Micros> due;    // listed in due_
    bool at_once = false;         // auto: waiting would gain nothing
    bool raised = false;          // listed in raised_
    bool to_judge = false;        // listed in to_judge_
    // The last count of SlotsAtData.
    std::uint32_t counted_pending = 0;
    std::uint32_t slots = 0;
    std::uint64_t counted_version = 0;  // nodes_version_ at that count
  };

  // Returns how long a job at the level before `level` waits to earn `level`.
  [[nodiscard]] static Micros WaitTo(const JobClock& clock, Locality level, const Topology& topology);
  [[nodiscard]] static std::optional<Micros> NextLevel(const JobClock& clock, const Topology& topology, Micros now);
  void SetDue(JobId job, JobClock& clock, std::optional<Micros> due);
  void Raise(JobId job, JobClock& clock);
  void StopClock(JobId job, JobClock& clock);
  // Returns the number of map slots on the nodes with data of the job's pending maps. Except with mode = auto, it stops
  // counting at the number of these maps, and may then return fewer slots than there are.
  std::uint32_t SlotsAtData(const ClusterState& state, const JobState& job);
  [[nodiscard]] bool WorthWaiting(const ClusterState& state, const JobState& job, NodeId node);
  // Returns nothing if the input of the job's first pending map lies on no node.
  [[nodiscard]] std::optional<double> CostOfDistance(const ClusterState& state, const JobState& job, NodeId node) const;
  JobClock& Of(JobId job) { return clocks_.At(job); }
  [[nodiscard]] const JobClock& Of(JobId job) const { return clocks_.At(job); }

  const DelaySettings settings_;
  const LevelBandwidths bandwidths_;
  JobTable<JobClock> clocks_;
  SortedRows<std::pair<Micros, JobId>> due_;
  std::vector<JobId> raised_;
  std::vector<JobId> to_judge_;  // auto: launched since TakeRaised
  std::uint64_t nodes_version_ = 1;
  std::uint32_t racks_ = 0, datacenters_ = 0;  // they decide which levels exist
  Micros advanced_ = 0;                        // the time of the last Advance
};

}  // namespace millrace::sched
