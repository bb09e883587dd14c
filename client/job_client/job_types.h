// SPDX-License-Identifier: Apache-2.0
// The requests and answers of the master as plain values, for the job client. Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/protocol/job_values.h"
#include "base/release.h"
#include "base/status.h"

namespace millrace::job {

// Returns the name of a priority: 0 is VERY_HIGH, then HIGH, NORMAL, LOW, and 4 is VERY_LOW.
[[nodiscard]] std::string PriorityName(std::uint8_t priority);
[[nodiscard]] Result<std::uint8_t> ParsePriority(std::string_view name);
// Reads a job such as "job3" or "3". Returns kInvalid for any other text.
[[nodiscard]] Result<JobId> ParseJobArgument(std::string_view text);

// The messages and the executable with which a map attempt was launched.
struct MapLaunch {
  std::string job_name;
  StoredExecutable executable;
  std::string messages;  // frames that set a task process up and launch the map (base/protocol/task.capnp); they name
                         // no files of a worker
};

// Reads an attempt such as "job3.m.17.0". Returns kInvalid for any other text.
[[nodiscard]] Result<AttemptId> ParseAttemptArgument(std::string_view text);

enum class LogStream { kStdout, kStderr };

// The answers to whether a node may be taken away for good, as GoState in master.capnp has them.
enum class GoState : std::uint8_t { kUnknown, kLost, kInUse, kHeld, kBlocks, kTasks, kOutputs, kYes, kDoubt };
// Returns "unknown", "lost", "in use", "held", "blocks", "tasks", "outputs", "yes" or "doubt".
[[nodiscard]] std::string_view InWords(GoState state);

// The master's answer to whether nodes may go, as Master.mayGo in master.capnp says.
struct MayGo {
  struct Answer {
    NodeId node;
    GoState state = GoState::kUnknown;
    std::uint64_t blocks = 0, damaged = 0, outputs = 0, lost_blocks = 0;
    std::uint32_t tasks = 0;
    bool lost_known = false;
    std::vector<std::string> lost_files;
  };
  std::vector<Answer> answers;
  std::uint32_t others = 0, away = 0;
};

struct Node {
  NodeId node;
  std::string name;  // worker.name; empty: it has none
  std::string host;
  std::uint16_t port = 0;
  std::string rack, datacenter;
  std::string sandbox;  // the parts of the sandbox of its tasks, "user, mounts"; "none"; empty: not reported
  std::string python;   // what python3 means to its tasks, "/usr/bin/python3.11"; empty: not known
  std::uint32_t map_slots = 0, reduce_slots = 0, maps_running = 0, reduces_running = 0;
  bool alive = false, draining = false;
  GoState may_go = GoState::kUnknown;
  bool awaited = false;  // the master has just started, and the node may still come or has not listed its blocks
  std::uint64_t capacity = 0, free = 0, used = 0, blocks = 0, trashed = 0;
  std::uint64_t unknown_blocks = 0;  // blocks on it that no file has
  bool unknown_held = false;         // they are too many, and stay until DiscardUnknown
  // The time for which the node still gets no tasks, since too many attempts failed on it; 0: it is not avoided.
  Micros avoided_for = 0;
  std::vector<JobId> avoided_by;  // the jobs of these attempts, or some of the jobs
  // The reason for which the node gets no tasks although it is alive, and no blocks that other nodes can take: its disk
  // is slow, or others cannot reach it. Empty: it is well.
  std::string ailing;
  Micros ailing_for = 0;       // the time for which it has been ailing
  std::optional<Micros> sync;  // the median of the recent syncs of its slowest disk; nothing: not known
  Micros since_heartbeat = 0;
  Release release;                   // of the worker
  std::uint64_t blocks_left = 0;     // of a draining or leaving node: its blocks that have too few replicas elsewhere
  std::optional<Micros> leaving_in;  // the time until its machine will be taken away; nothing: it stays
  std::string leaving_reason;        // the reason for which the machine will be taken away
  std::string reason;                // why it drains or is in maintenance, as somebody said; empty: nobody said
  Micros maintenance_for = 0;        // the time for which it still is in maintenance; 0: it is not
  std::uint64_t outputs_left = 0;    // of a draining node: map outputs that reduces may need and only it has

