#include "schedulers/sim/report.h"

#include <fcntl.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/options.h"
#include "schedulers/core/event_text.h"

namespace millrace::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLevels[] = {"node", "rack", "datacenter", "off"};
constexpr const char* kEnds[] = {"running", "succeeded", "failed", "killed", "lost", "preempted"};
constexpr double kMicros = 1e6;

// The shortest text that reads back as the number.
std::string Number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

// us as seconds, exact.
std::string Seconds(Time time) {
  char text[40];
  const Time size = time < 0 ? -time : time;
  std::snprintf(text, sizeof text, "%s%lld.%06lld", time < 0 ? "-" : "", static_cast<long long>(size / 1'000'000),
                static_cast<long long>(size % 1'000'000));
  return text;
}

// A field of CSV (RFC 4180).
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) (quoted += c == '"' ? "\"" : "") += c;
  return quoted + '"';
}

std::string Percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f%%", share * 100);
  return text;
}

std::string Rounded(double value, int places) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

void Line(std::string* csv, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) (*csv += i > 0 ? "," : "") += fields[i];
  *csv += '\n';
}

const char* Outcome(const JobRow& row) {
  if (!row.submitted) return "not submitted";
  if (!row.Ended()) return "unfinished";
  switch (*row.outcome) {
    case sched::JobOutcome::kSucceeded:
      return "succeeded";
    case sched::JobOutcome::kFailed:
      return "failed";
    case sched::JobOutcome::kKilled:
      return "killed";
  }
  return "";
}

Json ByLevel(const auto& values) {
  Json json;
  for (std::size_t level = 0; level < 4; ++level) json[kLevels[level]] = values[level];
  return json;
}

Json Groups(const std::map<std::string, GroupRow>& rows) {
  Json json = Json::object();
  for (const auto& [name, row] : rows) {
    json[name] = {{"jobs", row.jobs},
                  {"makespan", static_cast<double>(row.makespan) / kMicros},
                  {"mean_turnaround", row.mean_turnaround / kMicros}};
  }
  return json;
}

Json ToJson(const SimResult& result) {
  const Summary& s = result.summary;
  return {{"scheduler", result.scheduler},
          {"workload", result.workload},
          {"jobs", s.jobs},
          {"succeeded", s.succeeded},
          {"failed", s.failed},
          {"unfinished", s.unfinished},
          {"makespan", static_cast<double>(s.makespan) / kMicros},
          {"mean_turnaround", s.mean_turnaround / kMicros},
          {"mean_wait", s.mean_wait / kMicros},
          {"mean_slowdown", s.mean_slowdown},
          {"max_slowdown", s.max_slowdown},
          {"maps_at", ByLevel(s.maps_at)},
          {"map_bytes_at", ByLevel(s.bytes_at)},
          {"reduce_locality", s.reduce_locality},
          {"inter_rack_bytes", s.rack_bytes},
          {"inter_datacenter_bytes", s.datacenter_bytes},
          {"fairness", s.fairness},
          {"fairness_distance", s.distance},
          {"late", s.late},
          {"map_utilisation", s.utilisation[0]},
          {"reduce_utilisation", s.utilisation[1]},
          {"utilisation", s.utilisation_total},
          {"tasks_per_node", s.tasks_per_node},
          {"tasks_per_node_deviation", s.tasks_per_node_deviation},
          {"peak_space", s.peak_space},
          {"preempted", s.preempted},
          {"speculative", s.speculative},
          {"failed_attempts", s.failed_attempts},
          {"killed_attempts", s.killed_attempts},
          {"launches", s.launches},
          {"events", s.events}};
}

Status Write(const std::string& path, const std::string& text) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC));
  return WriteAll(file.get(), text, path);
}

}  // namespace

std::vector<std::vector<std::string>> ComparisonTable(const std::vector<SimResult>& results) {
  std::vector<std::vector<std::string>> rows{{"SCHEDULER", "JOBS", "MAKESPAN", "TURNAROUND", "SLOWDOWN", "NODE-LOCAL",
                                              "RACK-LOCAL", "INTER-RACK", "INTER-DC", "F", "d", "LATE", "BUSY",
                                              "TASKS/NODE", "PREEMPTED", "SPECULATIVE", "FAILED", "DECIDE/JOB"}};
  for (const SimResult& result : results) {
    const Summary& s = result.summary;
    const double per_job = s.jobs > 0 ? result.decision_seconds / s.jobs : 0;
    rows.push_back(
        {result.scheduler, std::to_string(s.succeeded) + " of " + std::to_string(s.jobs),
         Rounded(static_cast<double>(s.makespan) / kMicros, 1) + " s", Rounded(s.mean_turnaround / kMicros, 1) + " s",
         s.mean_slowdown > 0 ? Rounded(s.mean_slowdown, 2) : "-", Percent(s.maps_at[0]), Percent(s.maps_at[1]),
         FormatBytes(s.rack_bytes), FormatBytes(s.datacenter_bytes), Rounded(s.fairness, 3), Rounded(s.distance, 3),
         Percent(s.late), Percent(s.utilisation_total),
         Rounded(s.tasks_per_node, 1) + " +- " + Rounded(s.tasks_per_node_deviation, 1), std::to_string(s.preempted),
         std::to_string(s.speculative), std::to_string(s.failed_attempts), Rounded(per_job * 1e3, 3) + " ms"});
  }
  return rows;
}

