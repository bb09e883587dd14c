// Engine: the one state machine behind the live master and the simulator.
//
// Apply(event) changes the state and says what follows from it; Decide() lets the policy fill free slots. The engine
// holds retries, slow start, the right to commit, loss of nodes and map outputs, and checks every decision of the
// policy (task pending, slot free, node alive and neither drained nor avoided), so a wrong policy is an aborted test
// and not a corrupt cluster.
//
// Rules that the events do not spell out:
// - A task is pending exactly while no attempt of it runs, none has succeeded, and it does not pause after failures
//   (EngineOptions::retry_pause). Several attempts of one task may run (speculation); the first success wins and the
//   others get a Kill.
// - A task does not run again on a node where an attempt of it failed (or where its output could not be fetched) while
//   another node with slots of its kind would take it.
// - A reduce that has copied its input and waits for a compute permit (ReduceCopied) gets one when its node has a free
//   one and the policy says that it is its turn. Until it computes it counts towards the node's reduces alone.
// - No Kill is sent to a node that is lost or joins again: what ran there is gone.
// - The output of a map that is fetched by reduces is lost with its node and the map runs again; the output of a
//   map-only job is committed and never lost. Running reduces keep running. An output that the driver has had copied to
//   another node (OutputMoved) is that node's: it is lost with that one.
// - A fetch failure that makes a map run again counts against the node for that job, and not towards max_attempts.
// - A node that is refused to kBlamesToAvoid jobs at a time takes no tasks of any job, until it is refused to fewer or
//   is taken into use by hand (NodeDrained). A job that has ended well counts until its refusal would have ended; one
//   that failed or was killed counts no more, since its program may be at fault, and so does one that would refuse too
//   many nodes. Fewer than a quarter of the live nodes are avoided, those first that are refused to most jobs, and none
//   that would leave the cluster without slots of a kind.
// - A task that failed too often fails its job, and so does one that failed once if another attempt would fail in the
//   same way (AttemptFailed::permanent), which counts against no node. A map is left out instead while
//   JobSpec::max_failed_maps allows it: it counts as done without an output, for good, though a reduce keeps what it
//   has copied of an output that was lost since.
// - A map may leave out at most JobSpec::skip_bad_records records (bad_records.h).
// - A map is not placed where its expected output (input bytes x the job's ratio so far, else its profile's) does not
//   fit (NodeSpace). Nothing goes on when for this reason no map runs, no reduce computes and no reduce has all its
//   input. If then at least two jobs with maps left hold slots or map outputs, one of these is evicted
//   (Policy::gives_way says which). If it is one, and another job could use what it holds, it is evicted, too, but no
//   more than three times. An evicted job is held until another job ends, or until no other job lives.
// - Whatever else goes on, a job is evicted, too, if for Policy::gives_up_after it has held slots or map outputs, none
//   of its maps has run, one of them has fitted nowhere, and another job has lacked what it holds. When it has given
//   way three times it fails instead, unless it would fit if no job had outputs.
// - If nobody is evicted, and nothing has gone on for Policy::gives_up_after, a job fails of which an output fits on no
//   node that takes maps, or is only avoided; if there is none, what is held goes on. A recovery begins these times
//   anew, and so does a Decide that comes long after their end. For a job to fail, so does a node that joins, is lost
//   or is drained, and whatever deletes outputs (an eviction, the end of a job), since the nodes say only later what
//   room that leaves.
// - A node that joins is not drained, whatever its last incarnation was.
//
// The engine is pure: it has no I/O, no threads, no clock but the `now` argument (a time before that of the last call
// counts as that time), no unordered iteration and no pointer as a key. The same calls give the same effects on every
// machine. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/engine_trial.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"
#include "schedulers/events/progress.h"