  // True if the node gets no tasks and its blocks are copied elsewhere.
  [[nodiscard]] bool Drains() const { return draining || leaving_in.has_value(); }
};

// The user's identity and rights at the master, as CallerRights in master.capnp says.
struct CallerRights {
  std::string user, address;
  bool administrator = false;
  std::vector<std::string> groups;
  struct Pool {
    std::string name;
    bool submits = false, administers = false;
  };
  std::vector<Pool> pools;
};

// The state of the cluster, as ClusterStatus in master.capnp says.
struct ClusterStatus {
  std::string cluster, scheduler;
  Release master;
  Micros up = 0;
  struct Notice {
    std::string code;   // as in base/notice.h of the master's version; empty: from an older master
    std::string level;  // "fault", "risk" or "warning"
    std::string line;
  };
  std::vector<Notice> faults, warnings;  // the risks are among the warnings
  std::uint32_t live = 0, draining = 0, avoided = 0, ailing = 0, full = 0, lost = 0, awaited = 0, maintained = 0;
  std::uint32_t map_slots = 0, maps_running = 0, reduce_slots = 0, reduces_running = 0;
  std::uint64_t capacity = 0, used = 0, free = 0;
  struct WorkerRelease {
    Release release;
    std::uint32_t nodes = 0;
  };
  std::vector<WorkerRelease> workers;
  std::uint64_t files = 0, directories = 0, bytes = 0;
  std::uint64_t blocks = 0, missing = 0, under_replicated = 0, short_of_nodes = 0, single_replica = 0,
                corrupt_replicas = 0, only_in_maintenance = 0;
  std::uint32_t jobs_running = 0, jobs_waiting = 0;
  std::uint32_t jobs_held = 0, jobs_after = 0;  // of those that wait: are held; are not, and wait for other jobs
  struct Backup {
    Micros made = 0, age = 0;
    std::string directory;  // of the master's machine
    std::uint64_t operations = 0, bytes = 0;
    Micros copied = 0;         // when a copy was last made or tried; 0: never
    std::string copy_problem;  // why that failed; empty: it did not
  };
  std::optional<Backup> backup;  // the last one; none: the master knows of none
};

struct MasterBackup {
  std::uint64_t operations = 0;  // the operations up to which the backup goes
  std::uint64_t bytes = 0;
  std::uint64_t removed = 0;  // how many older backups were removed
  bool keeps = false;         // false: the master is too old to remove any
};

// The scheduler in force, as it describes itself.
struct SchedulerView {
  struct GroupSlots {
    std::uint32_t running = 0, demand = 0;  // demand: running and runnable tasks
    double share = 0;
    std::uint32_t minimum = 0;
    std::optional<std::uint32_t> maximum;
    std::optional<Micros> preempts_at;  // the time, since the epoch, at which slots are taken back for the group
  };
  // A setting or state that is in force: a number with its unit, or words.
  struct Fact {
    std::string name, value;  // in words; a number with its unit
    std::optional<double> number;
    std::string unit;  // of the number; empty: it is a count
  };
  struct Deadline {
    JobId job;
    Micros at = 0, slack = 0;  // at: since the epoch; slack: the time that the job can still lose
  };
  struct Group {  // a pool or queue
    std::string name;
    double weight = 1;
    std::uint32_t jobs = 0;
    GroupSlots maps, reduces;
  };
  struct Wait {
    JobId job;
    std::string name, pool;
    std::string slot;                        // the kind of slot for which it waits: "map", "reduce", "permit"
    std::uint32_t pending = 0, running = 0;  // tasks that wait for such a slot, and tasks that have one
    std::string reason;                      // the rest of this struct as a sentence
    // The cause and its numbers (schedulers/core/wait_view.h).
    std::string cause;
    std::uint32_t used = 0, of = 0;
    std::vector<JobId> others;
    std::optional<std::uint32_t> other_count;
    // next_running is the number of running tasks whose end frees the slot for which the job waits, next_tried the
    // number of these ends that were tried, and next_to_it the number of them that would give the job the slot. All are
    // 0 if nothing is known.
    std::uint32_t next_running = 0, next_tried = 0, next_to_it = 0;
    std::string group;
    std::uint32_t group_used = 0;
    std::optional<double> group_share;
    std::optional<Micros> since, until;  // since the epoch
  };
  std::string name;                // "fair+delay"
  std::string file, file_problem;  // the scheduler file, and why it is not in force as written; empty: none
  std::vector<Fact> facts;
  std::string group_noun;  // what the groups are: "pool", "queue"
  std::vector<Group> groups;
  std::vector<Wait> waits;
  std::vector<Deadline> deadlines;
  Micros now = 0;  // the master's time, since the epoch
  // The costs since the master's process began.
  struct Cost {
    std::uint64_t deciding = 0;  // nanoseconds in the engine and the policy
    std::uint64_t events = 0;    // events that the engine took in
    Micros master_cpu = 0;       // processor time of the whole process
  };
  Cost cost;
  std::uint32_t more_facts = 0, more_groups = 0,
                more_waits = 0;  // the number of further ones, which the master did not list
};

// What a caller was told up to, as the master gave it.
struct ChangeCursor {
  std::uint64_t life = 0, version = 0, floor = 0;
};

// What has changed since an earlier answer, as Changes in master.capnp says.
struct Changes {
  ChangeCursor up_to;
  bool anew = false, more = false;
  Micros now = 0;
  std::vector<JobStatus> jobs;
  std::vector<JobId> jobs_gone;
  std::vector<Node> nodes;
  std::vector<NodeId> nodes_gone;
  struct JobWaits {
    JobId job;
    std::vector<SchedulerView::Wait> waits;
  };
  std::vector<JobWaits> waits;
  std::optional<SchedulerView> scheduler;  // without waits and cost
  SchedulerView::Cost cost;
  Micros waits_at = 0;
};

// When a job will probably start, or end.
struct ForetoldTime {
  struct Interval {
    int percent = 0;  // of such intervals are meant to hold
    Micros from = 0, to = 0;
  };
  std::optional<Micros> at;            // since the epoch; nothing: unknown
  std::string why;                     // why it is unknown
  std::vector<Interval> intervals;     // none: there are too few records
  std::uint32_t records = 0;           // earlier statements from which the intervals follow, or that there are
  std::uint32_t elsewhere = 0;         // of these: under another scheduler
  std::uint32_t stated = 0, held = 0;  // the last such intervals of 90 percent, and those of them that held
};

struct Foretold {
  JobId job;
  Micros made = 0;                    // when the master said so, since the epoch
  std::optional<ForetoldTime> start;  // nothing: the job has started
  ForetoldTime end;
};

// When a job starts and ends if the jobs are played forward.
struct PlayedJob {
  JobId job;
  std::optional<Micros> start, end;      // since the epoch; nothing: unknown
  std::string why_no_start, why_no_end;  // why it is unknown
};

// A change that was tried for a job.
struct TriedChange {
  enum class Kind : std::uint8_t { kPriority, kPool, kNode, kScheduler };
  struct Later {
    JobId job;
    Micros by = 0;
    bool operator==(const Later&) const = default;
  };
  Kind kind = Kind::kNode;
  std::string name;                               // the priority, the pool or the scheduler
  std::string untried;                            // why it was not tried; the rest means nothing then
  PlayedJob job;                                  // with the change
  std::uint32_t map_slots = 0, reduce_slots = 0;  // of a node that is added
  std::vector<Later> later;                       // the first other jobs that end later, the latest first
  std::uint32_t later_count = 0;                  // all of these jobs
  Micros later_sum = 0;                           // the times of all of these together
  std::uint32_t unknown = 0;                      // the other jobs of which it is not known
};

// What is ahead of a job, and what would help it.
struct Why {
  Micros made = 0;                // when the jobs were played forward, since the epoch
  std::string problem;            // why nothing can be said; the rest means nothing then
  PlayedJob job;                  // as things stand
  std::vector<PlayedJob> ahead;   // the first jobs of which tasks run, or are launched before the first one of this job
  std::uint32_t ahead_count = 0;  // all of these jobs
  std::vector<TriedChange> tried;
};

}  // namespace millrace::job
