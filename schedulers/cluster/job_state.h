// SPDX-License-Identifier: Apache-2.0
// JobState and TaskState: the engine's records of a job and its tasks. Policies read them; ClusterState alone changes
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/ordered_bits.h"
#include "schedulers/cluster/pending_maps.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"
#include "schedulers/events/slot_kind.h"

namespace millrace::sched {

// JobProgress: the progress of a job, for status pages and progress bars.

// A JobProgress is a cheap copy of counters. "running" and "done" count tasks, not attempts: a task with two running
// attempts counts once.
struct JobProgress {
  JobId job;
  Priority priority = Priority::kNormal;
  Micros submitted = 0;
  Micros started = 0;  // the time of the first launch; 0 before it
  Micros ended = 0;    // 0 while it lives
  std::uint32_t maps = 0, maps_running = 0, maps_done = 0;
  std::uint32_t maps_left_out = 0;     // of those done
  std::uint32_t records_left_out = 0;  // by maps that are not left out themselves
  std::uint32_t reduces = 0, reduces_running = 0, reduces_done = 0;
  std::uint32_t failed_attempts = 0;       // AttemptFailed
  std::uint32_t killed_attempts = 0;       // killed by the engine, and lost (AttemptLost, NodeLost)
  std::uint32_t preempted_attempts = 0;    // AttemptPreempted
  std::uint32_t speculative_attempts = 0;  // launched while another attempt of their task ran
  std::uint32_t launched_at[4] = {};       // map launches by Locality
  std::optional<JobOutcome> outcome;       // none while it lives
};

// BadRecords: the records at which attempts of one map failed, and the ones among them that later attempts leave out
// (Dean and Ghemawat, "MapReduce", OSDI 2004, section 4.6).
//
// Once two attempts have failed at a record, attempts launched later leave it out; at most `most` records are left out.
// The failures that found the record are forgiven: they do not count towards JobSpec::max_attempts. Until a second
// attempt shows whether a record is to blame, one first failure is forgiven, too, so that N bad records take 2N + 1
// attempts whatever max_attempts is. All other failures count. A failure at a record that the attempt was to leave out
// counts as well, so that the attempts of a map are bounded whatever workers report. The class is pure.
class BadRecords {
 public:
  // Records that attempt `number` failed at the record, when `launched` attempts of the map had been launched. Returns
  // true if the failure shows that the record is bad, and not the node. Requires: most > 0, the same at every call.
  bool Fail(const RecordPlace& record, std::uint32_t number, std::uint32_t launched, std::uint32_t most);
  // Returns the number of failures that do not count.
  [[nodiscard]] std::uint32_t forgiven() const {
    return forgiven_ + (in_doubt_ && records_.size() > left_out_ ? 1 : 0);
  }
  [[nodiscard]] std::uint32_t left_out() const { return left_out_; }
  // LeftOut returns all records that are left out, and LeftOutBy those that attempt `number` is to leave out. Both are
  // in order.
  [[nodiscard]] std::vector<RecordPlace> LeftOut() const {
    return LeftOutBy(std::numeric_limits<std::uint32_t>::max());
  }
  [[nodiscard]] std::vector<RecordPlace> LeftOutBy(std::uint32_t number) const;

 private:
  static constexpr std::uint32_t kKept = 0;
  std::map<RecordPlace, std::uint32_t> records_;  // the first attempt that leaves it out; kKept: it failed once
  std::uint32_t left_out_ = 0;
  std::uint32_t forgiven_ = 0;
  bool in_doubt_ = true;  // another record may be left out
};

// A reduce copies the outputs of its job's maps, waits for a compute permit unless it has one at once, and computes.
enum class ReducePhase : std::uint8_t { kCopying, kCopied, kComputing };

struct RunningAttempt {
  std::uint32_t number = 0;
  NodeId node;
  Micros since = 0;                    // its launch plus, for a reduce, its wait for a permit: a wait is not run time
  Locality locality = Locality::kOff;  // of a map
  ReducePhase phase = ReducePhase::kCopying;  // of a reduce
  std::uint32_t per_mille = 0;                // its progress, as last reported
  std::uint64_t expected_output = 0;          // of a map: the bytes reserved for it on the node

