// SPDX-License-Identifier: Apache-2.0
// Policy: decides which task gets a free slot. A policy that only orders the jobs to which slots are offered is a
// JobOrder (offering/job_order.h), which Greedy turns into a policy. This header and that one are enough to write a
// policy; the new policy is then listed in policies/catalog.
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
//   the engine evicts a job at the end of a round (see WaitsForSpace), it continues to call NextToCompute and Next in
//   the same round. When it gives a job up at the end of a round, or releases evicted jobs, another round follows at
//   once.
// - The const calls may come at any time.
//
// A policy is called after an event or when the time of NextWake has come. It must decide by these calls alone, without
// a clock, chance or addresses, so that the same events give the same decisions. Ties are broken by job id, then task
// index, then node id. The cost of a call must not grow with the number of tasks already done. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// A task for a node with a free slot of that kind. Requires: the task is pending, or, if `speculative`, one attempt of
// the task runs, on another node; a reduce may start (JobState::ReducesMayStart); the node is in
// ClusterState::FreeNodes of the kind, and ClusterState::Refused and Avoids are false for it. BestPendingMap and
// NextPendingReduce return such tasks. The engine refuses any other decision (Policy::OnRefused).
struct Decision {
  TaskId task;
  NodeId node;
  bool speculative = false;  // a second attempt of a task that runs
  // For a map: the locality that ClusterState::BestPendingMap has just returned. If this is empty, the engine computes
  // the locality from the replicas.
  std::optional<Locality> locality = std::nullopt;
};

// A running attempt that has to make room.
struct Victim {
  AttemptId attempt;
  std::string reason;  // "pool ads is below its minimum share"
};

// How many jobs of one user run at a time in a pool; nothing: any number. The engine itself withholds the others
// (JobState::over_limit), so that the limits hold under every policy: the jobs that have started run, then the first by
// priority and submit order. A limit that is lowered stops no job.
struct UserJobLimits {
  std::optional<std::uint32_t> otherwise;                     // of pools that are not in `pools`
  std::map<std::string, std::optional<std::uint32_t>> pools;  // by name

  [[nodiscard]] std::optional<std::uint32_t> Of(const std::string& pool) const {
    const auto at = pools.find(pool);
    return at == pools.end() ? otherwise : at->second;
  }
};

// The choice of the job to evict, among those that hold room for map outputs, when none of them can continue (Zaharia
// et al., section 5.4). It is never the job that uses the most room, since that would starve large jobs.
enum class GivesWay : std::uint8_t { kSubmittedLast, kLeastProgress };

