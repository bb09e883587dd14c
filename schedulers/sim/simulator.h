// Simulator: one run, private to schedulers/sim (simulate.h is the way in). Drives an Engine as the master does: what
// happens at one moment is applied event by event, then Decide is called once; effects are carried out as workers
// would.
//
// Each attempt of a task is in a slot of `attempts_`, linked from its task and from its node. A timer or flow names the
// slot and its generation, so that what comes after the attempt was killed is void. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schedulers/core/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/history/job_history.h"
#include "schedulers/sim/block_placer.h"
#include "schedulers/sim/event_queue.h"
#include "schedulers/sim/fabric.h"
#include "schedulers/sim/network.h"
#include "schedulers/sim/recorder.h"
#include "schedulers/sim/simulate.h"

namespace millrace::sim {

using SlotId = std::uint32_t;

class Simulator {
 public:
  // The arguments outlive it and were checked.
  Simulator(const ClusterSpec& cluster, const Workload& workload, std::unique_ptr<sched::Policy> policy,
            const sched::Settings& settings, const SimOptions& options);

  SimResult Run();

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  enum class Phase : std::uint8_t { kFree, kReading, kComputing, kCopying, kWaiting };

  // What a reduce has copied.
  struct Copy {
    double share = 0;               // of each map's output
    std::uint32_t looked = 0;       // outputs of the job that it has looked at
    std::uint32_t batch_begin = 0;  // from here to `looked` is under way, while a flow runs
    std::uint32_t batch_maps = 0;
    std::uint32_t maps = 0;          // whose output it has
    double batch[3] = {};            // bytes under way: all, from other racks, from other datacenters
    double own = 0;                  // bytes of outputs on its own node that it has looked at
    std::vector<double> taken;       // by place: bytes that it has looked at (JobRun::by_place)
    std::set<std::uint32_t> wanted;  // maps whose output was lost before it had it
  };

  struct Attempt {
    AttemptId id;
    NodeId node;
    Phase phase = Phase::kFree;
    bool slow = false, fails = false, flowing = false, timing = false, idle = false;
    std::uint32_t generation = 0;
    std::uint32_t row = Recorder::kNoRow;
    SlotId next_of_task = kNone;
    std::uint32_t place_on_node = 0;
    Micros since = 0, phase_since = 0;
    Micros compute = 0;          // what its computation takes here
    FlowId flow = 0;             // while flowing
    NodeId source;               // of a map: where it reads from
    std::uint32_t told = 0;      // per mille that the engine was told
    std::unique_ptr<Copy> copy;  // of a reduce
  };

  struct Output {
    std::uint32_t map;
    NodeId node;
    std::uint64_t bytes;
    bool gone = false, again = false;  // lost; of a map that had an output before
  };

  // A reduce that has nothing to copy until so many outputs were there.
  struct Idle {
    std::uint32_t until;
    std::uint64_t order;
    SlotId slot;
    std::uint32_t generation;
    bool operator>(const Idle& other) const { return until != other.until ? until > other.until : order > other.order; }
  };

  struct JobRun {
    const SimJob* job = nullptr;
    double weights = 0;                    // of its reduces
    PerKind<std::vector<SlotId>> running;  // by task: the first of its attempts
    std::vector<Output> outputs;           // in the order in which they were there
    std::vector<std::uint32_t> output_of;  // by map: its latest one
    std::uint32_t ready = 0;               // maps that have one now
    bool lost = false;                     // some output was: sums by place are of no use any more
    std::vector<double> by_place;          // bytes of outputs
    std::vector<std::uint64_t> by_node;    // bytes kept now
    std::vector<Idle> idle;                // a heap, the first to wake on top
  };

  struct NodeRun {
    bool alive = false;
    std::vector<SlotId> attempts;
    std::uint32_t computing = 0;  // with `waiting`, the twin of worker/daemon/agent/compute_gate.h
    std::deque<std::pair<SlotId, std::uint32_t>> waiting;
    std::uint64_t kept = 0;  // bytes of map outputs
  };

  // simulator.cc: the loop.
  void Start();
  void Step();
  [[nodiscard]] bool Stuck() const;
  void Handle(const Entry& entry);
  void Decide();
  bool Apply(const sched::Event& event);
  void Journal(const sched::Event& event);
  void JournalDecision(const sched::Effect& effect);
  void Drain();
  void Carry(const sched::Effect& effect);