  [[nodiscard]] bool computing() const { return phase == ReducePhase::kComputing; }
};

// A reduce that has copied all its input and waits for a compute permit of its node.
struct CopiedReduce {
  AttemptId attempt;
  NodeId node;
  Micros since = 0;  // the time at which it had copied all its input
};

// Run times of a job's attempts of one kind. They are sums, so that finished attempts need no record each.
struct RunTimes {
  std::uint32_t finished = 0;  // attempts that succeeded
  Micros finished_total = 0;   // their run time
  std::uint32_t local = 0;     // of the finished attempts: maps that ran on a node with their input
  Micros local_total = 0;
  Micros ended_total = 0;         // run time of all attempts that ended, however they did
  std::uint64_t since_total = 0;  // sum of `since` of the attempts that run, modulo 2^64
};

// How long the reduces of a job take once all its maps are done, apart from their waits for permits. Copying counts
// from the later of the launch and the end of the last map, since a reduce that was launched early only waits before
// that.
struct ReduceParts {
  std::uint32_t finished = 0;  // reduces that succeeded
  Micros copying = 0;          // their sum, as is the next
  Micros computing = 0;
};

// A reduce that computes.
struct ComputingReduce {
  Micros since = 0;   // the time at which it got its permit
  Micros waited = 0;  // the time that it had waited for the permit
};

// The running attempts of one task, by number. A single attempt is stored inline, since hardly any task has more;
// several are on the heap.
class RunningAttempts {
 public:
  RunningAttempts() = default;
  RunningAttempts(const RunningAttempts& other)
      : one_(other.one_),
        several_(other.several_ ? std::make_unique<std::vector<RunningAttempt>>(*other.several_) : nullptr) {}
  RunningAttempts(RunningAttempts&&) = default;
  RunningAttempts& operator=(const RunningAttempts& other) { return *this = RunningAttempts(other); }
  RunningAttempts& operator=(RunningAttempts&&) = default;
  ~RunningAttempts() = default;

  [[nodiscard]] const RunningAttempt* begin() const { return several_ ? several_->data() : &one_; }
  [[nodiscard]] const RunningAttempt* end() const { return begin() + size(); }
  [[nodiscard]] RunningAttempt* begin() { return several_ ? several_->data() : &one_; }
  [[nodiscard]] RunningAttempt* end() { return begin() + size(); }
  [[nodiscard]] std::size_t size() const { return several_ ? several_->size() : one_.number == kNone ? 0 : 1; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const RunningAttempt& operator[](std::size_t i) const { return begin()[i]; }
  [[nodiscard]] const RunningAttempt& front() const { return *begin(); }
  [[nodiscard]] RunningAttempt& back() { return end()[-1]; }
  // Requires: the number of the attempt is above those of the others.
  void Add(const RunningAttempt& attempt);
  void Erase(const RunningAttempt* attempt);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;  // no attempt has this number: it is the last of 2^32

  RunningAttempt one_{kNone, {}, 0, Locality::kOff, ReducePhase::kCopying, 0, 0};
  std::unique_ptr<std::vector<RunningAttempt>> several_;  // at least two, or null
};

// A task takes one cache line, because an event touches a few tasks among millions.
struct alignas(64) TaskState {
  RunningAttempts running;  // more than one under speculation
  bool done = false;
  bool paused = false;         // ClusterState::Pause
  bool left_out = false;       // a map that counts as done though none of its attempts succeeded
  std::uint32_t launched = 0;  // attempts so far: the number of the next one
  std::uint32_t failed = 0;    // attempts that failed through their own fault
  std::uint32_t winner = 0;    // the attempt that succeeded, if one has
  NodeId ran_on;               // the winner's node, if there is one; if a map's output has moved, the node that has it

