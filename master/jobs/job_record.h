// SPDX-License-Identifier: Apache-2.0
// The master's records of a job besides the engine's state: the request, the splits, the reports of tasks and the
// outcome. The request and the outcome are stored under "j/<job>". While the job lives, its splits are stored under
// "s/<job>" (FailedMaps stay longer), and the report of each succeeded task under "t/<job><task>": if a map runs again,
// its counters are replaced, not added. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/protocol/job_values.h"
#include "base/status.h"
#include "dfs/name/types.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"

namespace millrace::master {

// A range of one file and the blocks that contain it; or a range of numbers, without path and blocks.
struct Split {
  std::string path;
  std::string name;  // below the input that named it
  std::uint64_t file_length = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::vector<dfs::Block> blocks;
  std::uint64_t first_block_offset = 0;  // of blocks[0] in the file
  std::uint32_t input = 0;               // which of the job's inputs named it
};

// The input of one map task: one or more splits, which it reads one after the other.
using MapSplits = std::vector<Split>;

// Limits on the counters of a job's tasks, by number of names and by bytes over all tasks, so that tasks that make
// names from their data do not fill the memory. A job with many tasks has room for some 40 counters for each task.
inline constexpr std::size_t kMostCountersOfTask = 1000;
inline constexpr std::size_t kMostCountersOfJob = 2000;
inline constexpr std::uint64_t kCounterBytesOfJob = 16 << 20;
inline constexpr std::uint64_t kCounterBytesForEachTask = 4 << 10;
[[nodiscard]] std::uint64_t MemoryOf(const Counters& counters);  // bytes, about

// The report of a succeeded attempt.
struct TaskReport {
  Counters counters;
  std::uint64_t bytes_read = 0, bytes_shuffled = 0, bytes_written = 0;
  sched::ProcessorUse use = {};  // the journal has it; not kept with the report
};

// Returns the rate at which a map got its input from other nodes, in bytes for each second of waiting. Returns 0 if the
// map read less than 64 KiB from other nodes, or waited less than a tenth of a millisecond, since that is too little to
// measure.
[[nodiscard]] std::uint64_t RemoteReadRate(const TaskReport& report);
// Returns the bytes that a map wrote for reduces, as the map counted them: the bytes emitted or, if a combiner reduced
// them, the bytes stored. Returns 0 if the report does not contain the number.
[[nodiscard]] std::uint64_t MapOutputBytes(const TaskReport& report);

struct JobOutcomeRecord {
  sched::JobOutcome outcome = sched::JobOutcome::kSucceeded;
  std::string reason;
};

// The figures of a job that outlive its tasks.
struct JobFigures {
  std::uint32_t maps = 0, reduces = 0;
  std::uint32_t maps_done = 0, reduces_done = 0;  // set when the job ends
  std::uint32_t launched_at[4] = {};              // by locality
  std::uint32_t failed_attempts = 0, killed_attempts = 0, preempted_attempts = 0, speculative_attempts = 0;
  std::uint32_t maps_left_out = 0;
  std::uint32_t records_left_out = 0;
  std::uint64_t input_bytes = 0, bytes_read = 0, bytes_shuffled = 0, bytes_written = 0;
};

// Sets the counter of the maps that were left out, if there are any, since no task reports such maps.
void CountLeftOut(const JobFigures& figures, Counters* counters);

// The most left-out maps, and the most left-out records, that are named.
inline constexpr std::size_t kMostLeftOut = 20;

// Who holds a job, so that no task of it is launched: its owner, who may release it, or an operator (an administrator
// of its pool or of the cluster), whose hold only an operator releases.
enum class Hold : std::uint8_t { kNone = 0, kOwner = 1, kOperator = 2 };

// The jobs that are no longer remembered: the last of them, and the time by which all of them had ended.
struct ForgottenJobs {
  JobId last;  // 0: none
  Micros until = 0;
};
inline constexpr const char* kForgottenKey = "forgotten-jobs";

struct JobRecord {
  JobId id;
  JobRequest request;
  // The master has not given the job to the engine: it waits for other jobs, or was submitted on hold (waiting_jobs.h).
  // It has no splits then. A job that ended in this way keeps the mark.
  bool waits = false;
  Hold hold = Hold::kNone;
  std::vector<JobId> waits_for;  // of `request.after`, those whose end it still waits for
  Micros held_back = 0;          // how long after its submission it was given to the engine, or released
  Micros submitted = 0, first_launch = 0, ended = 0;
  // Returns since when the job waited for nothing but slots; 0: not yet, or never. It is no place in the queue: a job
  // that was held in the queue has kept its place there when it is released.
  [[nodiscard]] Micros queued() const { return waits || hold != Hold::kNone ? 0 : submitted + held_back; }
  std::optional<JobOutcomeRecord> outcome;  // none while the job lives
  JobFigures figures;
  std::vector<LeftOutMap> left_out;             // the first kMostLeftOut
  std::vector<LeftOutRecord> left_out_records;  // the first kMostLeftOut; set when the job ends
  Counters counters;                            // of the whole job; set when it ends
};

[[nodiscard]] std::string JobKey(JobId job);
[[nodiscard]] std::string SplitsKey(JobId job);
[[nodiscard]] std::string TaskKey(const TaskId& task);
[[nodiscard]] std::string TaskKeyPrefix(JobId job);
[[nodiscard]] std::optional<TaskId> ParseTaskKey(std::string_view key);

[[nodiscard]] std::string EncodeForgotten(const ForgottenJobs& forgotten);
[[nodiscard]] Result<ForgottenJobs> DecodeForgotten(std::string_view value);
[[nodiscard]] std::string EncodeJob(const JobRecord& record);
[[nodiscard]] Result<JobRecord> DecodeJob(std::string_view key, std::string_view value);
// Returns the input of the map, for people: "/in/a", "/in/a, bytes 100 to 200, and 3 more", "numbers 0 to 9".
[[nodiscard]] std::string DescribeInput(const MapSplits& map);
// Returns a description such as "the record at byte 7 of /in/a" or "number 7"; nothing if the place lies in none of the
// map's splits.
[[nodiscard]] std::optional<std::string> DescribeRecord(const MapSplits& map, const sched::RecordPlace& record);
// These store and read the splits of all maps of a job, in the order of the maps. Splits stored by an older master do
// not name their input; they count as splits of the first input.
[[nodiscard]] std::string EncodeSplits(const std::vector<MapSplits>& maps);
[[nodiscard]] Result<std::vector<MapSplits>> DecodeSplits(std::string_view value);
[[nodiscard]] std::string EncodeReport(const TaskReport& report);
[[nodiscard]] Result<TaskReport> DecodeReport(std::string_view value);

}  // namespace millrace::master
