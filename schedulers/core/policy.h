// Policy: decides which task gets a free slot. A policy that only orders the jobs to which slots are offered is a
// JobOrder (offering/job_order.h), which Greedy turns into a policy. This header and that one are enough to write a
// policy; a new one is then listed in policies/catalog.
//
// The engine owns all state that every policy needs: ClusterState has the nodes, the free slots, the jobs and an index
// of the pending tasks by node, rack and datacenter. The engine shows it to the policy and notifies the policy of each
// change; the policy keeps only state of its own.
//
// The calls come in this order:
// - An On... call comes after ClusterState has changed. OnJobSubmitted names a job before any other call does, and no
//   call names it after OnJobEnded. One event may change several jobs and nodes: OnJobChanged then comes once for each
//   job, after the event's own call.
// - A policy that replaces another one is notified of the nodes, then of the live jobs by OnJobSubmitted, in submit
//   order. Their tasks may run already.
// - A round, which is one Engine::Decide(), is BeginRound, then Preempt, then NextToCompute and Next until both return
//   nothing. The policy is notified of every resulting change, a launch included, before the next of these calls. When
//   the engine evicts a job at the end of a round (see WaitsForSpace), it goes on calling NextToCompute and Next in the
//   same round. When it gives a job up there, or lets evicted jobs go on, another round follows at once.
// - The const calls may come at any time.
//
// A policy is called after an event or when the time of NextWake has come. It must decide by these calls alone, without
// a clock, chance or addresses of its own, so that the same events give the same decisions. Ties are broken by job id,
// then task index, then node id. The cost of a call must not grow with the number of tasks already done. Thread rule:
// one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// A task for a node with a free slot of that kind. Requires: the task is pending, or, if `speculative`, one attempt of
// it runs, on another node; a reduce may start (JobState::ReducesMayStart); the node is in ClusterState::FreeNodes of
// the kind and neither ClusterState::Refused nor Avoids it. BestPendingMap and NextPendingReduce return such tasks. The
// engine aborts at any other decision.
struct Decision {
  TaskId task;
  NodeId node;
  bool speculative = false;  // a second attempt of a task that runs
  // Of a map: the locality that ClusterState::BestPendingMap has just returned. If this is empty, the engine looks at
  // the replicas itself.
  std::optional<Locality> locality = std::nullopt;
};

// A running attempt that has to make room.
struct Victim {
  AttemptId attempt;
  std::string reason;  // "pool ads is below its minimum share"
};

