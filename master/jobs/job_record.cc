#include "master/jobs/job_record.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "base/kv/key_value_store.h"

namespace millrace::master {
namespace {

constexpr std::uint8_t kVersion = 1;
// In version 1 each map had one split; it is not read any more. Version 2 lacks which of the job's inputs named a
// split.
constexpr std::uint8_t kSplitsVersion = 3;
// Older versions of job records are read too. Version 1 lacks what schedulers are told of a job, 2 the maps that were
// left out, and 3 the records that were left out.
constexpr std::uint8_t kJobVersion = 4;

void Put(Encoder& out, const Counters& counters) {
  out.Varint(counters.size());
  for (const auto& [name, value] : counters) {
    out.Text(name.first);
    out.Text(name.second);
    out.U64(static_cast<std::uint64_t>(value));
  }
}

Counters GetCounters(Decoder& in) {
  Counters counters;
  for (std::uint64_t n = in.Varint(); n > 0 && !in.failed(); --n) {
    std::string group(in.Text());
    std::string name(in.Text());
    counters[{std::move(group), std::move(name)}] = static_cast<std::int64_t>(in.U64());
  }
  return counters;
}

void Put(Encoder& out, const JobRequest& r) {
  for (const std::string* text : {&r.name, &r.owner, &r.output, &r.executable, &r.pool, &r.token}) out.Text(*text);
  out.Varint(r.inputs.size());
  for (const std::string& input : r.inputs) out.Text(input);
  out.Varint(r.parameters.size());
  for (const auto& [name, value] : r.parameters) {
    out.Text(name);
    out.Text(value);
  }
  out.U8(r.priority);
  out.U8(static_cast<std::uint8_t>(r.split_by));
  for (const std::uint64_t n :
       {std::uint64_t{r.reduces}, r.executable_bytes, std::uint64_t{r.executable_crc}, std::uint64_t{r.record_bytes},
        static_cast<std::uint64_t>(r.deadline), std::uint64_t{r.max_attempts}}) {
    out.Varint(n);
  }
  out.U64(std::bit_cast<std::uint64_t>(r.slow_start));
  out.Varint(static_cast<std::uint64_t>(r.map_time));
  out.Varint(static_cast<std::uint64_t>(r.reduce_time));
  out.Varint(r.locality_waits.size());
  for (const Micros wait : r.locality_waits) out.Varint(static_cast<std::uint64_t>(wait));
  out.Varint(r.max_failed_maps);
}

JobRequest GetRequest(Decoder& in, int version) {
  JobRequest r;
  for (std::string* text : {&r.name, &r.owner, &r.output, &r.executable, &r.pool, &r.token}) *text = in.Text();
  for (std::uint64_t n = in.Varint(); n > 0 && !in.failed(); --n) r.inputs.emplace_back(in.Text());
  for (std::uint64_t n = in.Varint(); n > 0 && !in.failed(); --n) {
    std::string name(in.Text());
    r.parameters.emplace_back(std::move(name), std::string(in.Text()));
  }
  r.priority = in.U8();
  r.split_by = static_cast<SplitBy>(in.U8());
  r.reduces = static_cast<std::uint32_t>(in.Varint());
  r.executable_bytes = in.Varint();
  r.executable_crc = static_cast<std::uint32_t>(in.Varint());
  r.record_bytes = static_cast<std::uint32_t>(in.Varint());
  r.deadline = static_cast<Micros>(in.Varint());
  r.max_attempts = static_cast<std::uint32_t>(in.Varint());
  r.slow_start = std::bit_cast<double>(in.U64());
  if (version < 2) return r;
  r.map_time = static_cast<Micros>(in.Varint());
  r.reduce_time = static_cast<Micros>(in.Varint());
  for (std::uint64_t n = in.Varint(); n > 0 && !in.failed(); --n)
    r.locality_waits.push_back(static_cast<Micros>(in.Varint()));
  if (version < 3) return r;
  r.max_failed_maps = static_cast<std::uint32_t>(in.Varint());
  return r;
}

void Put(Encoder& out, const JobFigures& f) {
  for (const std::uint32_t n : {f.maps, f.reduces, f.launched_at[0], f.launched_at[1], f.launched_at[2],
                                f.launched_at[3], f.failed_attempts, f.killed_attempts}) {
    out.Varint(n);
  }
  for (const std::uint64_t n : {f.input_bytes, f.bytes_read, f.bytes_shuffled, f.bytes_written}) out.Varint(n);
  out.Varint(f.preempted_attempts);
  out.Varint(f.speculative_attempts);
  out.Varint(f.maps_left_out);
  out.Varint(f.records_left_out);
}

JobFigures GetFigures(Decoder& in, int version) {
  JobFigures f;
  for (std::uint32_t* n : {&f.maps, &f.reduces, &f.launched_at[0], &f.launched_at[1], &f.launched_at[2],
                           &f.launched_at[3], &f.failed_attempts, &f.killed_attempts}) {
    *n = static_cast<std::uint32_t>(in.Varint());
  }
  for (std::uint64_t* n : {&f.input_bytes, &f.bytes_read, &f.bytes_shuffled, &f.bytes_written}) *n = in.Varint();
  if (version < 2) return f;
  f.preempted_attempts = static_cast<std::uint32_t>(in.Varint());
  f.speculative_attempts = static_cast<std::uint32_t>(in.Varint());
  if (version < 3) return f;
  f.maps_left_out = static_cast<std::uint32_t>(in.Varint());
  if (version < 4) return f;
  f.records_left_out = static_cast<std::uint32_t>(in.Varint());
  return f;
}

Result<int> ReadVersion(Decoder& in, std::string_view what, int newest) {
  const int version = in.U8();
  if (version < 1 || version > newest)
    return Corrupt(std::string(what) + ": version " + std::to_string(version) + " is not understood");
  return version;
}

Status CheckVersion(Decoder& in, std::string_view what) { return ReadVersion(in, what, kVersion).status(); }

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
std::uint64_t Counted(const TaskReport& report, const char* name) {
  const auto found = report.counters.find({"millrace", name});
  return found == report.counters.end() ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(found->second, 0));
}

}  // namespace

