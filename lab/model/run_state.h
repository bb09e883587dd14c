// SPDX-License-Identifier: Apache-2.0
// RunState: the state of one run that the simulator shares with its models of maps (map_model.h) and reduces
// (reduce_model.h): the time, the network, the engine, and the running attempts. Private to
// lab/model. Thread rule: one thread.
//
// Each attempt of a task is in a slot of `attempts`, linked from its task and from its node. A timer or flow names the
// slot and its generation, so that the end of the timer or flow is void if the attempt was killed before.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "lab/measure/recorder.h"
#include "lab/model/event_queue.h"
#include "lab/model/fabric.h"
#include "lab/model/network.h"
#include "lab/model/processors.h"
#include "lab/model/simulate.h"
#include "lab/workload/cluster_spec.h"
#include "lab/workload/workload.h"
#include "schedulers/core/engine.h"
#include "schedulers/events/events.h"

namespace millrace::sim {

using SlotId = std::uint32_t;
inline constexpr SlotId kNoSlot = 0xffffffff;

struct Attempt {
  // A map reads and computes; a reduce copies, waits for a permit and computes. Either begins after a latency.
  enum class Phase : std::uint8_t { kFree, kLaunched, kReading, kComputing, kCopying, kWaiting };

  AttemptId id;
  NodeId node;
  Phase phase = Phase::kFree;
  bool slow = false, fails = false, flowing = false;
  bool timing = false;   // it computes, or waits for a timer
  bool working = false;  // it computes on limited cores
  std::uint32_t generation = 0;
  std::uint32_t row = Recorder::kNoRow;
  SlotId next_of_task = kNoSlot;
  std::uint32_t place_on_node = 0;
  Micros since = 0, phase_since = 0;
  Micros compute = 0;                  // time of its computation here, with all the cores that it can use
  Micros start = 0;                    // CPU time of its process's start, before it computes
  Micros work_since = 0, alone = 0;    // start of its computation, and the time that this takes with all its cores
  sched::ProcessorUse use;             // its use so far
  FlowId flow = 0;                     // while flowing
  NodeId source;                       // of a map: the node that it reads from
  Locality locality = Locality::kOff;  // of a map: at its launch
  bool asks_to_compute = false;        // of a reduce: at its launch
  std::uint32_t told = 0;              // per mille last reported to the engine
};

struct JobRun {
  const SimJob* job = nullptr;
  PerKind<std::vector<SlotId>> running;         // by task: the first of its attempts
  std::map<std::uint32_t, std::uint32_t> idle;  // by node: processes of the job without work
};

struct NodeRun {
  bool alive = false;
  std::vector<SlotId> attempts;
};

struct RunState {
  // Requires: the arguments outlive this object and were checked.
  RunState(const ClusterSpec& of, const Workload& workload, std::unique_ptr<sched::Policy> policy,
           const sched::Settings& settings, const SimOptions& with);

  // Returns the run of the attempt's job. Requires: the job lives.
  [[nodiscard]] JobRun& RunOf(const Attempt& attempt) const { return *jobs[attempt.id.task.job.value]; }
  // Returns the attempt's map. Requires: the attempt is one of a map, and the job lives.
  [[nodiscard]] const SimMap& MapOf(const Attempt& attempt) const {
    return RunOf(attempt).job->maps[attempt.id.task.index];
  }
  // Sends `bytes` bytes over these links for the attempt, whose model is notified when they have arrived.
  void StartFlow(SlotId slot, const std::vector<LinkUse>& uses, double bytes);
  // Ends the attempt's flow. Returns the bytes that have not arrived.
  double StopFlow(SlotId slot);
  void SetTimer(SlotId slot, Micros in);
  // Starts the attempt's process if it must start, else the attempt's computation. An attempt that fails computes for
  // half of its time. The attempt's timer ends when this step does.
  void StartComputing(SlotId slot);
  // Records the attempt's use of the cores when its timer has ended. Returns true if only the process start has ended.
  bool EndComputing(SlotId slot);

  // Returns how many cores the attempt can use in its current or next step.
  [[nodiscard]] double CoresOf(const Attempt& attempt) const;

  const ClusterSpec& cluster;
  const SimOptions& options;
  Network network;
  Fabric fabric;
  Recorder recorder;
  sched::Engine engine;
  EventQueue queue;
  Processors processors;
  Micros now = 0;
  std::vector<std::unique_ptr<JobRun>> jobs;  // by job, while it lives
  std::vector<NodeRun> nodes;
  std::deque<Attempt> attempts;  // by slot
};

// The calls from the models to the simulator.
class ModelHost {
 public:
  // Applies an event to the engine and carries out its effects. Returns false if the engine refused it.
  virtual bool Apply(const sched::Event& event) = 0;
  // Makes the attempt compute from now on, for as long as its computation takes.
  virtual void Compute(SlotId slot) = 0;
  // Ends the attempt, which has done its work.
  virtual void Computed(SlotId slot) = 0;

 protected:
  ~ModelHost() = default;
};

}  // namespace millrace::sim
