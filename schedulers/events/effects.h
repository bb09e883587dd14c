// SPDX-License-Identifier: Apache-2.0
// Effects: the requests of the engine to its driver, which carries them out in order.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/job.h"
#include "base/ids/time.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// The driver starts this attempt on this node. For reduces, the locality is kOff and means nothing.
struct Launch {
  AttemptId attempt;
  NodeId node;
  Locality locality = Locality::kOff;
  // For a reduce that has copied its input. If true, the reduce waits for a Compute in any case. If false, it waits
  // only while more reduces run on its node than may compute there (NodeState::Permits), and computes at once
  // otherwise.
  bool asks_to_compute = false;
};
// The driver lets this reduce compute. The reduce has copied its input and waits. The driver journals a ComputeGranted.
struct Compute {
  AttemptId attempt;
  NodeId node;
};
// The driver stops the attempt. The engine ignores whatever the attempt still reports.
struct Kill {
  AttemptId attempt;
  NodeId node;
  std::string reason;
};
// The driver stops the attempt, as the policy decided in Decide(), and journals an AttemptPreempted.
struct Preempt {
  AttemptId attempt;
  NodeId node;
  std::string reason;
};
// This job has to give way for lack of room for map outputs (core/engine.h). Its Kills and MapOutputGones follow. The
// driver journals a JobEvicted and has the workers delete their data of the job.
struct Evict {
  JobId job;
};
// The job has failed, because an output of its maps has fitted nowhere for too long. Its Kills and its JobEnded follow.
// The driver journals a JobGivenUp.
struct GiveUp {
  JobId job;
  std::string reason;
};
// The job refuses the node until the time `until`. If that time has passed, the job takes its refusal back. The driver
// journals a NodeBlamed (and does not Apply it).
struct Blame {
  NodeId node;
  JobId by;
  Micros until = 0;
};
// A reduce of this job may fetch the output of this map attempt from this node from now on.
struct MapOutputReady {
  AttemptId map_attempt;
  NodeId node;
};
// Reduces may no longer fetch this output. The map will run again, and a MapOutputReady with another attempt follows.
struct MapOutputGone {
  AttemptId map_attempt;
  NodeId node;
};

// The job continues without this map (JobSpec::max_failed_maps). No attempt of the map runs, and it never has an
// output.
struct MapLeftOut {
  TaskId map;
  std::string reason;
};

using millrace::JobOutcome;
// The last effect for a job. Its attempts were killed before it, if any ran.
struct JobEnded {
  JobId job;
  JobOutcome outcome = JobOutcome::kSucceeded;
  std::string reason;
};

using Effect = std::variant<Launch, Compute, Kill, Preempt, Evict, GiveUp, Blame, MapOutputReady, MapOutputGone,
                            MapLeftOut, JobEnded>;
using Effects = std::vector<Effect>;

// The effects that are decisions of Engine::Decide, and the events that record them in a journal. Recovery applies
// these events and does not decide again, since another policy may be in force by then. Thread rule: free functions.

// Returns the event that a driver journals for the effect; nothing if the effect is a consequence and not a decision.
[[nodiscard]] inline std::optional<Event> DecisionOf(const Effect& effect) {
  if (const auto* launch = std::get_if<Launch>(&effect)) return AttemptLaunched{launch->attempt, launch->node};
  if (const auto* compute = std::get_if<Compute>(&effect)) return ComputeGranted{compute->attempt};
  if (const auto* preempt = std::get_if<Preempt>(&effect)) return AttemptPreempted{preempt->attempt, preempt->reason};
  if (const auto* evict = std::get_if<Evict>(&effect)) return JobEvicted{evict->job};
  if (const auto* gives_up = std::get_if<GiveUp>(&effect)) return JobGivenUp{gives_up->job, gives_up->reason};
  return std::nullopt;
}

// Returns true if DecisionOf makes events of this type.
[[nodiscard]] inline bool IsDecision(const Event& event) {
  return std::holds_alternative<AttemptLaunched>(event) || std::holds_alternative<ComputeGranted>(event) ||
         std::holds_alternative<AttemptPreempted>(event) || std::holds_alternative<JobEvicted>(event) ||
         std::holds_alternative<JobGivenUp>(event);
}

}  // namespace millrace::sched