namespace millrace::sched {

class ClusterState;
class Policy;
struct PolicyView;

struct EngineOptions {
  std::uint32_t max_fetch_failures = 3;  // at least 1
  // A node on which this many attempts of one job failed gets no more attempts of that job, as long as fewer than a
  // quarter of the live nodes are refused to it (Hadoop's mapred.max.tracker.failures). With 0 no node is ever refused.
  std::uint32_t max_failures_per_node = 3;
  // How long the node is refused to the job. After that one more failure is enough, and the node is refused for twice
  // as long as before, up to the longest. The time is long beside a task, so that a bad node costs a job little, and
  // short beside a job that runs for hours, since what was wrong (a full disk, a neighbour's load) often passes.
  // Requires: both are above 0.
  Micros refusal = 600 * kSecond;
  Micros longest_refusal = 7200 * kSecond;
  // How long the next attempt of a task waits after the second failure by its own fault. After each further failure it
  // waits twice as long as before, up to the longest, so that a condition that lasts a while does not use up the task's
  // attempts. With 0 there is no pause.
  Micros retry_pause = 1 * kSecond;
  Micros longest_retry_pause = 30 * kSecond;
  // Makes the policy of a SchedulerSet event, or returns null if it cannot. Without this function such events are
  // refused.
  std::function<std::unique_ptr<Policy>(const SchedulerSet&)> make_policy = {};
  // How many ends of tasks are tried for a view.
  TrialLimits trials = {};
};

class Engine {
 public:
  Engine(EngineOptions options, std::unique_ptr<Policy> policy);
  ~Engine();

  // Applies one event; appends what follows to *effects. An event that does not fit the state (a report of an attempt
  // that was killed, a node that is not alive, a job id used twice) changes nothing and returns false: late reports are
  // normal. The same holds for an event that asks for more than limits.h grants. The driver journals each Blame as a
  // NodeBlamed.
  bool Apply(Micros now, const Event& event, Effects* effects);

  // Fills free slots until the policy has no more to give. Launches are applied; the driver journals each Launch
  // as an AttemptLaunched event, each Compute as a ComputeGranted, each Preempt as an AttemptPreempted, each Evict as a
  // JobEvicted, each GiveUp as a JobGivenUp (and must not Apply them; the Kill and MapOutputGone after an Evict, and
  // the Kill and JobEnded after a GiveUp, are its consequences). Call it after a batch of events; a call without change
  // is cheap.
  void Decide(Micros now, Effects* effects);

  // Returns the time at which Decide should be called although nothing has happened (a locality wait runs out, a task
  // has paused long enough, a node has been refused long enough, nothing has gone on for too long), if any.
  [[nodiscard]] std::optional<Micros> NextWake() const;

  // Returns true if `attempt` runs and no other attempt of its task has succeeded: its output may be committed now. The
  // driver commits and applies AttemptSucceeded with nothing in between.
  [[nodiscard]] bool MayCommit(const AttemptId& attempt) const;

  // Replaces the policy, as a SchedulerSet event does; nothing running is touched. The new one gives the nodes' limits
  // and is told of the live jobs in submit order.
  void SetPolicy(std::unique_ptr<Policy> policy);

  [[nodiscard]] std::optional<JobProgress> Progress(JobId job) const;
  [[nodiscard]] std::vector<AttemptId> RunningOn(NodeId node) const;  // sorted
  // Returns what a reduce of this job may fetch now, in the order of the maps. It serves the launch of a reduce.
  // O(maps).
  [[nodiscard]] std::vector<MapOutputReady> ReadyOutputs(JobId job) const;
  // Returns the maps whose output a reduce of this job is not to wait for, in order. O(maps).
  [[nodiscard]] std::vector<std::uint32_t> LeftOutMaps(JobId job) const;
  [[nodiscard]] const ClusterState& state() const;
  [[nodiscard]] const Policy& policy() const;
  // Returns what the policy shows, with what the engine knows of why jobs wait: each live job with a task that could
  // use another slot, or with a reduce that waits for a permit, has a cause for each kind. It may cost what it takes.
  [[nodiscard]] PolicyView View(Micros now) const;

  // Returns an engine that goes on as this one does, to try something on; null if its policy cannot be copied
  // (Policy::Clone). Requires: this one outlives the copy, and does not change while the copy is used.
  [[nodiscard]] std::unique_ptr<Engine> Clone() const;

  // Drops what is kept of an ended job (its history lives with the driver). Its id stays used. Returns false if the job
  // is unknown or alive.
  bool Forget(JobId job);

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::sched
