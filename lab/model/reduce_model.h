// SPDX-License-Identifier: Apache-2.0
// ReduceModel: the copying of map outputs by simulated reduces, their waits for compute permits, and the map outputs
// that nodes keep. Private to lab/model. Thread rule: one thread.
//
// A reduce copies in batches. A batch is all outputs that are ready and that the reduce has not looked at, in one flow.
// While maps are running, the reduce waits until a twentieth of the outputs is new. With up to 39 maps, it waits for
// one output only. The sources of a batch are single nodes if they are few or the cluster is small, else racks. With
// racks, the links of the nodes in them are assumed to be wide enough, as they are when that many nodes share the
// sending.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "lab/model/fabric.h"
#include "lab/model/run_state.h"

namespace millrace::sim {

class ReduceModel {
 public:
  // Requires: both arguments outlive the model.
  ReduceModel(RunState& state, ModelHost& host);

  void Submit(JobId id, const SimJob& job);
  // Deletes the outputs of the job. Requires: none of its attempts runs.
  void EndJob(JobId id);
  void JoinNode(std::uint32_t node) { TellSpace(node); }

  // `asks`: sched::Launch::asks_to_compute.
  void Start(SlotId slot, bool asks);
  // Called when the attempt's flow has ended, that is, when the attempt has copied a batch.
  void BatchDone(SlotId slot);
  // Called when the attempt is over, even if it was never started.
  void Remove(SlotId slot);
  // Called when the attempt gets the compute permit that it waits for.
  void Grant(SlotId slot);

  // Called when a map's output can be copied from the node, or no longer can.
  void OutputReady(const AttemptId& map, NodeId node);
  void OutputGone(const AttemptId& map, NodeId node);

  // Returns the progress of the attempt, 0 to 1: a third for copying, two thirds for computing. `computed` is the share
  // of its computation that is done.
  [[nodiscard]] double Progress(SlotId slot, double computed) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // The copying of a reduce.
  struct Copy {
    bool asks = false;              // it waits for a permit in any case
    double share = 0;               // of each map's output
    std::uint32_t looked = 0;       // outputs of the job that it has looked at
    std::uint32_t batch_begin = 0;  // while a flow runs, outputs from here to `looked` are under way
    std::uint32_t batch_maps = 0;
    std::uint32_t maps = 0;          // maps whose output it has
    bool idle = false;               // it waits for more outputs
    double batch[3] = {};            // bytes under way: all, from other racks, from other datacenters
    double own = 0;                  // bytes of outputs on its own node that it has looked at
    std::vector<double> taken;       // by place: bytes that it has looked at (Shuffle::by_place)
    std::set<std::uint32_t> wanted;  // maps whose output was lost before it had it
  };

  struct Output {
    std::uint32_t map;
    NodeId node;
    std::uint64_t bytes;
    bool gone = false, again = false;  // gone: it is lost; again: its map had an output before
  };

  // A reduce that has nothing to copy until `until` outputs have been ready.
  struct Idle {
    std::uint32_t until;
    std::uint64_t order;
    SlotId slot;
    std::uint32_t generation;
    bool operator>(const Idle& other) const { return until != other.until ? until > other.until : order > other.order; }
  };

  // The map outputs of a job with reduces.
  struct Shuffle {
    const SimJob* job = nullptr;
    double weights = 0;                    // of its reduces
    std::vector<Output> outputs;           // in the order in which they became ready
    std::vector<std::uint32_t> output_of;  // by map: its latest output
    std::uint32_t ready = 0;               // maps that have an output now
    bool lost = false;                     // an output was lost, so that sums by place are no longer valid
    std::vector<double> by_place;          // bytes of outputs
    std::vector<std::uint64_t> by_node;    // bytes kept now
    std::vector<Idle> idle;                // a heap, the first to wake on top
  };

  [[nodiscard]] Shuffle& ShuffleOf(const Attempt& attempt) { return *shuffles_[attempt.id.task.job.value]; }
  // Starts the next batch, waits for more outputs, or ends the copying.
  void Look(SlotId slot);
  // Called when the attempt has copied all its input. It then computes, or waits for a permit (as in
  // worker/daemon/agent/compute_gate.h).
  void EndCopying(SlotId slot);
  // Gather the sources of a batch. GatherOutputs does so output by output; GatherPlaces uses sums by place, if there
  // are many outputs and none was lost. Return the bytes on the attempt's own node.
  double GatherOutputs(const Attempt& attempt, Copy& copy, const Shuffle& shuffle);
  double GatherPlaces(const Attempt& attempt, Copy& copy, const Shuffle& shuffle);
  [[nodiscard]] std::uint32_t PlaceOf(NodeId node) const;
  void Wait(SlotId slot, std::uint32_t until);
  void Wake(Shuffle& shuffle);
  // Makes attempts that are copying the output start their batch again without it.
  void DropFromBatches(JobId job, std::uint32_t output);
  void Keep(NodeId node, std::uint64_t bytes, bool more);
  void TellSpace(std::uint32_t node);

  RunState& state_;
  ModelHost& host_;
  Gathering gathering_;
  std::vector<std::unique_ptr<Shuffle>> shuffles_;  // by job, while it lives
  std::vector<std::uint64_t> kept_on_;              // by node: bytes of map outputs
  std::vector<std::unique_ptr<Copy>> copies_;       // by slot, while a reduce is in it
  std::vector<LinkUse> uses_;
  std::uint64_t kept_ = 0, idle_order_ = 0;
};

}  // namespace millrace::sim
