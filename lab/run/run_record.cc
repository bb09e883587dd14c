#include "lab/run/run_record.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/text.h"

namespace millrace::compare {
namespace {

constexpr std::string_view kMagic = "MILLRUNS";
// Format 1 had no JournalFacts, and format 2 nothing of cores.
constexpr std::uint32_t kFormat = 3, kOldestFormat = 1;

// Writing and Reading take the same fields in the same order, so that each list of fields stands once, below.
class Writing {
 public:
  void operator()(const std::string& text) { out_.Text(text); }
  void operator()(double value) { out_.U64(std::bit_cast<std::uint64_t>(value)); }
  void operator()(bool value) { out_.U8(value ? 1 : 0); }
  void operator()(std::unsigned_integral auto value) { out_.Varint(value); }
  void operator()(Micros time) { out_.U64(static_cast<std::uint64_t>(time)); }
  template <class Value>
  void Enum(Value value, Value /*last*/) {
    out_.U8(static_cast<std::uint8_t>(value));
  }
  template <class Value>
  void Optional(const std::optional<Value>& value, auto&& fields) {
    (*this)(value.has_value());
    if (value) fields(*value);
  }
  template <class Value>
  void List(const std::vector<Value>& values, auto&& fields) {
    out_.Varint(values.size());
    for (const Value& value : values) fields(value);
  }
  std::string Take() { return out_.Take(); }
  [[nodiscard]] static bool Has(std::uint32_t /*since*/) { return true; }

 private:
  Encoder out_;
};

class Reading {
 public:
  Reading(std::string_view bytes, std::uint32_t format) : in_(bytes), format_(format) {}
  void operator()(std::string& text) { text = in_.Text(); }
  void operator()(double& value) { value = std::bit_cast<double>(in_.U64()); }
  void operator()(bool& value) { value = Upto(1) == 1; }
  template <std::unsigned_integral Value>
  void operator()(Value& value) {
    const std::uint64_t read = in_.Varint();
    value = static_cast<Value>(read);
    wrong_ = wrong_ || value != read;
  }
  void operator()(Micros& time) { time = static_cast<Micros>(in_.U64()); }
  template <class Value>
  void Enum(Value& value, Value last) {
    value = static_cast<Value>(Upto(static_cast<std::uint8_t>(last)));
  }
  template <class Value>
  void Optional(std::optional<Value>& value, auto&& fields) {
    bool there = false;
    (*this)(there);
    if (there) fields(value.emplace());
  }
  template <class Value>
  void List(std::vector<Value>& values, auto&& fields) {
    const std::uint64_t size = in_.Varint();
    wrong_ = wrong_ || size > in_.left();  // an element has a byte at least
    for (std::uint64_t i = 0; i < size && !wrong_ && !in_.failed(); ++i) fields(values.emplace_back());
  }
  // Returns whether the file has fields that there are since this format.
  [[nodiscard]] bool Has(std::uint32_t since) const { return format_ >= since; }
  [[nodiscard]] bool Good() const { return !wrong_ && in_.Finish("run").ok(); }

