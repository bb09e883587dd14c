// SPDX-License-Identifier: Apache-2.0
#include "lab/run/run_record.h"

#include <algorithm>
#include <cstdint>

#include "base/archive.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/text.h"

namespace millrace::compare {
namespace {

constexpr std::string_view kMagic = "MILLRUNS";
// Format 1 had no JournalFacts, format 2 nothing of cores, and format 3 nothing that was foretold.
constexpr std::uint32_t kFormat = 4, kOldestFormat = 1;

constexpr auto kPlannedRun = [](auto& archive, auto& run) {
  archive(run.block, run.order, run.scheduler, run.second, run.seed, run.again);
};

constexpr auto kPhases = [](auto& archive, auto& phases) {
  archive(phases.wait, phases.map, phases.copy, phases.permit, phases.compute);
};

constexpr auto kSummary = [](auto& archive, auto& s) {
  archive(s.jobs, s.succeeded, s.failed, s.unfinished, s.makespan, s.mean_turnaround, s.mean_wait);
  archive(s.turnaround_p50, s.turnaround_p95, s.turnaround_p99, s.mean_slowdown, s.max_slowdown);
  for (auto& share : s.maps_at) archive(share);
  for (auto& bytes : s.bytes_at) archive(bytes);
  archive(s.reduce_locality, s.rack_bytes, s.datacenter_bytes, s.fairness, s.distance, s.late);
  for (auto& share : s.utilisation) archive(share);
  archive(s.utilisation_total, s.tasks_per_node, s.tasks_per_node_deviation, s.peak_space, s.preempted);
  archive(s.speculative, s.failed_attempts, s.killed_attempts, s.evictions, s.launches, s.events);
};

constexpr auto kJobRow = [](auto& archive, auto& row) {
  archive(row.job, row.name, row.user, row.pool, row.group, row.maps, row.reduces, row.submitted, row.started);
  archive.Optional(row.outcome, [](auto& in, auto& outcome) { in.Enum(outcome, sched::JobOutcome::kKilled); });
  archive(row.submit, row.start, row.maps_ended, row.end, row.deadline, row.alone);
  for (auto& maps : row.maps_at) archive(maps);
  for (auto& bytes : row.bytes_at) archive(bytes);
  archive(row.shuffle_bytes, row.shuffle_datacenter_bytes, row.preempted, row.speculative, row.failed);
  archive(row.killed, row.evicted);
  if (archive.Has(4)) archive.Optional(row.foretold, [](auto& in, auto& turnaround) { in(turnaround); });
};

constexpr auto kTaskRow = [](auto& archive, auto& row) {
  archive.Varint(row.attempt.task.job);
  archive.Enum(row.attempt.task.kind, TaskKind::kReduce);
  archive.Varint(row.attempt.task.index, row.attempt.number, row.node);
  archive.Enum(row.locality, Locality::kOff);
  archive(row.speculative, row.start, row.read, row.compute, row.end);
  archive.Enum(row.how, sim::AttemptEnd::kPreempted);
  if (archive.Has(3)) archive(row.use.cpu, row.use.waited, row.use.start);
};

constexpr auto kSample = [](auto& archive, auto& sample) {
  archive(sample.time);
  for (const TaskKind kind : kTaskKinds) archive(sample.running[kind], sample.capacity[kind], sample.pending[kind]);
  archive(sample.jobs, sample.active, sample.fairness, sample.distance);
};

constexpr auto kResult = [](auto& archive, auto& result) {
  archive(result.scheduler, result.workload);
  kSummary(archive, result.summary);
  archive.List(result.jobs, kJobRow);
  archive.List(result.tasks, kTaskRow);
  archive.List(result.samples, kSample);
  archive.List(result.stuck, [](auto& in, auto& stuck) { in(stuck.job, stuck.why); });
  archive(result.decision_seconds);
};

constexpr auto kFacts = [](auto& archive, auto& facts) {
  archive.List(facts.jobs, [](auto& in, auto& job) {
    in(job.program, job.input_type);
    in.List(job.inputs, [](auto& of, auto& map) {
      of(map.bytes);
      of.List(map.replicas, [](auto& each, auto& node) { each.Varint(node); });
    });
  });
  archive.List(facts.reads, [](auto& in, auto& read) {
    in.Varint(read.from, read.to);
    in(read.bytes_per_second);
  });
  if (archive.Has(3)) archive.List(facts.nodes, [](auto& in, auto& node) { in(node.cores, node.machine); });
};

constexpr auto kRecord = [](auto& archive, auto& record) {
  kPlannedRun(archive, record.run);
  kResult(archive, record.outcome.result);
  archive(record.outcome.outputs, record.outcome.disturbed);
  archive.Optional(record.outcome.master_cpu_seconds, [](auto& in, auto& seconds) { in(seconds); });
  archive.Optional(record.phases, kPhases);
  if (archive.Has(2)) kFacts(archive, record.outcome.facts);
};

constexpr auto kConditionFields = [](auto& archive, auto& conditions) {
  archive.List(conditions, [](auto& in, auto& condition) { in(condition.first, condition.second); });
};

template <class Value>
std::string Encode(const Value& value, const auto& fields) {
  const std::string payload = WriteFields(value, fields);
  Encoder rest;
  rest.U32(kFormat);
  rest.U64(payload.size());
  rest.Raw(payload.data(), payload.size());
  Encoder frame;
  frame.Raw(kMagic.data(), kMagic.size());
  frame.U32(Crc32c(rest.bytes()));
  frame.Raw(rest.bytes().data(), rest.bytes().size());
  return frame.Take();
}

Status Damaged(const std::string& name, const std::string& why) {
  return Corrupt(name + " " + why + "; remove the file, and its run is made again");
}

template <class Value>
Result<Value> Decode(std::string_view bytes, const std::string& name, const auto& fields) {
  Decoder frame(bytes);
  if (frame.Raw(kMagic.size()) != kMagic) return Damaged(name, "does not begin like a file of runs");
  const std::uint32_t checksum = frame.U32();
  if (frame.failed() || Crc32c(bytes.substr(bytes.size() - frame.left())) != checksum)
    return Damaged(name, "is damaged: its checksum is wrong");
  const std::uint32_t format = frame.U32();
  if (format < kOldestFormat || format > kFormat) {
    return Invalid(name + " has format " + std::to_string(format) + ", and this version knows formats " +
                   std::to_string(kOldestFormat) + " to " + std::to_string(kFormat) +
                   " only; compare into another directory");
  }
  const std::string_view payload = frame.Raw(frame.U64());
  if (!frame.Finish(name).ok()) return Damaged(name, "is damaged: its length is wrong");
  Reading archive(payload, format);
  Value value;
  fields(archive, value);
  if (!archive.Finish(name).ok()) return Damaged(name, "is damaged: one of its fields is wrong");
  return value;
}

// Rows must name jobs that exist, by their index.
bool RowsFit(const RunOutcome& outcome) {
  const sim::SimResult& result = outcome.result;
  if (!outcome.facts.jobs.empty() && outcome.facts.jobs.size() != result.jobs.size()) return false;
  const auto jobs = result.jobs.size();
  for (std::size_t i = 0; i < jobs; ++i) {
    if (result.jobs[i].job != i) return false;
  }
  const auto task_fits = [jobs](const sim::TaskRow& task) { return task.attempt.task.job.value < jobs; };
  const auto stuck_fits = [jobs](const sim::StuckJob& stuck) { return stuck.job < jobs; };
  return std::all_of(result.tasks.begin(), result.tasks.end(), task_fits) &&
         std::all_of(result.stuck.begin(), result.stuck.end(), stuck_fits);
}

}  // namespace

std::string EncodeRun(const RunRecord& record) { return Encode(record, kRecord); }
std::string EncodeConditions(const Conditions& conditions) { return Encode(conditions, kConditionFields); }

Result<RunRecord> DecodeRun(std::string_view bytes, const std::string& name) {
  MILLRACE_ASSIGN(RunRecord record, Decode<RunRecord>(bytes, name, kRecord));
  if (!RowsFit(record.outcome)) return Damaged(name, "is damaged: a row names a job that does not exist");
  return record;
}

Result<Conditions> DecodeConditions(std::string_view bytes, const std::string& name) {
  return Decode<Conditions>(bytes, name, kConditionFields);
}

MadeRun MadeOf(const RunRecord& record) {
  return {record.run.block, record.run.order, record.run.again, !record.outcome.disturbed.empty()};
}

}  // namespace millrace::compare