class Outside;

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns an independent policy that decides from now on as this one does, for trials of which job would get a slot
  // (core/engine_trial.h). Returns null if the policy cannot be copied; then views name no job for the next slot.
  // `state` is the state of which this policy was last notified; changes in it since the last round may count as having
  // come with that round. It may cost O(jobs log jobs + nodes).
  [[nodiscard]] virtual std::unique_ptr<Policy> Clone(const ClusterState&) const { return nullptr; }

  // Returns the reason why a job like this must not be submitted, as a clause that names the remedy; empty if the job
  // may be submitted. The master and the simulator call this before they submit a job. The engine does not, since a
  // journal may contain such a job, submitted under another policy or other settings; that job runs.
  [[nodiscard]] virtual std::string Refusal(const JobSpec&) const { return {}; }
  virtual void OnJobSubmitted(const ClusterState&, JobId) {}
  virtual void OnJobPrioritySet(const ClusterState&, JobId) {}
  virtual void OnJobEnded(const ClusterState&, JobId) {}
  // One of these changed: the number of the job's pending, running or finished tasks; the places of its data or its
  // failures; or the kinds of slots for which ClusterState lists it as runnable. Those kinds change when the job's
  // reduces may start, when the job is evicted or released, and when a permit becomes free or is taken on a node where
  // one of its reduces waits.
  virtual void OnJobChanged(const ClusterState&, JobId) {}
  // Nodes came or went, or their limits changed, so that the capacity may differ.
  virtual void OnNodesChanged(const ClusterState&) {}

  // Returns how many tasks the node may run at once. The default is the number of slots that the node declares. The
  // result for a node may change in BeginRound alone.
  [[nodiscard]] virtual NodeLimits LimitsOf(const NodeState& node) const { return NodeLimits::Typed(node.slots); }

  // The result of BeginRound: whether LimitsOf still returns the same limits.
  enum class Limits : std::uint8_t { kSame, kChanged };
  // Begins a round. A policy that decides by a value computed from all jobs or nodes computes that value here. Returns
  // kChanged if LimitsOf would now return something else for some node. The engine then calls LimitsOf for every node,
  // and OnNodesChanged if any changed, before it continues with the round.
  virtual Limits BeginRound(const ClusterState&, Micros) { return Limits::kSame; }
  // Returns the attempts to kill now, so that others can have their slots. Requires: the attempts run.
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
  // Returns true if NextToCompute may skip the job's reduces though a permit is free (because its pool has a maximum,
  // say). Such reduces must ask for a permit even where there are enough permits for all.
  [[nodiscard]] virtual bool MayHoldBack(const ClusterState&, JobId) const { return false; }
  // Returns true if some map is not launched now only because its expected output does not fit where the policy would
  // place the map. The engine calls this when Next has returned nothing and no task runs that could make room by
  // ending; it then evicts a job, or in the end gives one up. With the default no job is ever evicted, so jobs that
  // hold all the room may wait for each other for ever. A policy that finds maps for slots itself returns
  // ClusterState::AnyMapLacksSpace(). A policy that keeps some jobs from some slots does not count these jobs for these
  // slots; otherwise a job that could have continued is evicted. Greedy does this for all orders.
  [[nodiscard]] virtual bool WaitsForSpace(const ClusterState&, Micros) const { return false; }

  // The rule by which the engine chooses the job to evict. It is a setting of the engine that comes with the policy's
  // own settings; no policy reads it.
  [[nodiscard]] GivesWay gives_way() const { return gives_way_; }
  void set_gives_way(GivesWay gives_way) { gives_way_ = gives_way; }
  // The time for which the cluster may stand still before a job whose next map output fits nowhere fails. This, too, is
  // a setting of the engine.
  [[nodiscard]] Micros gives_up_after() const { return gives_up_after_; }
  void set_gives_up_after(Micros time) { gives_up_after_ = time; }
  // The limits on jobs of one user in a pool: the third setting of the engine that comes with those of the policy.
  [[nodiscard]] const UserJobLimits& user_limits() const { return user_limits_; }
  void set_user_limits(UserJobLimits limits) { user_limits_ = std::move(limits); }

  // Returns true if some runnable job would get a slot of the kind now if a suitable one were free. When Next has
  // returned nothing and this is false, free slots may go to second attempts (offering/speculation.h). The default
  // holds no runnable job back. A policy that holds jobs back (their pool is at its maximum, others are let in first)
  // overrides this; otherwise stragglers wait for jobs that wait for them.
  [[nodiscard]] virtual bool WantsSlots(const ClusterState& state, TaskKind kind, Micros) const {
    return !state.RunnableJobs(kind).empty();
  }
  // Returns false if the job may have no further slots of the kind now, not even for a second attempt. Requires: the
  // job lives; it need not have a pending task.
  [[nodiscard]] virtual bool MayRun(const ClusterState&, TaskKind, JobId) const { return true; }

  // Returns the number of the job's maps that must be done before the policy lets its reduces start. The default is the
  // number that the job's slow start requires. Requires: the job lives.
  [[nodiscard]] virtual std::uint32_t MapsBeforeReduces(const ClusterState& state, JobId job) const {
    return state.FindJob(job)->MapsBeforeReduces();
  }

  // Returns the time at which the policy wants a round even if nothing else happens; nothing if it wants none.
  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState&) const { return std::nullopt; }

  // The engine has refused a decision of this policy ("job1.m.0 on n1") for a reason ("it is not pending"), and calls
  // on. A policy of this tree that decides wrongly is a bug, so the default aborts: a test fails, and no cluster is
  // corrupted. Requires of an override: the policy does not decide the same again.
  virtual void OnRefused(const ClusterState&, const std::string& decision, const std::string& why);

  // Returns the side that takes orders from a program outside (core/outside.h); null if there is none.
  [[nodiscard]] virtual Outside* outside() { return nullptr; }

  // Returns a picture of the policy for people. The cost of the call is not bounded.
  [[nodiscard]] virtual PolicyView View(const ClusterState&, Micros) const { return {}; }

 private:
  GivesWay gives_way_ = GivesWay::kSubmittedLast;
  Micros gives_up_after_ = 300 * kSecond;
  UserJobLimits user_limits_;
};

}  // namespace millrace::sched
