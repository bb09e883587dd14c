// SPDX-License-Identifier: Apache-2.0
// Engine: the one state machine behind the live master and the simulator.
//
// Apply(event) changes the state and returns the resulting effects; Decide() lets the policy fill free slots. The
// engine handles retries, slow start, the right to commit, and the loss of nodes and map outputs. It checks every
// decision of the policy (task pending, slot free, node alive and neither drained nor avoided) and refuses what is not
// possible, so a wrong policy corrupts no cluster (Policy::OnRefused: one of this tree aborts a test, one from outside
// is told).
//
// Rules that the events do not spell out:
// - A task is pending exactly while no attempt of it runs, none has succeeded, and it does not pause after failures
//   (EngineOptions::retry_pause). Several attempts of one task may run (speculation); the first success wins and the
//   others get a Kill.
// - A task does not run again on a node where an attempt of it failed (or where its output could not be fetched) while
//   another node with slots of its kind would take it.
// - A reduce that has copied its input and waits for a compute permit (ReduceCopied) gets one when its node has a free
//   permit and the policy chooses the reduce. Until the reduce computes, it counts only towards the node's limit of
//   reduces.
// - No Kill is sent to a node that is lost or joins again, since its attempts are gone.
// - A map output for reduces is lost with its node, and the map runs again; the output of a map-only job is committed
//   and never lost. Running reduces keep running. An output that the driver has had copied to another node
//   (OutputMoved) belongs to that node, and is lost with it.
// - A fetch failure that makes a map run again counts against the node for that job, and not towards max_attempts.
// - A node that kBlamesToAvoid jobs refuse at the same time is avoided: it takes no tasks of any job, until fewer jobs
//   refuse it or an operator puts it back into use (NodeDrained). A job that has succeeded counts until its refusal
//   would have ended. A job that failed or was killed no longer counts, since its program may be at fault; nor does one
//   that would refuse too many nodes. Fewer than a quarter of the live nodes are avoided. The nodes that the most jobs
//   refuse come first, and no node is avoided whose loss would leave the cluster without slots of a kind.
// - A task that failed too often fails its job. So does a task that failed once if another attempt would fail in the
//   same way (AttemptFailed::permanent); such a failure counts against no node. A map is left out instead while
//   JobSpec::max_failed_maps allows it: it counts as done without an output, for good. A reduce keeps what it has
//   copied of an output that was lost since.
// - A map may leave out at most JobSpec::skip_bad_records records (BadRecords).
// - A map is not placed where its expected output (input bytes x the job's ratio so far, else its profile's) does not
//   fit (NodeSpace). The cluster stands still when for this reason no map runs, no reduce computes and no reduce has
//   all its input. If then at least two jobs with maps left hold slots or map outputs, one of them is evicted
//   (Policy::gives_way selects it). A single such job is evicted, too, if another job could use what it holds, but no
//   more than three times. An evicted job is held until another job ends, or until no other job lives.
// - Even while other work continues, a job is evicted if all of this has been so for Policy::gives_up_after: the job
//   has held slots or map outputs, none of its maps has run, one of its maps has fitted nowhere, and another job has
//   lacked what this job holds. A job that has given way three times fails instead, unless it would fit if no job had
//   outputs.
// - If no job is evicted, and the cluster has stood still for Policy::gives_up_after, a job fails whose map output fits
//   neither on a node that takes maps nor on one that is only avoided. If there is no such job, held jobs are released.
//   A recovery restarts these times, and so does a Decide that is called long after they have ended. The time before a
//   job fails is also restarted when a node joins, is lost or is drained, and when outputs are deleted (by an eviction,
//   or the end of a job), since the nodes report only later what room that leaves.
// - A job is not launched while its user has as many jobs in its pool as may run there (UserJobLimits in policy.h).
// - A job that is held (JobHeld) is not launched, and has no place among the running jobs of its user. A job of which a
//   task was launched is not held any more.
// - A node that joins is not drained, even if its last incarnation was.
//
// The engine is pure: it has no I/O, no threads, no clock but the `now` argument, no unordered iteration and no pointer
// as a key. If `now` is before the time of the last call, that time counts. The same calls give the same effects on
// every machine. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/core/engine_trial.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

class ClusterState;
class Policy;
class Outside;
struct PolicyView;