std::string SummaryJson(const SimResult& result) {
  Json json = ToJson(result);
  json["pools"] = Groups(result.pools);
  json["classes"] = Groups(result.groups);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string JobsCsv(const SimResult& result) {
  std::string csv;
  Line(&csv, {"job",
              "name",
              "user",
              "pool",
              "class",
              "maps",
              "reduces",
              "outcome",
              "submit",
              "start",
              "maps_ended",
              "end",
              "turnaround",
              "wait",
              "slowdown",
              "deadline",
              "late",
              "maps_node",
              "maps_rack",
              "maps_datacenter",
              "maps_off",
              "bytes_node",
              "bytes_rack",
              "bytes_datacenter",
              "bytes_off",
              "shuffle_bytes",
              "shuffle_datacenter_bytes",
              "preempted",
              "speculative",
              "failed",
              "killed"});
  for (const JobRow& row : result.jobs) {
    const bool ended = row.Ended();
    std::vector<std::string> fields{std::to_string(row.job),
                                    Field(row.name),
                                    Field(row.user),
                                    Field(row.pool),
                                    Field(row.group),
                                    std::to_string(row.maps),
                                    std::to_string(row.reduces),
                                    Outcome(row),
                                    row.submitted ? Seconds(row.submit) : "",
                                    row.started ? Seconds(row.start) : "",
                                    row.maps_ended > 0 ? Seconds(row.maps_ended) : "",
                                    ended ? Seconds(row.end) : "",
                                    ended ? Seconds(row.Turnaround()) : "",
                                    ended ? Seconds(row.Wait()) : "",
                                    ended && row.alone > 0 ? Number(row.Slowdown()) : "",
                                    row.deadline > 0 ? Seconds(row.deadline) : "",
                                    row.Late() ? "1" : "0"};
    for (const std::uint32_t maps : row.maps_at) fields.push_back(std::to_string(maps));
    for (const std::uint64_t bytes : row.bytes_at) fields.push_back(std::to_string(bytes));
    fields.push_back(std::to_string(row.shuffle_bytes));
    fields.push_back(std::to_string(row.shuffle_datacenter_bytes));
    for (const std::uint32_t attempts : {row.preempted, row.speculative, row.failed, row.killed})
      fields.push_back(std::to_string(attempts));
    Line(&csv, fields);
  }
  return csv;
}

std::string TasksCsv(const SimResult& result) {
  std::string csv;
  Line(&csv, {"attempt", "node", "locality", "speculative", "start", "read", "compute", "end", "how"});
  for (const TaskRow& row : result.tasks) {
    const bool map = row.attempt.task.kind == sched::TaskKind::kMap;
    Line(&csv, {sched::FormatAttempt(row.attempt), std::to_string(row.node.value),
                map ? kLevels[static_cast<std::size_t>(row.locality)] : "", row.speculative ? "1" : "0",
                Seconds(row.start), row.read > 0 ? Seconds(row.read) : "", row.compute > 0 ? Seconds(row.compute) : "",
                row.how != AttemptEnd::kRunning ? Seconds(row.end) : "", kEnds[static_cast<std::size_t>(row.how)]});
  }
  return csv;
}

std::string SamplesCsv(const SimResult& result) {
  std::string csv;
  Line(&csv, {"time", "maps_running", "map_slots", "maps_pending", "reduces_running", "reduce_slots", "reduces_pending",
              "jobs", "active_jobs", "fairness", "fairness_distance"});
  for (const Sample& sample : result.samples) {
    std::vector<std::string> fields{Seconds(sample.time)};
    for (const std::size_t k : {0, 1}) {
      for (const std::uint32_t count : {sample.running[k], sample.capacity[k], sample.pending[k]})
        fields.push_back(std::to_string(count));
    }
    fields.insert(fields.end(), {std::to_string(sample.jobs), std::to_string(sample.active), Number(sample.fairness),
                                 Number(sample.distance)});
    Line(&csv, fields);
  }
  return csv;
}

std::string ComparisonCsv(const std::vector<SimResult>& results) {
  std::string csv;
  for (const SimResult& result : results) {
    const Json flat = ToJson(result).flatten();
    std::vector<std::string> names, values;
    for (const auto& [path, value] : flat.items()) {
      std::string name = path.substr(1);
      for (char& c : name) c = c == '/' ? '_' : c;
      names.push_back(name);
      values.push_back(value.is_string() ? Field(value.get<std::string>()) : value.dump());
    }
    if (csv.empty()) Line(&csv, names);
    Line(&csv, values);
  }
  return csv;
}

std::string ComparisonJson(const std::vector<SimResult>& results) {
  Json json = Json::array();
  for (const SimResult& result : results) json.push_back(ToJson(result));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status WriteReports(const std::string& directory, const std::vector<SimResult>& results) {
  MILLRACE_TRY(MakeDirectories(directory));
  std::string timing = "scheduler,decision_seconds,decision_seconds_per_job\n";
  for (const SimResult& result : results) {
    const std::string below = directory + "/" + result.scheduler;
    MILLRACE_TRY(MakeDirectories(below));
    MILLRACE_TRY(Write(below + "/summary.json", SummaryJson(result)));
    MILLRACE_TRY(Write(below + "/jobs.csv", JobsCsv(result)));
    MILLRACE_TRY(Write(below + "/samples.csv", SamplesCsv(result)));
    if (!result.tasks.empty()) MILLRACE_TRY(Write(below + "/tasks.csv", TasksCsv(result)));
    const double per_job = result.summary.jobs > 0 ? result.decision_seconds / result.summary.jobs : 0;
    Line(&timing, {Field(result.scheduler), Number(result.decision_seconds), Number(per_job)});
  }
  MILLRACE_TRY(Write(directory + "/comparison.csv", ComparisonCsv(results)));
  MILLRACE_TRY(Write(directory + "/comparison.json", ComparisonJson(results)));
  return Write(directory + "/timing.csv", timing);
}

}  // namespace millrace::sim
