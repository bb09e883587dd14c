// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_record.h"

#include <algorithm>

#include "base/archive.h"
#include "base/kv/key_value_store.h"

namespace millrace::master {
namespace {

constexpr std::string_view kForgottenName = "the database's record of forgotten jobs";
constexpr std::string_view kJobName = "the database's record of a job";
constexpr std::string_view kSplitsName = "the database's splits of a job";
constexpr std::string_view kReportName = "the database's report of a task";

Status NotUnderstood(std::string_view what, int version) {
  return Corrupt(std::string(what) + ": version " + std::to_string(version) + " is not understood");
}

// ---- The fields of records, in the order of their bytes (base/archive.h) ----

constexpr auto kTextField = [](auto& archive, auto& text) { archive.Text(text); };
constexpr auto kNumberField = [](auto& archive, auto& number) { archive.Varint(number); };
constexpr auto kParameterFields = [](auto& archive, auto& parameter) {
  archive.Text(parameter.first, parameter.second);
};
constexpr auto kCounterFields = [](auto& archive, auto& name, auto& value) {
  archive.Text(name.first, name.second);
  archive.U64(value);
};

// The other facts of a live job are in the journal or in its splits.
constexpr auto kRequestFields = [](auto& archive, auto& r) {
  archive.Text(r.name, r.owner, r.output, r.executable.path, r.pool, r.token);
  archive.List(r.inputs, kTextField);
  archive.List(r.parameters, kParameterFields);
  archive.U8(r.priority);
  archive.Enum(r.split_by, SplitBy::kNumbers);
  archive.Varint(r.reduces, r.executable.bytes, r.executable.crc, r.record_bytes, r.deadline, r.max_attempts);
  archive(r.slow_start);
  if (archive.Has(2)) {
    archive.Varint(r.map_time, r.reduce_time);
    archive.List(r.locality_waits, kNumberField);
  }
  if (archive.Has(3)) archive.Varint(r.max_failed_maps);
};

constexpr auto kFigureFields = [](auto& archive, auto& f) {
  archive.Varint(f.maps, f.reduces);
  for (auto& launched : f.launched_at) archive.Varint(launched);
  archive.Varint(f.failed_attempts, f.killed_attempts);
  archive.Varint(f.input_bytes, f.bytes_read, f.bytes_shuffled, f.bytes_written);
  if (archive.Has(2)) archive.Varint(f.preempted_attempts, f.speculative_attempts);
  if (archive.Has(3)) archive.Varint(f.maps_left_out);
  if (archive.Has(4)) archive.Varint(f.records_left_out);
  if (archive.Has(5)) archive.Varint(f.maps_done, f.reduces_done);
};

constexpr auto kOutcomeFields = [](auto& archive, auto& outcome) {
  archive.Enum(outcome.outcome, sched::JobOutcome::kKilled);
  archive.Text(outcome.reason);
};
constexpr auto kLeftOutMapFields = [](auto& archive, auto& left_out) {
  archive.Varint(left_out.map);
  archive.Text(left_out.input);
};
constexpr auto kLeftOutRecordFields = [](auto& archive, auto& left_out) {
  archive.Varint(left_out.map);
  archive.Text(left_out.path);
  archive.Varint(left_out.offset);
};

constexpr auto kJobIdField = [](auto& archive, auto& id) { archive.Varint(id); };
constexpr auto kInputCutFields = [](auto& archive, auto& cut) {
  archive.Enum(cut.split_by, SplitBy::kNumbers);
  archive.Bits(cut.decompresses);
};
// The facts that the journal and the splits have of a job that the engine knows.
constexpr auto kPlanFields = [](auto& archive, auto& r) {
  archive.Bits(r.no_speculation, r.decompresses);
  archive.Varint(r.skip_bad_records, r.maps, r.records, r.pack);
  archive.Text(r.input_sample);
  archive.List(r.uncut, kTextField);
  archive.List(r.cuts, kInputCutFields);
};
constexpr auto kWaitingFields = [](auto& archive, auto& record) {
  archive.Bits(record.waits, record.request.even_if_failed);
  archive.Enum(record.hold, Hold::kOperator);
  archive.List(record.request.after, kJobIdField);
  archive.List(record.waits_for, kJobIdField);
  archive.U64(record.held_back);
  if (record.waits) kPlanFields(archive, record.request);
};

constexpr auto kForgottenFields = [](auto& archive, auto& forgotten) {
  archive.Version(1, 1, [](int version) { return NotUnderstood(kForgottenName, version); });
  archive.Varint(forgotten.last);
  archive.U64(forgotten.until);
};

// Version 1 lacks a job's facts for schedulers, 2 the maps that were left out, 3 the records that were left out, 4 how
// many tasks were done, and 5 what a job waits for. The key has the id.
constexpr auto kJobFields = [](auto& archive, auto& record) {
  archive.Version(1, 6, [](int version) { return NotUnderstood(kJobName, version); });
  kRequestFields(archive, record.request);
  archive.U64(record.submitted, record.first_launch, record.ended);
  archive.Optional(record.outcome, kOutcomeFields);
  kFigureFields(archive, record.figures);
  if (archive.Has(3)) archive.List(record.left_out, kLeftOutMapFields);
  if (archive.Has(4)) archive.List(record.left_out_records, kLeftOutRecordFields);
  archive.Map(record.counters, kCounterFields);
  if (archive.Has(6)) kWaitingFields(archive, record);
};

constexpr auto kBlockFields = [](auto& archive, auto& block) {
  archive.U64(block.id);
  archive.Varint(block.length);
  archive.U32(block.crc);
};
constexpr auto kSplitFields = [](auto& archive, auto& split) {
  archive.Text(split.path, split.name);
  archive.Varint(split.file_length, split.offset, split.length, split.first_block_offset);
  archive.List(split.blocks, kBlockFields);
  if (archive.Has(3)) archive.Varint(split.input);
};
// In version 1 each map had one split; it is not read any more. Version 2 lacks which of the job's inputs named a
// split.
constexpr auto kMapsFields = [](auto& archive, auto& maps) {
  archive.Version(2, 3, [](int version) {
    return version == 1 ? Corrupt(std::string(kSplitsName) + ": version 1 is not read any more")
                        : NotUnderstood(kSplitsName, version);
  });
  std::size_t map = 0;
  archive.List(maps, [&map](auto& in_maps, auto& splits) {
    in_maps.List(splits, kSplitFields);
    in_maps.Check(!splits.empty(),
                  [&map] { return Corrupt(std::string(kSplitsName) + ": map " + std::to_string(map) + " has none"); });
    ++map;
  });
};

constexpr auto kReportFields = [](auto& archive, auto& report) {
  archive.Version(1, 1, [](int version) { return NotUnderstood(kReportName, version); });
  archive.Varint(report.bytes_read, report.bytes_shuffled, report.bytes_written);
  archive.Map(report.counters, kCounterFields);
};

}  // namespace

std::uint64_t MemoryOf(const Counters& counters) {
  constexpr std::uint64_t kBesidesNames = 64;
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : counters) bytes += name.first.size() + name.second.size() + kBesidesNames;
  return bytes;
}

