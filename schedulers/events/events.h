// SPDX-License-Identifier: Apache-2.0
// Events: the changes of a cluster that the engine learns of. The live master journals each event before it applies it;
// recovery, history, the simulator's input and the golden tests read the same lines (event_text.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/job.h"
#include "base/ids/time.h"

namespace millrace::sched {

struct Slots {
  std::uint32_t maps = 0;
  std::uint32_t reduces = 0;
  auto operator<=>(const Slots&) const = default;
};

enum class Priority : std::uint8_t { kVeryHigh = 0, kHigh = 1, kNormal = 2, kLow = 3, kVeryLow = 4 };
// The names of the priorities, by value.
inline constexpr std::array<std::string_view, 5> kPriorityNames = {"VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"};

// Measurements of earlier runs of the same program over input of the same type (schedulers/history/job_history.h). The
// driver looks them up when the job is submitted, so that decisions do not depend on a store that keeps changing.
struct JobProfile {
  std::uint32_t runs = 0;   // 0: nothing is known and the rest means nothing
  Micros map_time = 0;      // mean of succeeded map attempts
  Micros reduce_time = 0;   // mean of succeeded reduce attempts; 0: there was none
  double output_ratio = 0;  // map output bytes / map input bytes (the filtering percentage of JoSS)
  auto operator<=>(const JobProfile&) const = default;
};

struct MapInput {
  std::uint64_t bytes = 0;
  std::vector<NodeId> replicas;  // nodes that hold the split's data, in any order; may name nodes that never joined
  auto operator<=>(const MapInput&) const = default;
};

// The description of a job for the engine and its policies. A field that is absent in a journal line has its default.
struct JobSpec : JobTerms {
  std::string name;
  std::string user;
  std::string pool;  // of `fair`, queue of `capacity`, group of `lsap-fair`; empty: the user's name
  Priority priority = Priority::kNormal;
  std::vector<MapInput> maps;  // may be empty: such a job goes straight to its reduces
  std::uint32_t reduces = 0;   // 0: map only
  Micros deadline = 0;         // the time by which the job should have ended; 0: none
  Micros map_time = 0;         // the user's estimate of a map's run time; 0: none given
  Micros reduce_time = 0;      // the user's estimate of a reduce's run time; 0: none given
  // The waits of `+delay` for this job: T1 (rack), T2 (datacenter), T3 (off). If there are fewer, the last one stands
  // for the rest; if there are none, the scheduler's waits apply.
  std::vector<Micros> locality_waits;
  std::string program;     // hash of the executable; with `input_type` the key of the history
  std::string input_type;  // "web", "text" or empty for unknown
  JobProfile profile;
  auto operator<=>(const JobSpec&) const = default;