  [[nodiscard]] bool pending() const { return !done && !paused && running.empty(); }
  [[nodiscard]] bool succeeded() const { return done && !left_out; }
  // Returns the running attempt with this number; null if none runs.
  [[nodiscard]] const RunningAttempt* Find(std::uint32_t number) const;
};

static_assert(sizeof(TaskState) == 64);

// The number of a reduce's attempt, and the number of its report.
struct FetchReport {
  std::uint32_t attempt = 0;
  std::uint32_t number = 0;
};

// The failures of a job's attempts on a node, and its refusals of the node.
struct NodeFailures {
  std::uint32_t failures = 0;  // failures while the node was not refused, minus one for each refusal that has ended
  std::uint32_t refusals = 0;  // how often the job has refused the node so far
  Micros until = 0;            // the time at which the last refusal ends, or ended
};

// The place of a job in the queue: priority, then submit order.
struct QueueKey {
  Priority priority = Priority::kNormal;
  std::uint64_t submit_order = 0;
  JobId job;
  auto operator<=>(const QueueKey&) const = default;
};

// The members that every event touches are adjacent: they come before bad_nodes.
struct alignas(64) JobState {
  JobProgress progress;
  QueueKey key;
  bool started = false;    // a task was launched
  PerSlot<bool> runnable;  // listed by ClusterState::RunnableJobs
  bool held = false;       // evicted: not runnable until another job ends
  // Not runnable, and not started: its user has as many jobs as may run (UserJobLimits), or it is on hold.
  bool over_limit = false;
  bool on_hold = false;                     // JobHeld; it is over_limit, too, and has no place among its user's jobs
  bool changed = false;                     // listed by ClusterState::TakeChangedJobs
  PerSlot<std::uint32_t> running_attempts;  // the slots and the compute permits that the job holds
  std::uint32_t may_compute = 0;            // the number of copied_reduces on a node with a free permit
  std::uint32_t live_bad_nodes = 0;
  std::uint32_t evictions = 0;              // how often the job gave way for lack of room for map outputs
  std::uint32_t node_failures_counted = 0;  // at 0 the sets of failures below are empty
  std::uint32_t refusal_changes = 0;        // how often a node was added to bad_nodes, or left it
  std::uint64_t map_input_bytes = 0;        // of succeeded map attempts that reported it
  std::uint64_t map_output_bytes = 0;       // of the same attempts
  PerKind<RunTimes> times;
  Micros maps_ended = 0;  // the time at which its last map was done; 0: there are maps that never were
  ReduceParts parts;      // of its reduces

  // The members below, except bad_records and spec, are empty when the job has ended.
  std::vector<TaskState> maps;
  std::vector<TaskState> reduces;
  OrderedBits pending_reduces;
  PendingMaps pending_maps;
  std::vector<CopiedReduce> copied_reduces;  // in the order in which they finished copying
  std::map<AttemptId, ComputingReduce> computing;
  std::set<NodeId> bad_nodes;  // nodes that the job refuses for now, after enough failures on them
  PerKind<std::set<std::pair<std::uint32_t, NodeId>>> failed_on;  // tasks and nodes where attempts failed
  std::map<NodeId, NodeFailures> node_failures;
  // By map: the reduces that could not fetch its output, each with the report of the failed fetch.
  std::map<std::uint32_t, std::map<std::uint32_t, FetchReport>> fetch_reports;
  std::map<std::uint32_t, BadRecords> bad_records;  // by map; kept until the job is forgotten

  JobSpec spec;  // as submitted, except for moved replicas; the current priority is in `progress`

