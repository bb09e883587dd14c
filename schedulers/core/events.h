// What happens to a cluster, as the engine sees it. The live master journals each event before it applies it; recovery,
// history, the simulator's input and the golden tests read the same lines (event_text.h).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "schedulers/core/ids.h"

namespace millrace::sched {

struct Slots {
  std::uint32_t maps = 0;
  std::uint32_t reduces = 0;
  auto operator<=>(const Slots&) const = default;
};

enum class Priority : std::uint8_t { kVeryHigh = 0, kHigh = 1, kNormal = 2, kLow = 3, kVeryLow = 4 };

struct MapInput {
  std::uint64_t bytes = 0;
  std::vector<NodeId> replicas;  // nodes that hold the split's data, any order; may name nodes that never joined
  auto operator<=>(const MapInput&) const = default;
};

// What the engine must know of a job. Later policies add fields (pool, user, deadline, task-time estimates); a field
// that is absent in a journal line has its default.
struct JobSpec {
  std::string name;
  Priority priority = Priority::kNormal;
  std::vector<MapInput> maps;  // may be empty: such a job goes straight to its reduces
  std::uint32_t reduces = 0;   // 0: map only
  double slow_start = 0.05;    // the fraction of maps that must have succeeded before a reduce may launch, 0 to 1
  std::uint32_t max_attempts = 4;  // at least 1; so many FAILED attempts of one task fail the job (killed, lost: no)
  auto operator<=>(const JobSpec&) const = default;
};

// A node came (or came back). A node id that is alive already: the old incarnation is lost first, as by NodeLost.
struct NodeJoined {
  NodeId node;
  std::string rack;
  std::string datacenter;
  Slots slots;
};
// Its running attempts are lost (they run again and do not count as failed), and so are the outputs of its succeeded
// maps that a reduce of a live job may still need.
struct NodeLost { NodeId node; };
// The node takes no new attempts but what runs there goes on (decommissioning, blacklisting by the operator); and back.
struct NodeDrained { NodeId node; bool drained = true; };

struct JobSubmitted { JobId job; JobSpec spec; };
struct JobKilled { JobId job; std::string reason; };
struct JobPrioritySet { JobId job; Priority priority = Priority::kNormal; };

// The engine decided this itself in Decide(); it is in the journal so that recovery does not depend on the policy.
struct AttemptLaunched { AttemptId attempt; NodeId node; };
// The attempt's output is committed (the first success of a task wins, and the driver asks MayCommit() before it
// commits).
struct AttemptSucceeded { AttemptId attempt; };
// The attempt's own fault (non-zero exit, signal, exception, corrupt input): counts towards max_attempts.
struct AttemptFailed { AttemptId attempt; std::string reason; };
// Not the attempt's fault (worker shut down, killed on request, master could not reach it): does not count.
struct AttemptLost { AttemptId attempt; std::string reason; };
// A running reduce could not fetch the output of `map_attempt`. After `max_fetch_failures` such reports (from distinct
// reduce tasks, or as many as there are running reduces, if fewer), or when its node is gone, the map runs again.
struct FetchFailed { AttemptId reduce; AttemptId map_attempt; };
// The splits' replicas moved (re-replication, a node with data came back).
struct ReplicasMoved { TaskId map; std::vector<NodeId> replicas; };

using Event = std::variant<NodeJoined, NodeLost, NodeDrained, JobSubmitted, JobKilled, JobPrioritySet, AttemptLaunched,
                           AttemptSucceeded, AttemptFailed, AttemptLost, FetchFailed, ReplicasMoved>;

}  // namespace millrace::sched
