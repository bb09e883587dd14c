// SPDX-License-Identifier: Apache-2.0
// JobTable holds the jobs that the master remembers: for each, the data in memory besides the engine's state. It reads
// the stored records back (job_record.h); the code that changes a record stores it. Pure. Thread rule: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/kv/key_value_store.h"
#include "base/protocol/job_values.h"
#include "base/status.h"
#include "dfs/name/types.h"
#include "master/cluster/node_table.h"
#include "master/jobs/job_record.h"
#include "schedulers/events/events.h"

namespace millrace::master {

struct AttemptRecord {
  AttemptId attempt;
  NodeId node;
  AttemptState state = AttemptState::kRunning;
  Micros launched = 0, ended = 0;
  std::string reason;
  double fraction = 0;          // the attempt's progress
  std::uint32_t per_mille = 0;  // the fraction last reported to the engine
};

// The attempts of one job in the order of their launches.
class AttemptList {
 public:
  void Begin(const AttemptId& attempt, NodeId node, Micros now);
  // Ends the attempt's record. Returns false, and changes nothing, if the attempt does not run.
  bool End(const AttemptId& attempt, AttemptState state, const std::string& reason, Micros now);
  // Applies an event of the job's journal if it is about an attempt; ignores other events.
  void Follow(const sched::Event& event, Micros time);
  // Ends the attempts that still run as killed.
  void KillRest(Micros now);

  // Returns the record of a running attempt; null if it does not run. The record is valid until the next attempt
  // begins.
  [[nodiscard]] AttemptRecord* FindRunning(const AttemptId& attempt);
  [[nodiscard]] const AttemptRecord* FindRunning(const AttemptId& attempt) const;
  // Visits the records of the running attempts in the order of their ids: maps come before reduces.
  template <class Visit>
  void VisitRunning(const Visit& visit) const {
    for (const auto& [attempt, index] : running_) visit(records_[index]);
  }
  // Visits only the records of running reduces, from the last to the first. The time does not grow with the number of
  // running maps.
  template <class Visit>
  void VisitRunningReduces(const Visit& visit) const {
    for (auto at = running_.rbegin(); at != running_.rend() && at->first.task.reduce(); ++at)
      visit(records_[at->second]);
  }
  [[nodiscard]] const std::vector<AttemptRecord>& all() const { return records_; }

 private:
  std::vector<AttemptRecord> records_;
  std::map<AttemptId, std::size_t> running_;  // indices into records_
};

struct TrackedJob {
  // Counts the report of an attempt of the task, in place of the report of an earlier attempt.
  void NoteReport(const TaskId& task, const TaskReport& report);
  // Returns kInvalid if the task has too many counters, or the job would have too many with them.
  [[nodiscard]] Status CheckCounters(const TaskReport& report) const;
  // Returns the nodes on which reduces of the job run.
  [[nodiscard]] std::set<NodeId> ReducingNodes() const;
  // Removes the files that the attempt handed over from `outputs`, and returns them.
  [[nodiscard]] std::vector<dfs::FileId> TakeOutputsOf(const AttemptId& attempt);
  // Drops what only a live job needs.
  void DropWork();

  JobRecord record;
  std::vector<MapSplits> splits;             // by map, while the job lives
  std::map<TaskId, TaskReport> reports;      // of tasks that succeeded, while the job lives
  AttemptList attempts;                      // empty after a restart if the job had ended
  std::map<dfs::FileId, AttemptId> outputs;  // open files that attempts handed over
  std::set<NodeId> nodes;                    // the nodes on which an attempt was launched
  TaskReport totals;                         // the bytes of all reports
  std::set<Counters::key_type> counted;      // the counters in any report, while the job lives
  std::uint64_t counter_bytes = 0;           // of all reports
};

class JobTable {
 public:
  // Reads all jobs, and the splits and reports of those that live. Returns kCorrupt if a record cannot be decoded.
  // Requires: the table is empty.
  [[nodiscard]] Status Load(const KeyValueStore& store);