void CountLeftOut(const JobFigures& figures, Counters* counters) {
  if (figures.maps_left_out > 0) (*counters)[{"millrace", "maps_left_out"}] = figures.maps_left_out;
}

namespace {

// Returns the value of this counter of the engine; 0 if the task did not report it.
std::uint64_t CounterOf(const TaskReport& report, const char* name) {
  const auto found = report.counters.find({"millrace", name});
  return found == report.counters.end() ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(found->second, 0));
}

}  // namespace

std::uint64_t MapOutputBytes(const TaskReport& report) {
  const bool combined = report.counters.contains({"millrace", "combine_output_records"});
  return CounterOf(report, combined ? "map_stored_bytes" : "map_output_bytes");
}

std::uint64_t RemoteReadRate(const TaskReport& report) {
  const std::uint64_t bytes = CounterOf(report, "bytes_read_remote"), micros = CounterOf(report, "remote_read_micros");
  constexpr std::uint64_t kLeastBytes = 64 << 10, kLeastMicros = 100;
  if (bytes < kLeastBytes || micros < kLeastMicros) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e6 / static_cast<double>(micros));
}

std::string DescribeInput(const MapSplits& map) {
  if (map.empty()) return {};
  const Split& first = map.front();
  const std::uint64_t end = first.offset + first.length;
  std::string text = first.path.empty() ? "numbers" : first.path;
  if (first.path.empty()) {
    text += " " + std::to_string(first.offset) + " to " + std::to_string(end);
  } else if (first.length < first.file_length) {
    text += ", bytes " + std::to_string(first.offset) + " to " + std::to_string(end);
  }
  return map.size() == 1 ? text : text + ", and " + std::to_string(map.size() - 1) + " more";
}

