// Engine::Impl, private to schedulers/core/engine*.cc: one On() an event, and the steps that they share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/core/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"

namespace millrace::sched {

struct Engine::Impl {
  EngineOptions options;
  std::unique_ptr<Policy> policy;
  ClusterState state;
  Micros now = 0;
  // The nodes with which attempts of the task were lost, of tasks of live jobs that have not succeeded.
  std::map<TaskId, std::vector<NodeId>> deaths;

  // engine.cc
  void SetPolicy(std::unique_ptr<Policy> next);
  // Of what changed since the last call.
  void TellPolicy();
  // What waits for a time that has come waits no more: tasks that pause, nodes that are refused or avoided.
  void PassTime();
  void RefreshLimits();

  // engine_nodes.cc
  bool On(const NodeJoined& event, Effects& effects);
  bool On(const NodeLost& event, Effects& effects);
  bool On(const NodeDrained& event, Effects& effects);
  bool On(const BandwidthMeasured& event, Effects& effects);
  bool On(const SchedulerSet& event, Effects& effects);
  bool On(const NodeSpace& event, Effects& effects);
  bool On(const NodeBlamed& event, Effects& effects);
  // It failed on the node, which may now be refused to its job.
  void CountNodeFailure(const TaskId& task, NodeId node, Effects& effects);
  // The job has nothing to say of nodes any more.
  void TakeBackBlames(JobId job, Effects& effects);
  // An attempt of the task ended with its node's process: after kMaxNodeDeaths of these it is given up.
  void CountDeath(const TaskId& task, NodeId node, Effects& effects);

  // engine_space.cc
  bool On(const JobEvicted& event, Effects& effects);
  // True if a job was evicted, so that others may be placed.
  bool EvictIfStuck(Effects& effects);
  void Evict(JobId job, Effects& effects);
  void LoseNode(const NodeState& node, bool died, Effects& effects);

  // engine_jobs.cc
  bool On(const JobSubmitted& event, Effects& effects);
  bool On(const JobKilled& event, Effects& effects);
  bool On(const JobPrioritySet& event, Effects& effects);
  void EndJob(JobId job, JobOutcome outcome, const std::string& reason, Effects& effects);

  // engine_tasks.cc
  bool On(const AttemptLaunched& event, Effects& effects);
  bool On(const AttemptSucceeded& event, Effects& effects);
  bool On(const AttemptFailed& event, Effects& effects);
  bool On(const AttemptLost& event, Effects& effects);
  bool On(const AttemptPreempted& event, Effects& effects);
  bool On(const AttemptProgressed& event, Effects& effects);
  bool On(const ReduceComputing& event, Effects& effects);
  [[nodiscard]] const JobState* FindLiveJob(JobId job) const;
  // Null if the job is not alive or has no such task.
  [[nodiscard]] const TaskState* FindTask(const TaskId& task) const;
  // Null if it does not run.
  [[nodiscard]] const RunningAttempt* FindRunning(const AttemptId& attempt) const;
  // Kills all that run of the task.
  void KillAttempts(const TaskId& task, const std::string& reason, Effects& effects);
  // True if the failure is that of a record, and not of the node.
  bool BlameRecord(const AttemptFailed& event);
  // All but those that it took to find bad records.
  [[nodiscard]] std::uint32_t FailuresThatCount(const TaskId& task) const;
  void ForgetBadRecords(const TaskId& map);
  // If it is pending and failed more than once.
  void PauseAfterFailure(const TaskId& task);
  // It used up its attempts: the job ends, or goes on without the map.
  void GiveUpTask(const TaskId& task, const std::string& reason, Effects& effects);
  void CheckDecision(const Decision& decision) const;
  void Preempt(const Victim& victim, Effects& effects);

  // engine_outputs.cc
  bool On(const FetchFailed& event, Effects& effects);
  bool On(const ReplicasMoved& event, Effects& effects);
  void LoseOutput(JobId job, std::uint32_t map, Effects& effects);
  // True if reduces fetch what this attempt wrote.
  [[nodiscard]] bool ServesOutput(const AttemptId& attempt) const;
  // Gives up the outputs that all who may lack them have reported. To be called when fewer lack them.
  void WeighReports(JobId job, Effects& effects);
  [[nodiscard]] bool LacksOutputs(const TaskState& reduce) const;
  void GiveUpOutput(const TaskId& map, Effects& effects);
};

}  // namespace millrace::sched