// Which of the jobs that hold room for map outputs is evicted when none can go on (Zaharia et al., section 5.4): never
// the one that uses the most, which would starve large jobs.
enum class GivesWay : std::uint8_t { kSubmittedLast, kLeastProgress };

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns an independent policy that decides from now on as this one does, for trials of who would get a slot
  // (core/engine_trial.h). Returns null if there is none; then nothing is said about the next slot. `state` is the
  // state of which this policy was last notified; changes in it since the last round may count as having come with that
  // round. It may cost O(jobs log jobs + nodes).
  [[nodiscard]] virtual std::unique_ptr<Policy> Clone(const ClusterState&) const { return nullptr; }

  // Returns the reason why a job like this must not be submitted, as a clause that says what to do instead; empty if it
  // may be. The master and the simulator call this before they submit a job. The engine does not: a journal may hold
  // such a job, submitted under another policy or other settings, and it runs.
  [[nodiscard]] virtual std::string Refusal(const JobSpec&) const { return {}; }
  virtual void OnJobSubmitted(const ClusterState&, JobId) {}
  virtual void OnJobPrioritySet(const ClusterState&, JobId) {}
  virtual void OnJobEnded(const ClusterState&, JobId) {}
  // One of these changed: the number of the job's pending, running or finished tasks; where its data or its failures
  // are; or the slots for which ClusterState lists it as runnable. The last changes when its reduces may start, when it
  // is evicted or goes on, and when a permit becomes free, or is taken, where one of its reduces waits.
  virtual void OnJobChanged(const ClusterState&, JobId) {}
  // Nodes came or went, or their limits changed, so that the capacity may differ.
  virtual void OnNodesChanged(const ClusterState&) {}

  // Returns how many tasks the node may run at once. The default is what the node declares. The answer for a node may
  // change in BeginRound alone.
  [[nodiscard]] virtual NodeLimits LimitsOf(const NodeState& node) const { return NodeLimits::Typed(node.slots); }

  // Says whether LimitsOf still returns the same limits.
  enum class Limits : std::uint8_t { kSame, kChanged };
  // Begins a round. A policy that decides by a value computed from all jobs or nodes computes it here. Returns kChanged
  // if LimitsOf would now answer differently for some node: the engine then calls it for every node, and OnNodesChanged
  // for the changed ones, before it goes on with the round.
  virtual Limits BeginRound(const ClusterState&, Micros) { return Limits::kSame; }
  // Returns the attempts to kill now, so that others can have their slots. Requires: they run.
  virtual std::vector<Victim> Preempt(const ClusterState&, Micros) { return {}; }
  // Returns the next task to launch, or nothing when the policy fills no free slot. The engine launches it and asks
  // again, so a policy sees the effect of its own decisions.
  virtual std::optional<Decision> Next(const ClusterState& state, Micros now) = 0;
  // Returns the reduce that gets the next compute permit, or nothing when none is to get one now. The engine grants the
  // permit and calls again, before it calls Next. Requires: some job is in RunnableJobs(kComputePermit); the returned
  // reduce waits for a permit of a node that has a free one, as ClusterState::NextToCompute returns it. The default
  // goes by priority, then submit order.
  virtual std::optional<AttemptId> NextToCompute(const ClusterState& state, Micros) {
    return state.NextToCompute(state.RunnableJobs(kComputePermit).begin()->job);
  }
  // Returns true if NextToCompute may pass over the job's reduces though a permit is free (because its pool has a
  // maximum, say). Such reduces must ask for a permit even where there are enough for all.
  [[nodiscard]] virtual bool MayHoldBack(const ClusterState&, JobId) const { return false; }
  // Returns true if some map would be launched now if only its expected output fitted where the policy would place it.
  // The engine calls this when Next has returned nothing and no task runs that could make room by ending; it then
  // evicts a job, or in the end gives one up. With the default no job is ever evicted, so jobs that hold all the room
  // may wait for each other for ever. A policy that finds maps for slots itself returns
  // ClusterState::AnyMapLacksSpace(). A policy that keeps some jobs from some slots leaves these out; otherwise a job
  // is evicted that could have gone on. Greedy does this for all orders.
  [[nodiscard]] virtual bool WaitsForSpace(const ClusterState&, Micros) const { return false; }

  // Which job the engine then evicts. This is a setting of the engine that comes with the policy's own; no policy reads
  // it.
  [[nodiscard]] GivesWay gives_way() const { return gives_way_; }
  void set_gives_way(GivesWay gives_way) { gives_way_ = gives_way; }
  // How long the cluster may stand still before a job fails whose next map output fits nowhere. Likewise a setting of
  // the engine.
  [[nodiscard]] Micros gives_up_after() const { return gives_up_after_; }
  void set_gives_up_after(Micros time) { gives_up_after_ = time; }

  // Returns true if some runnable job would get a slot of the kind now if only a suitable one were free. When Next has
  // returned nothing and this is false, free slots may go to second attempts (offering/speculation.h). The default
  // holds no runnable job back. A policy that holds jobs back (their pool is at its maximum, others are let in first)
  // overrides this; otherwise stragglers wait for jobs that wait for them.
  [[nodiscard]] virtual bool WantsSlots(const ClusterState& state, TaskKind kind, Micros) const {
    return !state.RunnableJobs(kind).empty();
  }
  // Returns false if the job may have no further slots of the kind now, not even for a second attempt. Requires: the
  // job lives; it need not have a pending task.
  [[nodiscard]] virtual bool MayRun(const ClusterState&, TaskKind, JobId) const { return true; }

  // Returns the number of the job's maps that must be done before the policy lets its reduces start. The default is
  // that of the job's slow start. Requires: the job lives.
  [[nodiscard]] virtual std::uint32_t MapsBeforeReduces(const ClusterState& state, JobId job) const {
    return state.FindJob(job)->MapsBeforeReduces();
  }

  // Returns the time at which the policy wants a round although nothing happens; nothing if it wants none.
  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState&) const { return std::nullopt; }

  // Returns the picture of the policy for people. Its cost is not bounded.
  [[nodiscard]] virtual PolicyView View(const ClusterState&, Micros) const { return {}; }

 private:
  GivesWay gives_way_ = GivesWay::kSubmittedLast;
  Micros gives_up_after_ = 300 * kSecond;
};

}  // namespace millrace::sched