std::optional<std::string> DescribeRecord(const MapSplits& map, const sched::RecordPlace& record) {
  if (record.input >= map.size()) return std::nullopt;
  const Split& split = map[record.input];
  // A file that is one split may be compressed: the record then lies in what it decompresses to.
  const bool whole = !split.path.empty() && split.offset == 0 && split.length == split.file_length;
  if (!whole && (record.offset < split.offset || record.offset - split.offset > split.length)) return std::nullopt;
  const std::string offset = std::to_string(record.offset);
  return split.path.empty() ? "number " + offset : "the record at byte " + offset + " of " + split.path;
}

std::string JobKey(JobId job) { return "j/" + KeyNumber(job.value); }
std::string SplitsKey(JobId job) { return "s/" + KeyNumber(job.value); }
std::string TaskKeyPrefix(JobId job) { return "t/" + KeyNumber(job.value); }

std::string TaskKey(const TaskId& task) {
  return TaskKeyPrefix(task.job) + (task.kind == TaskKind::kMap ? 'm' : 'r') + KeyNumber(task.index);
}

std::optional<TaskId> ParseTaskKey(std::string_view key) {
  if (key.size() != 2 + 8 + 1 + 8) return std::nullopt;
  const auto job = ParseKeyNumber(key.substr(2, 8));
  const auto index = ParseKeyNumber(key.substr(11));
  if (!job || !index) return std::nullopt;
  const TaskId task{JobId{static_cast<std::uint32_t>(*job)}, key[10] == 'm' ? TaskKind::kMap : TaskKind::kReduce,
                    static_cast<std::uint32_t>(*index)};
  return TaskKey(task) == key ? std::optional(task) : std::nullopt;
}

std::string EncodeForgotten(const ForgottenJobs& forgotten) { return WriteFields(forgotten, kForgottenFields); }

Result<ForgottenJobs> DecodeForgotten(std::string_view value) {
  return ReadFields<ForgottenJobs>(value, kForgottenName, kForgottenFields);
}

std::string EncodeJob(const JobRecord& record) { return WriteFields(record, kJobFields); }

Result<JobRecord> DecodeJob(std::string_view key, std::string_view value) {
  const auto number = ParseKeyNumber(key.substr(std::min<std::size_t>(2, key.size())));
  if (!number) return Corrupt(std::string(kJobName) + ": key not understood");
  MILLRACE_ASSIGN(JobRecord record, ReadFields<JobRecord>(value, kJobName, kJobFields));
  record.id = JobId{static_cast<std::uint32_t>(*number)};
  return record;
}

std::string EncodeSplits(const std::vector<MapSplits>& maps) { return WriteFields(maps, kMapsFields); }

Result<std::vector<MapSplits>> DecodeSplits(std::string_view value) {
  return ReadFields<std::vector<MapSplits>>(value, kSplitsName, kMapsFields);
}

std::string EncodeReport(const TaskReport& report) { return WriteFields(report, kReportFields); }

Result<TaskReport> DecodeReport(std::string_view value) {
  return ReadFields<TaskReport>(value, kReportName, kReportFields);
}

}  // namespace millrace::master