std::uint64_t MapOutputBytes(const TaskReport& report) {
  const bool combined = report.counters.contains({"millrace", "combine_output_records"});
  return Counted(report, combined ? "map_stored_bytes" : "map_output_bytes");
}

std::uint64_t RemoteReadRate(const TaskReport& report) {
  const std::uint64_t bytes = Counted(report, "bytes_read_remote"), micros = Counted(report, "remote_read_micros");
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

std::string EncodeJob(const JobRecord& record) {
  Encoder out;
  out.U8(kJobVersion);
  Put(out, record.request);
  for (const Micros time : {record.submitted, record.first_launch, record.ended})
    out.U64(static_cast<std::uint64_t>(time));
  out.U8(record.outcome ? 1 : 0);
  if (record.outcome) {
    out.U8(static_cast<std::uint8_t>(record.outcome->outcome));
    out.Text(record.outcome->reason);
  }
  Put(out, record.figures);
  out.Varint(record.left_out.size());
  for (const LeftOutMap& map : record.left_out) {
    out.Varint(map.map);
    out.Text(map.input);
  }
  out.Varint(record.left_out_records.size());
  for (const LeftOutRecord& left_out : record.left_out_records) {
    out.Varint(left_out.map);
    out.Text(left_out.path);
    out.Varint(left_out.offset);
  }
  Put(out, record.counters);
  return out.Take();
}

Result<JobRecord> DecodeJob(std::string_view key, std::string_view value) {
  const std::string what = "the database's record of a job";
  const auto number = ParseKeyNumber(key.substr(std::min<std::size_t>(2, key.size())));
  if (!number) return Corrupt(what + ": key not understood");
  Decoder in(value);
  MILLRACE_ASSIGN(const int version, ReadVersion(in, what, kJobVersion));
  JobRecord record;
  record.id = JobId{static_cast<std::uint32_t>(*number)};
  record.request = GetRequest(in, version);
  for (Micros* time : {&record.submitted, &record.first_launch, &record.ended}) *time = static_cast<Micros>(in.U64());
  if (in.U8() != 0) {
    JobOutcomeRecord outcome;
    outcome.outcome = static_cast<sched::JobOutcome>(in.U8());
    outcome.reason = in.Text();
    record.outcome = std::move(outcome);
  }
  record.figures = GetFigures(in, version);
  for (std::uint64_t n = version < 3 ? 0 : in.Varint(); n > 0 && !in.failed(); --n) {
    const auto map = static_cast<std::uint32_t>(in.Varint());
    record.left_out.push_back({map, std::string(in.Text())});
  }
  for (std::uint64_t n = version < 4 ? 0 : in.Varint(); n > 0 && !in.failed(); --n) {
    const auto map = static_cast<std::uint32_t>(in.Varint());
    std::string path(in.Text());
    record.left_out_records.push_back({map, std::move(path), in.Varint()});
  }
  record.counters = GetCounters(in);
  MILLRACE_TRY(in.Finish(what));
  return record;
}

namespace {

void Put(Encoder& out, const Split& s) {
  out.Text(s.path);
  out.Text(s.name);
  for (const std::uint64_t n : {s.file_length, s.offset, s.length, s.first_block_offset}) out.Varint(n);
  out.Varint(s.blocks.size());
  for (const dfs::Block& block : s.blocks) {
    out.U64(block.id);
    out.Varint(block.length);
    out.U32(block.crc);
  }
  out.Varint(s.input);
}

Split GetSplit(Decoder& in, int version) {
  Split s;
  s.path = in.Text();
  s.name = in.Text();
  for (std::uint64_t* field : {&s.file_length, &s.offset, &s.length, &s.first_block_offset}) *field = in.Varint();
  for (std::uint64_t blocks = in.Varint(); blocks > 0 && !in.failed(); --blocks) {
    const dfs::BlockId id = in.U64();
    const std::uint64_t length = in.Varint();
    s.blocks.push_back({id, length, in.U32()});
  }
  if (version >= 3) s.input = static_cast<std::uint32_t>(in.Varint());
  return s;
}

}  // namespace

std::string EncodeSplits(const std::vector<MapSplits>& maps) {
  Encoder out;
  out.U8(kSplitsVersion);
  out.Varint(maps.size());
  for (const MapSplits& splits : maps) {
    out.Varint(splits.size());
    for (const Split& split : splits) Put(out, split);
  }
  return out.Take();
}

Result<std::vector<MapSplits>> DecodeSplits(std::string_view value) {
  const std::string what = "the database's splits of a job";
  Decoder in(value);
  MILLRACE_ASSIGN(const int version, ReadVersion(in, what, kSplitsVersion));
  if (version < 2) return Corrupt(what + ": version " + std::to_string(version) + " is not read any more");
  std::vector<MapSplits> maps;
  for (std::uint64_t n = in.Varint(); n > 0 && !in.failed(); --n) {
    MapSplits splits;
    for (std::uint64_t of_map = in.Varint(); of_map > 0 && !in.failed(); --of_map)
      splits.push_back(GetSplit(in, version));
    if (splits.empty() && !in.failed()) return Corrupt(what + ": map " + std::to_string(maps.size()) + " has none");
    maps.push_back(std::move(splits));
  }
  MILLRACE_TRY(in.Finish(what));
  return maps;
}

std::string EncodeReport(const TaskReport& report) {
  Encoder out;
  out.U8(kVersion);
  for (const std::uint64_t n : {report.bytes_read, report.bytes_shuffled, report.bytes_written}) out.Varint(n);
  Put(out, report.counters);
  return out.Take();
}

Result<TaskReport> DecodeReport(std::string_view value) {
  const std::string what = "the database's report of a task";
  Decoder in(value);
  MILLRACE_TRY(CheckVersion(in, what));
  TaskReport report;
  for (std::uint64_t* n : {&report.bytes_read, &report.bytes_shuffled, &report.bytes_written}) *n = in.Varint();
  report.counters = GetCounters(in);
  MILLRACE_TRY(in.Finish(what));
  return report;
}

}  // namespace millrace::master