struct EngineOptions {
  std::uint32_t max_fetch_failures = 3;  // at least 1
  // A job refuses a node on which this many of its attempts failed, as long as it refuses fewer than a quarter of the
  // live nodes (Hadoop's mapred.max.tracker.failures). With 0 no node is ever refused.
  std::uint32_t max_failures_per_node = 3;
  // The time for which the job refuses the node. After that one more failure is enough, and the job refuses the node
  // for twice as long as before, up to longest_refusal. The time is long compared with a task, so that a bad node costs
  // a job little. It is short compared with a job that runs for hours, since the fault (a full disk, a neighbour's
  // load) often passes. Requires: both are above 0.
  Micros refusal = 600 * kSecond;
  Micros longest_refusal = 7200 * kSecond;
  // The pause before the next attempt of a task after the task's second failure through its own fault. The wait doubles
  // after each further failure, up to longest_retry_pause, so that a condition that lasts a while does not use up the
  // task's attempts. With 0 there is no pause.
  Micros retry_pause = 1 * kSecond;
  Micros longest_retry_pause = 30 * kSecond;
  // Makes the policy of a SchedulerSet event, or returns null if it cannot. Without this function such events are
  // refused.
  std::function<std::unique_ptr<Policy>(const SchedulerSet&)> make_policy = {};
  // Limits on the trial ends of tasks for a view.
  TrialLimits trials = {};
};

class Engine {
 public:
  Engine(EngineOptions options, std::unique_ptr<Policy> policy);
  ~Engine();

  // Applies one event and appends the effects to *effects. An event that does not fit the state (a report of an attempt
  // that was killed, a node that is not alive, a job id used twice) changes nothing, and Apply returns false, since
  // late reports are normal. Apply refuses an event that exceeds the limits of limits.h in the same way. The driver
  // journals each Blame as a NodeBlamed.
  bool Apply(Micros now, const Event& event, Effects* effects);

  // Fills free slots until the policy has no further task to launch. The decisions are applied already: the driver must
  // not Apply them, but journals each Launch as an AttemptLaunched event, each Compute as a ComputeGranted, each
  // Preempt as an AttemptPreempted, each Evict as a JobEvicted and each GiveUp as a JobGivenUp. The Kill and
  // MapOutputGone after an Evict, and the Kill and JobEnded after a GiveUp, are its consequences. Call Decide after a
  // batch of events; a call without a change is cheap.
  void Decide(Micros now, Effects* effects);

  // Returns the time, if any, at which Decide should be called although no event has come: when a locality wait runs
  // out, the pause of a task or the refusal of a node ends, or the cluster has stood still for too long.
  [[nodiscard]] std::optional<Micros> NextWake() const;

  // Returns true if `attempt` runs and no other attempt of its task has succeeded: its output may be committed now. The
  // driver commits and applies AttemptSucceeded with nothing in between.
  [[nodiscard]] bool MayCommit(const AttemptId& attempt) const;

  // Replaces the policy, as a SchedulerSet event does; running attempts are not touched. The new policy sets the nodes'
  // limits and receives the live jobs in submit order.
  void SetPolicy(std::unique_ptr<Policy> policy);

  [[nodiscard]] std::optional<JobProgress> Progress(JobId job) const;
  [[nodiscard]] std::vector<AttemptId> RunningOn(NodeId node) const;  // sorted
  // Returns the outputs that a reduce of this job may fetch now, in the order of the maps. Used at the launch of a
  // reduce. O(maps).
  [[nodiscard]] std::vector<MapOutputReady> ReadyOutputs(JobId job) const;
  // Returns the maps for whose output a reduce of this job must not wait, in order. O(maps).
  [[nodiscard]] std::vector<std::uint32_t> LeftOutMaps(JobId job) const;
  [[nodiscard]] const ClusterState& state() const;
  [[nodiscard]] const Policy& policy() const;
  // Returns the policy's side towards a program outside; null if it has none. Valid until the policy is replaced.
  [[nodiscard]] Outside* outside();
  // Returns the policy's view, to which the engine adds its own reasons why jobs wait. Each live job with a task that
  // could use another slot, or with a reduce that waits for a permit, has a cause for each kind. The cost of the call
  // is not bounded.
  [[nodiscard]] PolicyView View(Micros now) const;

  // Returns a copy that decides as this engine does, for trials; null if the policy cannot be copied (Policy::Clone).
  // Requires: this engine outlives the copy, and does not change while the copy is used.
  [[nodiscard]] std::unique_ptr<Engine> Clone() const;
  // Returns a copy as Clone does, but one that shares nothing with this engine: another thread may use it, whatever
  // becomes of this one. It cannot make policies (SchedulerSet). O(tasks of all jobs that are not forgotten).
  [[nodiscard]] std::unique_ptr<Engine> Detach() const;

  // Drops the engine's record of an ended job (the driver keeps its history). Its id stays used. Returns false if the
  // job is unknown or alive.
  bool Forget(JobId job);

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::sched