  // Adds the job. Requires: the id is new, and the job has not ended.
  TrackedJob& Add(JobRecord record);
  // Notes that the job has ended; it is still remembered. Requires: the job lives.
  void NoteEnded(JobId job);
  // Applies an event of the journal if it is about an attempt; ignores other events, and events of jobs that are not
  // remembered.
  void Follow(const sched::Event& event, Micros time);
  // Drops the job from memory. Requires: the job has ended.
  void Forget(JobId job);
  // Returns the ended jobs to forget so that at most `kept` of them are left, the oldest first; never a job in
  // `spared`.
  [[nodiscard]] std::vector<JobId> BeyondHistory(std::size_t kept, const std::set<JobId>& spared) const;

  // These return null if the job is not remembered.
  [[nodiscard]] TrackedJob* Find(JobId job);
  [[nodiscard]] const TrackedJob* Find(JobId job) const;
  // Returns the job; kNotFound if it is not remembered.
  [[nodiscard]] Result<const TrackedJob*> Get(JobId job) const;
  // Returns the job; kNotFound if it is not remembered, kInvalid if it has ended.
  [[nodiscard]] Result<TrackedJob*> GetLive(JobId job);
  // Returns the job. Requires: the job is remembered.
  [[nodiscard]] TrackedJob& At(JobId job) { return jobs_.at(job); }
  [[nodiscard]] const std::set<JobId>& live() const { return live_; }
  // Returns at most `limit` jobs with greater ids than `after`, in order.
  [[nodiscard]] std::vector<JobId> After(JobId after, std::size_t limit, bool live_only) const;
  // Returns the job that was submitted with this token; nothing for an empty token.
  [[nodiscard]] std::optional<JobId> FindToken(const std::string& token) const;
  // Returns a live job whose output is at this path, above or below it, if there is one other than `except`. Such a job
  // removes its output if it fails, and reads or writes there meanwhile.
  [[nodiscard]] std::optional<JobId> WriterAround(const std::string& path, JobId except) const;
  // Returns true if the attempts of a live job write to this path.
  [[nodiscard]] bool IsOutput(std::string_view path) const;
  // Returns the node on which the attempt runs; nothing if it does not run.
  [[nodiscard]] std::optional<NodeId> NodeOf(const AttemptId& attempt) const;

 private:
  [[nodiscard]] Status LoadRecords(const KeyValueStore& store);
  [[nodiscard]] static Status LoadWork(const KeyValueStore& store, TrackedJob& job);

  std::map<JobId, TrackedJob> jobs_;
  std::set<JobId> live_;
  std::set<std::pair<std::string, JobId>> outputs_;  // of live jobs
  std::map<std::string, JobId> by_token_;
};

// FailedMaps holds the inputs of a job's failed maps. It outlives the job, so that a failed attempt can be run again
// alone (`millrace job rerun`). It is stored under "m/<job>" from the job's end until the job is forgotten, and is not
// kept in memory. Pure. Thread rule: values.
using FailedMaps = std::map<std::uint32_t, MapSplits>;  // by the number of the map

// The most maps and splits that are kept for a job; one map is always kept.
inline constexpr std::size_t kMostFailedMaps = 100;
inline constexpr std::size_t kMostFailedSplits = 1000;  // of all its maps together

// Returns the inputs of the maps that have a failed attempt; attempts that were killed or lost do not count. If there
// are too many, those with the most failed attempts are kept; among equals, those with the lowest numbers. Requires:
// `splits` are the splits of the job's maps.
[[nodiscard]] FailedMaps FailedMapsOf(const std::vector<AttemptRecord>& attempts, const std::vector<MapSplits>& splits);

[[nodiscard]] std::string FailedMapsKey(JobId job);
[[nodiscard]] std::string EncodeFailedMaps(const FailedMaps& maps);
[[nodiscard]] Result<FailedMaps> DecodeFailedMaps(std::string_view value);

}  // namespace millrace::master