  // Prefetches, all at once, the cache lines that are touched when the job changes or one of its tasks is looked for.
  // With thousands of jobs, these lines are in no near cache.
  void Prefetch() const {
    const char* const end = reinterpret_cast<const char*>(&bad_nodes);
    for (const char* line = reinterpret_cast<const char*>(this); line < end; line += 64) __builtin_prefetch(line);
  }
  [[nodiscard]] bool alive() const { return !progress.outcome.has_value(); }
  // Returns true if no task of the job may be launched now, whatever the policy says.
  [[nodiscard]] bool withheld() const { return held || over_limit; }
  [[nodiscard]] std::vector<TaskState>& Tasks(TaskKind kind) { return kind == TaskKind::kMap ? maps : reduces; }
  [[nodiscard]] const std::vector<TaskState>& Tasks(TaskKind kind) const {
    return kind == TaskKind::kMap ? maps : reduces;
  }
  [[nodiscard]] const OrderedBits& Pending(TaskKind kind) const {
    return kind == TaskKind::kMap ? pending_maps.all() : pending_reduces;
  }
  // Returns a number that never shrinks. It grows when the nodes from which tasks of the job may be kept can change:
  // when an attempt fails, when a node turns bad (also because outputs cannot be fetched from it), and when a bad node
  // is forgiven.
  [[nodiscard]] std::uint64_t Failures() const { return std::uint64_t{progress.failed_attempts} + refusal_changes; }
  // Returns the number of running attempts and runnable pending tasks; for permits, the number of reduces that compute
  // or wait to compute.
  [[nodiscard]] std::uint32_t Demand(SlotKind kind) const;
  // Returns the number of tasks that do not have their slot yet: the pending ones; for permits, the reduces that are
  // pending, are copying, or wait for a permit.
  [[nodiscard]] std::uint32_t YetToHave(SlotKind kind) const;
  // Returns the mean run time of the finished attempts; nothing before one has finished.
  [[nodiscard]] std::optional<Micros> MeanTime(TaskKind kind) const;
  // Returns the slot time that all attempts have used so far, running ones included.
  [[nodiscard]] Micros SlotTime(TaskKind kind, Micros now) const;
  // Returns the number of bytes that this map is expected to write for reduces; 0 when nothing is known of the job.
  [[nodiscard]] std::uint64_t ExpectedOutput(std::uint32_t map) const { return ExpectedOutputOf(spec.maps[map].bytes); }
  // Returns the expected output of a map that reads `bytes`.
  [[nodiscard]] std::uint64_t ExpectedOutputOf(std::uint64_t bytes) const;
  // Returns true if a map that fails now is left out and does not fail the job.
  [[nodiscard]] bool MayLeaveOutAnother() const;
  // Returns true if the slow-start fraction of the maps is done.
  [[nodiscard]] bool ReducesMayStart() const;
  // Returns the number of maps that must be done before reduces may start.
  [[nodiscard]] std::uint32_t MapsBeforeReduces() const;
  // Returns true if nothing is left to do: all reduces, or all maps of a job without reduces, are done.
  [[nodiscard]] bool Complete() const;
};

// LentJob: the holder of one job in ClusterState. A copy of a LentJob borrows the job of the original until the copy
// changes the job; from then on the copy has a job of its own. So a copy of a whole ClusterState costs little, however
// many tasks there are. Thread rule: one thread, for all copies of one job.
class LentJob {
 public:
  LentJob() = default;
  explicit LentJob(std::unique_ptr<JobState> job) : own_(std::move(job)), job_(own_.get()) {}
  // Requires: `lender` outlives the copy, and does not change while the copy is used.
  LentJob(const LentJob& lender) : job_(lender.job_) {}
  LentJob(LentJob&& other) noexcept : own_(std::move(other.own_)), job_(std::exchange(other.job_, nullptr)) {}
  LentJob& operator=(LentJob other) noexcept {
    own_ = std::move(other.own_);
    job_ = std::exchange(other.job_, nullptr);
    return *this;
  }
  ~LentJob() = default;

  [[nodiscard]] const JobState* get() const { return job_; }
  // Returns true if this is a copy that still borrows its job.
  [[nodiscard]] bool borrows() const { return job_ != nullptr && own_ == nullptr; }
  // Returns the job so that it can be changed. It may be another object than the one that get() returned before.
  // Requires: there is a job.
  [[nodiscard]] JobState& Own() {
    if (!own_) job_ = (own_ = std::make_unique<JobState>(*job_)).get();
    return *own_;
  }

 private:
  std::unique_ptr<JobState> own_;
  const JobState* job_ = nullptr;
};

}  // namespace millrace::sched
