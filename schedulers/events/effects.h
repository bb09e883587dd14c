// Effects: the requests of the engine to its driver, which carries them out in order.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace::sched {

// The driver starts this attempt on this node. For reduces the locality is kOff and means nothing.
struct Launch {
  AttemptId attempt;
  NodeId node;
  Locality locality = Locality::kOff;
  // Of a reduce: once it has copied, it waits for a Compute in any case. If this is false, it computes at once while no
  // more reduces run on its node than may compute there (NodeState::Permits), and waits for a Compute otherwise.
  bool asks_to_compute = false;
};
// The driver lets this reduce compute; it has copied its input and waits. The driver journals a ComputeGranted.
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
// All running jobs were stuck for lack of room for map outputs, and this job has to give way: its Kills and
// MapOutputGones follow. The driver journals a JobEvicted and has the workers delete what they hold of the job.
struct Evict {
  JobId job;
};
// An output of the job's maps has fitted nowhere for so long that the job has failed: its Kills and its JobEnded
// follow. The driver journals a JobGivenUp.
struct GiveUp {
  JobId job;
  std::string reason;
};
// The job has come to refuse the node until `until`; if that time has passed, it takes the refusal back. The driver
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

// The job goes on without this map (JobSpec::max_failed_maps): none of its attempts runs, and it never has an output.
struct MapLeftOut {
  TaskId map;
  std::string reason;
};

enum class JobOutcome : std::uint8_t { kSucceeded, kFailed, kKilled };
// The last effect for a job. Its attempts were killed before it, if any ran.
struct JobEnded {
  JobId job;
  JobOutcome outcome = JobOutcome::kSucceeded;
  std::string reason;
};

using Effect = std::variant<Launch, Compute, Kill, Preempt, Evict, GiveUp, Blame, MapOutputReady, MapOutputGone,
                            MapLeftOut, JobEnded>;
using Effects = std::vector<Effect>;

}  // namespace millrace::sched