  // Returns the name of the pool that the job belongs to.
  [[nodiscard]] const std::string& PoolName() const { return PoolOf(pool, user); }
};

// A node came, or came back. If a node of this id is alive already, the old incarnation is lost first, as by NodeLost.
struct NodeJoined {
  NodeId node;
  std::string rack;
  std::string datacenter;
  Slots slots;
  double cores = 0;          // for its tasks; 0: not reported
  std::string machine = {};  // nodes of the same machine share these cores; empty: the node shares them with no other
  bool operator==(const NodeJoined&) const = default;
};
// A node is gone. Its running attempts are lost (they run again and do not count as failed), and so are the outputs of
// its succeeded maps that a reduce of a live job may still need.
struct NodeLost {
  NodeId node;
  bool died = false;  // true: its process ended and its machine reported it; false: it fell silent
  bool operator==(const NodeLost&) const = default;
};
// The node takes no new attempts, but its running ones continue (decommissioning, blacklisting by the operator). With
// `drained` false it takes attempts again, even if jobs blame it.
struct NodeDrained {
  NodeId node;
  bool drained = true;
  bool operator==(const NodeDrained&) const = default;
};

struct JobSubmitted {
  JobId job;
  JobSpec spec;
  bool operator==(const JobSubmitted&) const = default;
};
struct JobKilled {
  JobId job;
  std::string reason;
  bool operator==(const JobKilled&) const = default;
};
struct JobPrioritySet {
  JobId job;
  Priority priority = Priority::kNormal;
  bool operator==(const JobPrioritySet&) const = default;
};

// The job is held: none of its tasks is launched until it is let go (`held` false). A job of which a task was launched
// cannot be held.
struct JobHeld {
  JobId job;
  bool held = true;
  bool operator==(const JobHeld&) const = default;
};

// An attempt was launched. The engine decided this itself in Decide(); the event is in the journal so that recovery
// does not depend on the policy.
struct AttemptLaunched {
  AttemptId attempt;
  NodeId node;
  bool operator==(const AttemptLaunched&) const = default;
};
// The use that an attempt made of its machine's cores. No decision depends on it. The simulator needs it to replay a
// cluster's history with different tasks side by side.
struct ProcessorUse {
  Micros cpu = 0;     // time on cores, of all its threads; 0: not reported
  Micros waited = 0;  // time in which the thread that worked the most could have run, but no core was free
  Micros start = 0;   // core time of its process before this attempt; 0: the process had run an attempt before
  auto operator<=>(const ProcessorUse&) const = default;
};
// The attempt's output is committed (the first success of a task wins, and the driver asks MayCommit() before it
// commits).
struct AttemptSucceeded {
  AttemptId attempt;
  std::uint64_t input_bytes = 0;   // of a map: the bytes that it read
  std::uint64_t output_bytes = 0;  // of a map: the bytes that it wrote for reduces, before compression
  ProcessorUse use = {};
  bool operator==(const AttemptSucceeded&) const = default;
};
// The place of a record in a map's input, as the reader of the input counts. The record begins at byte `offset` of the
// map's input number `input`, and is the `nth` (from 0) of those that begin there, as the reader reports.
struct RecordPlace {
  std::uint32_t input = 0;
  std::uint64_t offset = 0;
  std::uint32_t nth = 0;
  auto operator<=>(const RecordPlace&) const = default;
};

// The attempt failed through its own fault (non-zero exit, signal, exception, corrupt input). The failure counts
// towards max_attempts, unless it shows which record is bad. If the failure is permanent, the task is given up at once.
struct AttemptFailed {
  AttemptId attempt;
  std::string reason;
  std::optional<RecordPlace> record = std::nullopt;  // of a map: the record at which it failed, if known
  bool permanent = false;                            // another attempt would fail in the same way
  bool operator==(const AttemptFailed&) const = default;
};
// The attempt was lost through no fault of its own (the worker shut down, or the attempt was killed on request), so it
// does not count towards max_attempts. If a map attempt that had succeeded is lost, its output is lost.
struct AttemptLost {
  AttemptId attempt;
  std::string reason;
  bool operator==(const AttemptLost&) const = default;
};
// The engine killed the attempt in Decide() to make room for others; like AttemptLaunched, this is in the journal for
// recovery. The task counts as never started.
struct AttemptPreempted {
  AttemptId attempt;
  std::string reason;
  bool operator==(const AttemptPreempted&) const = default;
};
// A running attempt reports its progress, in thousandths. Only speculation needs it; drivers send it when the progress
// has grown by a twentieth or more.
struct AttemptProgressed {
  AttemptId attempt;
  std::uint32_t per_mille = 0;
  bool operator==(const AttemptProgressed&) const = default;
};
// A running reduce has fetched all its input and computes. It was granted a permit, or needed none because no more
// reduces ran on its node than may compute (Launch::asks_to_compute).
struct ReduceComputing {
  AttemptId attempt;
  bool operator==(const ReduceComputing&) const = default;
};
// A running reduce has fetched all its input and waits for a compute permit.
struct ReduceCopied {
  AttemptId attempt;
  bool operator==(const ReduceCopied&) const = default;
};
// The engine gave the reduce a compute permit in Decide(); like AttemptLaunched, this is in the journal for recovery.
struct ComputeGranted {
  AttemptId attempt;
  bool operator==(const ComputeGranted&) const = default;
};
// The node reports its remaining room for map outputs. A node that has never reported it is assumed to have enough.
struct NodeSpace {
  NodeId node;
  std::uint64_t free_bytes = 0;
  bool operator==(const NodeSpace&) const = default;
};
// The engine evicted the job itself in Decide(): the job's attempts were killed, its map outputs are given up, and it
// is held back until another job ends (Policy::gives_way). The event is in the journal for recovery.
struct JobEvicted {
  JobId job;
  bool operator==(const JobEvicted&) const = default;
};
// The engine ended the job itself in Decide(), since an output of its maps fits nowhere; the job has failed. The event
// is in the journal for recovery.
struct JobGivenUp {
  JobId job;
  std::string reason;
  bool operator==(const JobGivenUp&) const = default;
};
// The job refuses the node until the time `until`, since too many of its attempts failed there
// (EngineOptions::refusal). If that time has passed, the job takes the refusal back. The engine decides this itself
// (Blame, in effects.h). The event is in the journal, and not among the job's own events, because it still counts for
// other jobs after this one has ended.
struct NodeBlamed {
  NodeId node;
  JobId by;
  Micros until = 0;
  bool operator==(const NodeBlamed&) const = default;
};
// A recent transfer of a map's input between two nodes had this throughput.
struct BandwidthMeasured {
  NodeId from;
  NodeId to;
  std::uint64_t bytes_per_second = 0;
  bool operator==(const BandwidthMeasured&) const = default;
};
// Another scheduler decides from now on, or the same one with other settings (schedulers/policies/settings_file.h).
// EngineOptions::make_policy makes its policy; if it cannot, the event is refused.
struct SchedulerSet {
  std::string name;
  std::string settings;
  bool operator==(const SchedulerSet&) const = default;
};
// A program outside of the engine has answered the policy's open question (schedulers/core/outside.h). The answer is in
// the journal, so that recovery and replays need no program. An answer to another question than the open one, or one
// that the policy cannot read, is refused.
struct PolicyAnswered {
  std::uint64_t question = 0;
  std::string answer;
  bool operator==(const PolicyAnswered&) const = default;
};
// A running reduce could not fetch the output of `map_attempt`. The map runs again when `max_fetch_failures` reduces
// have reported this output, or all reduces that may lack it (those that run and do not compute yet) if they are fewer.
// The map also runs again when one reduce reports its output a second time. That report must have another number, since
// a driver may send the same report again when its answer was lost.
struct FetchFailed {
  AttemptId reduce;
  AttemptId map_attempt;
  std::uint32_t report = 0;  // each report of this reduce has its own number; the numbers rise
  bool operator==(const FetchFailed&) const = default;
};
// The replicas of the map's input moved (re-replication, a node with data came back).
struct ReplicasMoved {
  TaskId map;
  std::vector<NodeId> replicas;
  bool operator==(const ReplicasMoved&) const = default;
};
// The output of a map that has succeeded is on another node from now on. The driver has had it copied there, since its
// old node is about to leave. Reduces that lack the output fetch it from the new node.
struct OutputMoved {
  AttemptId attempt;
  NodeId to;
  bool operator==(const OutputMoved&) const = default;
};

using Event = std::variant<NodeJoined, NodeLost, NodeDrained, JobSubmitted, JobKilled, JobPrioritySet, AttemptLaunched,
                           AttemptSucceeded, AttemptFailed, AttemptLost, FetchFailed, ReplicasMoved, AttemptPreempted,
                           AttemptProgressed, ReduceComputing, BandwidthMeasured, SchedulerSet, NodeSpace, JobEvicted,
                           NodeBlamed, ReduceCopied, ComputeGranted, OutputMoved, JobGivenUp, JobHeld, PolicyAnswered>;

}  // namespace millrace::sched
