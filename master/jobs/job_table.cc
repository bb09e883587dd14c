// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_table.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/kv/key_value_store.h"

namespace millrace::master {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

void AttemptList::Begin(const AttemptId& attempt, NodeId node, Micros now) {
  running_[attempt] = records_.size();
  records_.push_back({attempt, node, AttemptState::kRunning, now, 0, {}, 0, 0});
}

bool AttemptList::End(const AttemptId& attempt, AttemptState state, const std::string& reason, Micros now) {
  AttemptRecord* record = FindRunning(attempt);
  if (record == nullptr) return false;
  record->state = state;
  record->ended = now;
  record->reason = reason;
  record->fraction = state == AttemptState::kSucceeded ? 1 : 0;
  running_.erase(attempt);
  return true;
}

void AttemptList::Follow(const sched::Event& event, Micros time) {
  if (const auto* launched = std::get_if<sched::AttemptLaunched>(&event)) {
    Begin(launched->attempt, launched->node, time);
  } else if (const auto* succeeded = std::get_if<sched::AttemptSucceeded>(&event)) {
    End(succeeded->attempt, AttemptState::kSucceeded, {}, time);
  } else if (const auto* failed = std::get_if<sched::AttemptFailed>(&event)) {
    End(failed->attempt, AttemptState::kFailed, failed->reason, time);
  } else if (const auto* lost = std::get_if<sched::AttemptLost>(&event)) {
    End(lost->attempt, AttemptState::kLost, lost->reason, time);
  } else if (const auto* preempted = std::get_if<sched::AttemptPreempted>(&event)) {
    End(preempted->attempt, AttemptState::kPreempted, preempted->reason, time);
  }
}

void AttemptList::KillRest(Micros now) {
  for (const auto& [attempt, index] : running_) {
    records_[index].state = AttemptState::kKilled;
    records_[index].ended = now;
  }
  running_.clear();
}

AttemptRecord* AttemptList::FindRunning(const AttemptId& attempt) {
  const auto it = running_.find(attempt);
  return it == running_.end() ? nullptr : &records_[it->second];
}

const AttemptRecord* AttemptList::FindRunning(const AttemptId& attempt) const {
  const auto it = running_.find(attempt);
  return it == running_.end() ? nullptr : &records_[it->second];
}

void TrackedJob::NoteReport(const TaskId& task, const TaskReport& report) {
  TaskReport& slot = reports[task];
  totals.bytes_read += report.bytes_read - slot.bytes_read;
  totals.bytes_shuffled += report.bytes_shuffled - slot.bytes_shuffled;
  totals.bytes_written += report.bytes_written - slot.bytes_written;
  counter_bytes += MemoryOf(report.counters) - MemoryOf(slot.counters);
  for (const auto& [name, value] : report.counters) counted.insert(name);
  slot = report;
}

Status TrackedJob::CheckCounters(const TaskReport& report) const {
  const auto refusal = [](const std::string& whose, std::size_t most, const char* unit) {
    return Invalid("keep the task's counters: " + whose + " more than " + std::to_string(most) + ' ' + unit +
                   "; name counters after kinds of things, not after what is in the data");
  };
  if (report.counters.size() > kMostCountersOfTask) return refusal("it has", kMostCountersOfTask, "of them");
  std::size_t names = counted.size();
  for (const auto& [name, value] : report.counters) names += counted.contains(name) ? 0 : 1;
  if (names > kMostCountersOfJob) return refusal("with it the job has", kMostCountersOfJob, "different ones");
  const std::uint64_t tasks = record.figures.maps + record.request.reduces;
  const std::uint64_t most = std::max(kCounterBytesOfJob, tasks * kCounterBytesForEachTask);
  if (counter_bytes + MemoryOf(report.counters) > most)
    return refusal("with it the job's tasks have", most, "bytes of them");
  return Status::Ok();
}

std::set<NodeId> TrackedJob::ReducingNodes() const {
  std::set<NodeId> reducing;
  attempts.VisitRunningReduces([&](const AttemptRecord& reduce) { reducing.insert(reduce.node); });
  return reducing;
}

std::vector<dfs::FileId> TrackedJob::TakeOutputsOf(const AttemptId& attempt) {
  std::vector<dfs::FileId> files;
  for (const auto& [file, owner] : outputs) {
    if (owner == attempt) files.push_back(file);
  }
  for (const dfs::FileId file : files) outputs.erase(file);
  return files;
}

void TrackedJob::DropWork() {
  outputs.clear();
  reports.clear();
  counted.clear();
  counter_bytes = 0;
  nodes.clear();
  splits.clear();
  splits.shrink_to_fit();
}

Status JobTable::Load(const KeyValueStore& store) {
  MILLRACE_TRY(LoadRecords(store));
  for (const JobId job : live_) {
    if (TrackedJob& live = jobs_.at(job); !live.record.waits) MILLRACE_TRY(LoadWork(store, live));
  }
  return Status::Ok();
}

Status JobTable::LoadRecords(const KeyValueStore& store) {
  Status failure;
  MILLRACE_TRY(store.Scan("j/", {}, [&](std::string_view key, std::string_view value) {
    Result<JobRecord> record = DecodeJob(key, value);
    if (!record.ok()) {
      failure = record.status();
      return false;
    }
    const JobId id = record->id;
    if (!record->outcome) {
      live_.insert(id);
      outputs_.emplace(record->request.output, id);
    }
    if (!record->request.token.empty()) by_token_[record->request.token] = id;
    jobs_[id].record = *std::move(record);
    return true;
  }));
  return failure;
}

Status JobTable::LoadWork(const KeyValueStore& store, TrackedJob& job) {
  MILLRACE_ASSIGN(const std::optional<std::string> splits, store.Get(SplitsKey(job.record.id)));
  if (!splits) return Corrupt(ToText(job.record.id) + ": the database has no splits of it");
  MILLRACE_ASSIGN(job.splits, DecodeSplits(*splits));
  Status failure;
  MILLRACE_TRY(store.Scan(TaskKeyPrefix(job.record.id), {}, [&](std::string_view key, std::string_view value) {
    const std::optional<TaskId> task = ParseTaskKey(key);
    const Result<TaskReport> report = DecodeReport(value);
    if (!task || !report.ok()) {
      failure = task ? report.status() : Corrupt("the database's report of a task: key not understood");
      return false;
    }
    job.NoteReport(*task, *report);
    return true;
  }));
  return failure;
}

TrackedJob& JobTable::Add(JobRecord record) {
  const JobId id = record.id;
  live_.insert(id);
  outputs_.emplace(record.request.output, id);
  if (!record.request.token.empty()) by_token_[record.request.token] = id;
  TrackedJob& job = jobs_[id];
  job.record = std::move(record);
  return job;
}

void JobTable::NoteEnded(JobId job) {
  live_.erase(job);
  outputs_.erase({jobs_.at(job).record.request.output, job});
}

std::optional<JobId> JobTable::WriterAround(const std::string& path, JobId except) const {
  const auto writer_from = [&](const std::string& first, const auto& belongs) -> std::optional<JobId> {
    for (auto at = outputs_.lower_bound({first, JobId{0}}); at != outputs_.end() && belongs(at->first); ++at) {
      if (at->second != except) return at->second;
    }
    return std::nullopt;
  };
  const std::string below = path == "/" ? path : path + "/";
  if (const auto found = writer_from(below, [&](const std::string& output) { return output.starts_with(below); }))
    return found;
  for (std::string above = path; !above.empty() && above != "/"; above = above.substr(0, above.rfind('/'))) {
    if (const auto found = writer_from(above, [&](const std::string& output) { return output == above; })) return found;
  }
  return std::nullopt;
}

void JobTable::Follow(const sched::Event& event, Micros time) {
  const auto follow = [&](const auto& told) {
    if constexpr (requires { told.attempt.task.job; }) {
      if (TrackedJob* job = Find(told.attempt.task.job)) job->attempts.Follow(event, time);
    }
  };
  std::visit(follow, event);
  if (const auto* launched = std::get_if<sched::AttemptLaunched>(&event)) {
    if (TrackedJob* job = Find(launched->attempt.task.job)) job->nodes.insert(launched->node);
  }
  if (const auto* moved = std::get_if<sched::OutputMoved>(&event)) {
    if (TrackedJob* job = Find(moved->attempt.task.job)) job->nodes.insert(moved->to);
  }
}

void JobTable::Forget(JobId job) {
  const auto it = jobs_.find(job);
  by_token_.erase(it->second.record.request.token);
  jobs_.erase(it);
}

std::vector<JobId> JobTable::BeyondHistory(std::size_t kept, const std::set<JobId>& spared) const {
  std::vector<JobId> old;
  for (auto it = jobs_.begin(); it != jobs_.end() && jobs_.size() - live_.size() - old.size() > kept; ++it) {
    if (!live_.contains(it->first) && !spared.contains(it->first)) old.push_back(it->first);
  }
  return old;
}

TrackedJob* JobTable::Find(JobId job) {
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : &it->second;
}

const TrackedJob* JobTable::Find(JobId job) const {
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : &it->second;
}

Result<const TrackedJob*> JobTable::Get(JobId job) const {
  if (const TrackedJob* found = Find(job)) return found;
  return NotFound(ToText(job) + ": no such job; `millrace job list` shows them");
}

Result<TrackedJob*> JobTable::GetLive(JobId job) {
  MILLRACE_TRY(Get(job).status());
  TrackedJob* found = Find(job);
  if (found->record.outcome) return Invalid(ToText(job) + ": has ended already");
  return found;
}

std::vector<JobId> JobTable::After(JobId after, std::size_t limit, bool live_only) const {
  std::vector<JobId> found;
  for (auto it = jobs_.upper_bound(after); it != jobs_.end() && found.size() < limit; ++it) {
    if (!live_only || live_.contains(it->first)) found.push_back(it->first);
  }
  return found;
}

std::optional<JobId> JobTable::FindToken(const std::string& token) const {
  const auto it = by_token_.find(token);
  return token.empty() || it == by_token_.end() ? std::nullopt : std::optional(it->second);
}

bool JobTable::IsOutput(std::string_view path) const {
  return std::any_of(live_.begin(), live_.end(),
                     [&](JobId job) { return path.starts_with(jobs_.at(job).record.request.output + "/_temporary/"); });
}

std::optional<NodeId> JobTable::NodeOf(const AttemptId& attempt) const {
  const TrackedJob* job = Find(attempt.task.job);
  const AttemptRecord* record = job == nullptr ? nullptr : job->attempts.FindRunning(attempt);
  return record == nullptr ? std::nullopt : std::optional(record->node);
}

FailedMaps FailedMapsOf(const std::vector<AttemptRecord>& attempts, const std::vector<MapSplits>& splits) {
  std::map<std::uint32_t, std::size_t> failures;
  for (const AttemptRecord& record : attempts) {
    if (record.state == AttemptState::kFailed && !record.attempt.task.reduce()) ++failures[record.attempt.task.index];
  }
  std::vector<std::pair<std::uint32_t, std::size_t>> worst(failures.begin(), failures.end());
  std::ranges::stable_sort(worst, std::ranges::greater(), &std::pair<std::uint32_t, std::size_t>::second);
  FailedMaps kept;
  std::size_t total = 0;
  for (const auto& [map, count] : worst) {
    total += splits.at(map).size();
    if (kept.size() == kMostFailedMaps || (!kept.empty() && total > kMostFailedSplits)) break;
    kept.emplace(map, splits[map]);
  }
  return kept;
}

std::string FailedMapsKey(JobId job) { return "m/" + KeyNumber(job.value); }

std::string EncodeFailedMaps(const FailedMaps& maps) {
  Encoder out;
  out.U8(kVersion);
  out.Varint(maps.size());
  std::vector<MapSplits> splits;
  for (const auto& [map, of_map] : maps) {
    out.Varint(map);
    splits.push_back(of_map);
  }
  out.Text(EncodeSplits(splits));
  return out.Take();
}

Result<FailedMaps> DecodeFailedMaps(std::string_view value) {
  const std::string what = "the database's inputs of failed maps";
  Decoder in(value);
  if (const int version = in.U8(); version != kVersion)
    return Corrupt(what + ": version " + std::to_string(version) + " is not understood");
  std::vector<std::uint32_t> maps;
  for (std::uint64_t n = in.Varint(); n > 0 && !in.failed(); --n)
    maps.push_back(static_cast<std::uint32_t>(in.Varint()));
  const std::string_view encoded = in.Text();
  MILLRACE_TRY(in.Finish(what));
  MILLRACE_ASSIGN(std::vector<MapSplits> splits, DecodeSplits(encoded));
  if (splits.size() != maps.size())
    return Corrupt(what + ": " + std::to_string(maps.size()) + " maps, but the splits of " +
                   std::to_string(splits.size()));
  FailedMaps failed;
  for (std::size_t i = 0; i < maps.size(); ++i) failed.emplace(maps[i], std::move(splits[i]));
  return failed;
}

}  // namespace millrace::master