  // sim_jobs_nodes.cc
  void Submit(std::uint32_t job);
  [[nodiscard]] sched::JobSpec SpecOf(std::uint32_t job);
  void EndJob(const sched::JobEnded& ended);
  void JoinNode(std::uint32_t node);
  void LoseNode(std::uint32_t node);
  void Sample();

  // sim_attempts.cc: what maps and reduces have in common.
  void Launch(const sched::Launch& launch);
  SlotId NewSlot(const sched::Launch& launch);
  // Out of all lists; what it waits for is void.
  // True if it computed as a reduce: who calls admits the next one.
  bool Remove(SlotId slot, AttemptEnd how);
  void Stop(const AttemptId& attempt, AttemptEnd how);
  void OnFlowEnded(SlotId slot);
  void OnTimer(SlotId slot);
  void Compute(SlotId slot);
  void Computed(SlotId slot);
  void Fail(SlotId slot, const char* why);
  void SetTimer(SlotId slot, Micros in);
  [[nodiscard]] SlotId FindSlot(const AttemptId& attempt);
  [[nodiscard]] JobRun& RunOf(const Attempt& attempt) { return *runs_[attempt.id.task.job.value]; }
  void ScheduleProgress(SlotId slot);
  void TellProgress(SlotId slot);
  [[nodiscard]] double ProgressOf(const Attempt& attempt) const;
  [[nodiscard]] double CopyProgress(const Attempt& attempt) const;

  // sim_maps.cc
  void StartMap(SlotId slot, Locality locality);
  void Read(SlotId slot, double bytes);
  void Reread(NodeId lost);
  void ReadDone(SlotId slot);
  [[nodiscard]] std::optional<NodeId> Source(const Attempt& attempt) const;
  [[nodiscard]] double NominalRead(const Attempt& attempt) const;

  // sim_reduces.cc
  void StartReduce(SlotId slot);
  void Look(SlotId slot);
  double GatherOutputs(const Attempt& attempt, const JobRun& run);
  double GatherPlaces(const Attempt& attempt, const JobRun& run);
  void NoteTaken(const Attempt& attempt, const JobRun& run);
  [[nodiscard]] std::uint32_t PlaceOf(NodeId node) const;
  [[nodiscard]] std::uint32_t Permits(std::uint32_t node) const;
  void BatchDone(SlotId slot);
  void Wait(SlotId slot, std::uint32_t until);
  void Wake(JobRun& run);
  void OutputReady(const AttemptId& map, NodeId node);
  void OutputGone(const AttemptId& map, NodeId node);
  void DropFromBatches(JobRun& run, std::uint32_t output);
  void Keep(NodeId node, std::uint64_t bytes, bool more);
  void TellSpace(std::uint32_t node);
  void EnterGate(SlotId slot);
  void Admit(std::uint32_t node);

  const ClusterSpec& cluster_;
  const Workload& workload_;
  const sched::Settings& settings_;
  const SimOptions& options_;
  Network network_;
  Fabric fabric_;
  Gathering gathering_;
  BlockPlacer placer_;
  sched::JobHistory history_;
  Recorder recorder_;
  sched::Engine engine_;
  EventQueue queue_;

  Micros now_ = 0;
  bool changed_ = false;  // something was applied since the last Decide
  std::optional<Micros> wake_;
  std::uint32_t jobs_left_ = 0;                        // that have not ended
  std::vector<std::vector<std::uint32_t>> followers_;  // by job: those that wait for its end
  std::vector<std::unique_ptr<JobRun>> runs_;          // by job, while it lives
  std::vector<NodeRun> nodes_;
  std::deque<Attempt> attempts_;  // by slot
  std::vector<SlotId> unused_slots_;
  sched::Effects effects_;
  bool draining_ = false;
  std::vector<JobId> ended_;  // to be forgotten when Decide is over
  std::vector<LinkUse> uses_;
  std::vector<std::uint64_t> flows_ended_;
  std::uint64_t kept_ = 0, idle_order_ = 0, remote_reads_ = 0;
  double decision_seconds_ = 0;
};

}  // namespace millrace::sim