 private:
  std::uint8_t Upto(std::uint8_t last) {
    const std::uint8_t read = in_.U8();
    wrong_ = wrong_ || read > last;
    return std::min(read, last);
  }
  Decoder in_;
  std::uint32_t format_;
  bool wrong_ = false;
};

// Takes the fields one after another.
void All(auto& archive, auto&... fields) { (archive(fields), ...); }

void Fields(auto& archive, auto& run) requires std::same_as<std::remove_cvref_t<decltype(run)>, PlannedRun> {
  All(archive, run.block, run.order, run.scheduler, run.second, run.seed, run.again);
}

void Fields(auto& archive, auto& phases) requires std::same_as<std::remove_cvref_t<decltype(phases)>, Phases> {
  All(archive, phases.wait, phases.map, phases.copy, phases.permit, phases.compute);
}

void Fields(auto& archive, auto& s) requires std::same_as<std::remove_cvref_t<decltype(s)>, sim::Summary> {
  All(archive, s.jobs, s.succeeded, s.failed, s.unfinished, s.makespan, s.mean_turnaround, s.mean_wait);
  All(archive, s.turnaround_p50, s.turnaround_p95, s.turnaround_p99, s.mean_slowdown, s.max_slowdown);
  for (auto& share : s.maps_at) archive(share);
  for (auto& bytes : s.bytes_at) archive(bytes);
  All(archive, s.reduce_locality, s.rack_bytes, s.datacenter_bytes, s.fairness, s.distance, s.late);
  for (auto& share : s.utilisation) archive(share);
  All(archive, s.utilisation_total, s.tasks_per_node, s.tasks_per_node_deviation, s.peak_space, s.preempted);
  All(archive, s.speculative, s.failed_attempts, s.killed_attempts, s.evictions, s.launches, s.events);
}

void Fields(auto& archive, auto& row) requires std::same_as<std::remove_cvref_t<decltype(row)>, sim::JobRow> {
  All(archive, row.job, row.name, row.user, row.pool, row.group, row.maps, row.reduces, row.submitted, row.started);
  archive.Optional(row.outcome, [&](auto& outcome) { archive.Enum(outcome, sched::JobOutcome::kKilled); });
  All(archive, row.submit, row.start, row.maps_ended, row.end, row.deadline, row.alone);
  for (auto& maps : row.maps_at) archive(maps);
  for (auto& bytes : row.bytes_at) archive(bytes);
  All(archive, row.shuffle_bytes, row.shuffle_datacenter_bytes, row.preempted, row.speculative, row.failed);
  All(archive, row.killed, row.evicted);
}

void Fields(auto& archive, auto& row) requires std::same_as<std::remove_cvref_t<decltype(row)>, sim::TaskRow> {
  archive(row.attempt.task.job.value);
  archive.Enum(row.attempt.task.kind, TaskKind::kReduce);
  All(archive, row.attempt.task.index, row.attempt.number, row.node.value);
  archive.Enum(row.locality, Locality::kOff);
  All(archive, row.speculative, row.start, row.read, row.compute, row.end);
  archive.Enum(row.how, sim::AttemptEnd::kPreempted);
  if (archive.Has(3)) All(archive, row.use.cpu, row.use.waited, row.use.start);
}

void Fields(auto& archive, auto& sample) requires std::same_as<std::remove_cvref_t<decltype(sample)>, sim::Sample> {
  archive(sample.time);
  for (const TaskKind kind : kTaskKinds)
    All(archive, sample.running[kind], sample.capacity[kind], sample.pending[kind]);
  All(archive, sample.jobs, sample.active, sample.fairness, sample.distance);
}

void Fields(auto& archive, auto& result) requires std::same_as<std::remove_cvref_t<decltype(result)>, sim::SimResult> {
  All(archive, result.scheduler, result.workload);
  Fields(archive, result.summary);
  archive.List(result.jobs, [&](auto& row) { Fields(archive, row); });
  archive.List(result.tasks, [&](auto& row) { Fields(archive, row); });
  archive.List(result.samples, [&](auto& sample) { Fields(archive, sample); });
  archive.List(result.stuck, [&](auto& stuck) { All(archive, stuck.job, stuck.why); });
  archive(result.decision_seconds);
}

void Fields(auto& archive, auto& facts) requires std::same_as<std::remove_cvref_t<decltype(facts)>, sim::JournalFacts> {
  archive.List(facts.jobs, [&](auto& job) {
    All(archive, job.program, job.input_type);
    archive.List(job.inputs, [&](auto& map) {
      archive(map.bytes);
      archive.List(map.replicas, [&](auto& node) { archive(node.value); });
    });
  });
  archive.List(facts.reads, [&](auto& read) { All(archive, read.from.value, read.to.value, read.bytes_per_second); });
  if (archive.Has(3)) archive.List(facts.nodes, [&](auto& node) { All(archive, node.cores, node.machine); });
}

void Fields(auto& archive, auto& record) requires std::same_as<std::remove_cvref_t<decltype(record)>, RunRecord> {
  Fields(archive, record.run);
  Fields(archive, record.outcome.result);
  All(archive, record.outcome.outputs, record.outcome.disturbed);
  archive.Optional(record.outcome.master_cpu_seconds, [&](auto& seconds) { archive(seconds); });
  archive.Optional(record.phases, [&](auto& phases) { Fields(archive, phases); });
  if (!archive.Has(2)) return;
  Fields(archive, record.outcome.facts);
}

void Fields(auto& archive,
            auto& conditions) requires std::same_as<std::remove_cvref_t<decltype(conditions)>, Conditions> {
  archive.List(conditions, [&](auto& condition) { All(archive, condition.first, condition.second); });
}

template <class Value>
std::string Encode(const Value& value) {
  Writing fields;
  Fields(fields, value);
  const std::string payload = fields.Take();
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
Result<Value> Decode(std::string_view bytes, const std::string& name) {
  Decoder frame(bytes);
  if (frame.Raw(kMagic.size()) != kMagic) return Damaged(name, "does not begin as a file of runs");
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
  Reading fields(payload, format);
  Value value;
  Fields(fields, value);
  if (!fields.Good()) return Damaged(name, "is damaged: one of its fields is wrong");
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

std::string EncodeRun(const RunRecord& record) { return Encode(record); }
std::string EncodeConditions(const Conditions& conditions) { return Encode(conditions); }

Result<RunRecord> DecodeRun(std::string_view bytes, const std::string& name) {
  MILLRACE_ASSIGN(RunRecord record, Decode<RunRecord>(bytes, name));
  if (!RowsFit(record.outcome)) return Damaged(name, "is damaged: a row names a job that there is not");
  return record;
}

Result<Conditions> DecodeConditions(std::string_view bytes, const std::string& name) {
  return Decode<Conditions>(bytes, name);
}

MadeRun MadeOf(const RunRecord& record) {
  return {record.run.block, record.run.order, record.run.again, !record.outcome.disturbed.empty()};
}

}  // namespace millrace::compare
