// SPDX-License-Identifier: Apache-2.0
// The values about a job that the client and the master exchange: the request, the states and outcomes of the job and
// its attempts, the counters (job_wire.h converts them to messages and back). Thread rule: values; free functions, any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/job.h"
#include "base/ids/time.h"

namespace millrace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// A job's executable in the file system (client/job_client/executable_store.h).
struct StoredExecutable {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // crc32c
  bool operator==(const StoredExecutable&) const = default;
};

// The way in which an input is cut.
struct InputCut {
  SplitBy split_by = SplitBy::kBlock;
  bool decompresses = false;  // files with names of compressed files are not cut
  bool operator==(const InputCut&) const = default;
};

struct JobRequest : JobTerms {
  std::string name, owner;
  std::vector<std::string> inputs;
  std::string output;
  std::uint32_t reduces = 1;
  Parameters parameters;
  std::uint8_t priority = 2;
  StoredExecutable executable;
  SplitBy split_by = SplitBy::kBlock;
  std::uint32_t record_bytes = 0;  // if records have a fixed length
  std::string pool;
  Micros deadline = 0;                   // from submission; 0: none
  std::string token;                     // the same request sent twice is one job
  Micros map_time = 0, reduce_time = 0;  // the user's estimate for a task; 0: none
  std::vector<Micros> locality_waits;    // for the rack, the datacenter, anywhere; empty: those of the scheduler
  std::string input_sample;              // the first bytes of the input
  std::uint32_t maps = 0;                // if the input is numbers
  std::uint64_t records = 0;             // if the input is numbers; of all maps together
  std::uint64_t pack = 0;                // bytes of small splits that a map reads; 0: one split each
  bool decompresses = false;             // files with names of compressed files are not cut
  std::vector<std::string> uncut;        // paths of further files that are not cut
  std::vector<InputCut> cuts;            // one for each input; empty: split_by and decompresses apply to all
  std::vector<JobId> after;              // the job starts when these have succeeded, and looks at its input then
  bool even_if_failed = false;           // ... when these have ended in any way
  bool held = false;                     // the job starts when it is released
  bool operator==(const JobRequest&) const = default;
};

// Returns the pool to which the job belongs.
[[nodiscard]] inline const std::string& PoolOf(const JobRequest& request) {
  return PoolOf(request.pool, request.owner);
}

// The most jobs for which a job may wait.
inline constexpr std::size_t kMostAfter = 100;

enum class JobState : std::uint8_t { kWaiting = 0, kRunning = 1, kSucceeded = 2, kFailed = 3, kKilled = 4, kLost = 5 };
[[nodiscard]] std::string_view ToString(JobState state);
[[nodiscard]] JobState StateOf(JobOutcome outcome);
[[nodiscard]] inline bool Ended(JobState state) { return state >= JobState::kSucceeded; }

// The tasks of one kind.
struct Phase {
  std::uint32_t total = 0, running = 0, done = 0;
  double fraction = 0;  // of the whole phase, running attempts included
  bool operator==(const Phase&) const = default;
};

// A map that its job left out.
struct LeftOutMap {
  std::uint32_t map = 0;
  std::string input;  // "/in/a, bytes 0 to 99"
  bool operator==(const LeftOutMap&) const = default;
};

// A record that its map left out.
struct LeftOutRecord {
  std::uint32_t map = 0;
  std::string path;          // empty if the input is numbers
  std::uint64_t offset = 0;  // of its first byte in the file; with numbers, the number
  bool operator==(const LeftOutRecord&) const = default;
};

struct JobStatus {
  JobId job;
  std::string name, owner;
  JobState state = JobState::kWaiting;
  std::string reason;  // why it failed or was killed; of a waiting job, what it waits for besides slots
  std::uint8_t priority = 0;
  std::string pool, output;
  Micros submitted = 0, first_launch = 0, ended = 0;  // 0: not yet
  Phase maps, reduces;
  double copy_fraction = 0;                // the mean of the reduces
  std::array<std::uint32_t, 4> maps_at{};  // launches at node, rack, datacenter, off
  std::uint32_t failed_attempts = 0, killed_attempts = 0, preempted_attempts = 0, speculative_attempts = 0;
  std::uint32_t maps_left_out = 0;
  std::vector<LeftOutMap> left_out;  // the first of them
  std::uint32_t records_left_out = 0;
  std::vector<LeftOutRecord> left_out_records;  // the first of them
  Micros deadline = 0;                          // when it should have ended; 0: none
  std::uint64_t input_bytes = 0, bytes_read = 0, bytes_shuffled = 0, bytes_written = 0;
  std::vector<JobId> after;      // the jobs after which it was submitted
  std::vector<JobId> waits_for;  // those of them for whose end it still waits
  bool even_if_failed = false;   // it does not matter how these end
  bool held = false;             // it is held, by its owner or an operator
  Micros queued = 0;             // from when on it waits for slots; 0: not yet, or the master does not tell
  bool operator==(const JobStatus&) const = default;
};

enum class AttemptState : std::uint8_t {
  kRunning = 0,
  kSucceeded = 1,
  kFailed = 2,
  kKilled = 3,
  kLost = 4,
  kPreempted = 5
};
[[nodiscard]] std::string_view ToString(AttemptState state);

struct AttemptStatus {
  AttemptId attempt;
  NodeId node;
  std::string host;
  AttemptState state = AttemptState::kRunning;
  Micros launched = 0, ended = 0;
  std::string reason;
  bool operator==(const AttemptStatus&) const = default;
};

using Counters = std::map<std::pair<std::string, std::string>, std::int64_t>;  // (group, name)
inline constexpr std::string_view kEngineCounters = "millrace";                // the group that every job has
// These add to sums, which stop at the ends of their range instead of wrapping, since tasks may count anything.
void AddCounter(const Counters::key_type& name, std::int64_t value, Counters* to);
void AddCounters(const Counters& from, Counters* to);

}  // namespace millrace
