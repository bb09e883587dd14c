#include "schedulers/sim/metrics/report.h"

#include <fcntl.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "schedulers/sim/metrics/csv.h"

namespace millrace::sim {
namespace {

using Json = nlohmann::ordered_json;
using csv::Field;
using csv::kLevels;
using csv::Line;
using csv::Number;

constexpr double kMicros = 1e6;

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
          {"map_utilisation", s.utilisation[TaskKind::kMap]},
          {"reduce_utilisation", s.utilisation[TaskKind::kReduce]},
          {"utilisation", s.utilisation_total},
          {"tasks_per_node", s.tasks_per_node},
          {"tasks_per_node_deviation", s.tasks_per_node_deviation},
          {"peak_space", s.peak_space},
          {"preempted", s.preempted},
          {"speculative", s.speculative},
          {"failed_attempts", s.failed_attempts},
          {"killed_attempts", s.killed_attempts},
          {"evictions", s.evictions},
          {"launches", s.launches},
          {"events", s.events}};
}

Status Write(const std::string& path, const std::string& text) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC));
  return WriteAll(file.get(), text, path);
}

}  // namespace

std::vector<std::vector<std::string>> ComparisonTable(const std::vector<SimResult>& results) {
  std::vector<std::vector<std::string>> rows{
      {"SCHEDULER", "JOBS", "MAKESPAN", "TURNAROUND", "SLOWDOWN", "NODE-LOCAL", "RACK-LOCAL", "INTER-RACK", "INTER-DC",
       "F", "d", "LATE", "BUSY", "TASKS/NODE", "PREEMPTED", "EVICTED", "SPECULATIVE", "FAILED", "DECIDE/JOB"}};
  for (const SimResult& result : results) {
    const Summary& s = result.summary;
    const double per_job = s.jobs > 0 ? result.decision_seconds / s.jobs : 0;
    rows.push_back({result.scheduler, std::to_string(s.succeeded) + " of " + std::to_string(s.jobs),
                    Rounded(static_cast<double>(s.makespan) / kMicros, 1) + " s",
                    Rounded(s.mean_turnaround / kMicros, 1) + " s",
                    s.mean_slowdown > 0 ? Rounded(s.mean_slowdown, 2) : "-", Percent(s.maps_at[0]),
                    Percent(s.maps_at[1]), FormatBytes(s.rack_bytes), FormatBytes(s.datacenter_bytes),
                    Rounded(s.fairness, 3), Rounded(s.distance, 3), Percent(s.late), Percent(s.utilisation_total),
                    Rounded(s.tasks_per_node, 1) + " +- " + Rounded(s.tasks_per_node_deviation, 1),
                    std::to_string(s.preempted), std::to_string(s.evictions), std::to_string(s.speculative),
                    std::to_string(s.failed_attempts), Rounded(per_job * 1e3, 3) + " ms"});
  }
  return rows;
}

std::string SummaryJson(const SimResult& result) {
  Json json = ToJson(result);
  json["pools"] = Groups(result.pools);
  json["classes"] = Groups(result.groups);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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
