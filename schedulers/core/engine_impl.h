// SPDX-License-Identifier: Apache-2.0
// Engine::Impl, private to schedulers/core/engine*.cc. It has one On() for each event, and the steps that they share.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/engine_trial.h"
#include "schedulers/core/policy.h"

namespace millrace::sched {

struct Engine::Impl {
  Impl() = default;
  // Makes a copy for a trial (engine_trial.h). Requires: `clone` is a clone of the other's policy; the other outlives
  // the copy, and does not change while the copy is used.
  Impl(const Impl& other, std::unique_ptr<Policy> clone);

  EngineOptions options;
  std::unique_ptr<Policy> policy;
  UserJobLimits user_limits;  // of the policy; kept apart, since the clones that trials use have none
  ClusterState state;
  Micros now = 0;
  // The time since which the cluster has stood still for lack of room, or because the job to run next was evicted. It
  // is reset by an eviction, by a node that comes or goes, and by the deletion of outputs (NoteFreed).
  std::optional<Micros> still_since;
  // By job: the time since which the job has kept others from the slots or the room that it holds, though none of its
  // maps runs and one fits nowhere.
  std::map<JobId, Micros> blocks_since;
  // The time at which outputs were last deleted. The nodes report their new room only later.
  std::optional<Micros> freed_at;
  Micros look_at = 0;  // the time at which EndBlocking next examines the jobs, if there are many
  // By task: the nodes that died with an attempt of it. Only unfinished tasks of live jobs are listed.
  std::map<TaskId, std::vector<NodeId>> deaths;

  // engine.cc
  void SetPolicy(std::unique_ptr<Policy> next);
  // Notifies the policy of the changes since the last call.
  void TellPolicy();
  // Ends all waits whose time has come: the pauses of tasks, and the refusals and avoidance of nodes.
  void PassTime();
  void RefreshLimits();
  // Lets the policy fill free slots once.
  void DecideRound(Effects& effects);
  // Returns true if the policy made a decision.
  bool DecideNext(Effects& effects);

  // engine_nodes.cc
  bool On(const NodeJoined& event, Effects& effects);
  bool On(const NodeLost& event, Effects& effects);
  bool On(const NodeDrained& event, Effects& effects);
  bool On(const BandwidthMeasured& event, Effects& effects);
  bool On(const SchedulerSet& event, Effects& effects);
  bool On(const PolicyAnswered& event, Effects& effects);
  bool On(const NodeSpace& event, Effects& effects);
  bool On(const NodeBlamed& event, Effects& effects);
  // Records that the task failed on the node. Its job may refuse the node from now on.
  void CountNodeFailure(const TaskId& task, NodeId node, Effects& effects);
  // Takes back all refusals for which the job blames nodes.
  void TakeBackBlames(JobId job, Effects& effects);
  // Records that an attempt of the task ended with its node's process. After kMaxNodeDeaths such ends, the task is
  // given up.
  void CountDeath(const TaskId& task, NodeId node, Effects& effects);

  // engine_space.cc
  bool On(const JobEvicted& event, Effects& effects);
  bool On(const JobGivenUp& event, Effects& effects);
  // Returns true if a job was evicted, so that others may be placed.
  bool EvictIfStuck(Effects& effects);
  void Evict(JobId job, Effects& effects);
  // Records that outputs are being deleted. The room that this leaves is unknown until the nodes report it.
  void NoteFreed();
  // Ends a standstill of the cluster that has lasted for too long. Returns true if another round is needed.
  bool EndStandstill(Effects& effects);
  // Evicts a job that has kept others from its slots or room for too long while none of its maps could run; in the end
  // the job fails. Returns true if another round is needed.
  bool EndBlocking(Effects& effects);
  // Returns the time at which a standstill or a blocking job will have lasted for too long; nothing if there is
  // neither.
  [[nodiscard]] std::optional<Micros> StandstillEnd() const;
  void GiveUp(JobId job, const std::string& reason, Effects& effects);
  [[nodiscard]] Micros GivesUpAfter() const;
  // Returns true if a state that began at *since has lasted for too long. If it did so long ago and no call came then,
  // the process was stopped, and its knowledge of the nodes is old. In that case *since becomes `now`, and the result
  // is false.
  bool IsOver(Micros* since) const;
  void LoseNode(const NodeState& node, bool died, Effects& effects);

  // engine_jobs.cc
  bool On(const JobSubmitted& event, Effects& effects);
  bool On(const JobKilled& event, Effects& effects);
  bool On(const JobPrioritySet& event, Effects& effects);
  bool On(const JobHeld& event, Effects& effects);
  void EndJob(JobId job, JobOutcome outcome, const std::string& reason, Effects& effects);
  // Decides which live jobs of the user in the pool may run (UserJobLimits). O(live jobs) if the pool has a limit.
  void LimitUser(const std::string& pool, const std::string& user);
  // Does so for all pools and users, under limits that may have changed.
  void LimitAllUsers();

  // engine_tasks.cc
  bool On(const AttemptLaunched& event, Effects& effects);
  bool On(const AttemptSucceeded& event, Effects& effects);
  bool On(const AttemptFailed& event, Effects& effects);
  bool On(const AttemptLost& event, Effects& effects);
  bool On(const AttemptPreempted& event, Effects& effects);
  bool On(const AttemptProgressed& event, Effects& effects);
  bool On(const ReduceComputing& event, Effects& effects);
  bool On(const ReduceCopied& event, Effects& effects);
  bool On(const ComputeGranted& event, Effects& effects);
  [[nodiscard]] const JobState* FindLiveJob(JobId job) const;
  // Returns null if the job is not alive or has no such task.
  [[nodiscard]] const TaskState* FindTask(const TaskId& task) const;
  // Returns null if the attempt does not run.
  [[nodiscard]] const RunningAttempt* FindRunning(const AttemptId& attempt) const;
  // Kills all running attempts of the task.
  void KillAttempts(const TaskId& task, const std::string& reason, Effects& effects);
  // Returns true if a record is at fault, and not the node.
  bool BlameRecord(const AttemptFailed& event);
  // Returns the number of the task's failures, less those that found bad records.
  [[nodiscard]] std::uint32_t FailuresThatCount(const TaskId& task) const;
  void ForgetBadRecords(const TaskId& map);
  // Pauses the task if it is pending and has failed more than once.
  void PauseAfterFailure(const TaskId& task);
  // Gives up a task that has used up its attempts: the job fails, or continues without the map.
  void GiveUpTask(const TaskId& task, const std::string& reason, Effects& effects);
  // The one check of what policies decide. Each returns why the decision is not possible; empty if it is.
  [[nodiscard]] std::string WhyNot(const Decision& decision) const;
  [[nodiscard]] std::string WhyNot(const Victim& victim) const;
  [[nodiscard]] std::string WhyNotCompute(const AttemptId& attempt) const;
  void Preempt(const Victim& victim, Effects& effects);
  // Gives the reduce a compute permit, as the policy decided.
  void GrantCompute(const AttemptId& attempt, Effects& effects);

  // engine_trial.cc
  // Returns trials of what would happen if running tasks of the wanted kinds ended at time `at`.
  [[nodiscard]] TriedEnds TryEnds(const PerKind<bool>& wanted, Micros at, const TrialLimits& limits) const;
  // Returns nothing if the policy cannot be copied.
  [[nodiscard]] std::optional<TriedEnd> TryEnd(const AttemptId& attempt, NodeId node, Micros at) const;

  // engine_outputs.cc
  bool On(const FetchFailed& event, Effects& effects);
  bool On(const ReplicasMoved& event, Effects& effects);
  bool On(const OutputMoved& event, Effects& effects);
  void LoseOutput(JobId job, std::uint32_t map, Effects& effects);
  // Returns true if reduces fetch the output of this attempt.
  [[nodiscard]] bool ServesOutput(const AttemptId& attempt) const;
  // Gives up each output that has been reported (FetchFailed) by enough of the reduces that may lack it. Called when
  // fewer reduces lack outputs than before.
  void WeighReports(JobId job, Effects& effects);
  [[nodiscard]] bool LacksOutputs(const TaskState& reduce) const;
  void GiveUpOutput(const TaskId& map, Effects& effects);
};

}  // namespace millrace::sched
