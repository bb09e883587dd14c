// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/report.h"

#include <fcntl.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "lab/measure/csv.h"

namespace millrace::sim {
namespace {

using Json = nlohmann::ordered_json;
using csv::Field;
using csv::kLevels;
using csv::Line;
using csv::Number;

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

// A figure is null, and "-" in a table, if its data was not measured.
Json OfAny(bool any, const Json& figure) { return any ? figure : Json(nullptr); }
std::string OfAny(bool any, const std::string& figure) { return any ? figure : "-"; }

Json ByLevel(const auto& values, bool any = true) {
  Json json;
  for (std::size_t level = 0; level < 4; ++level) json[kLevels[level]] = any ? Json(values[level]) : Json(nullptr);
  return json;
}

Json Groups(const std::map<std::string, GroupRow>& rows) {
  Json json = Json::object();
  for (const auto& [name, row] : rows) {
    json[name] = {{"jobs", row.jobs},
                  {"makespan", OfAny(row.ended > 0, static_cast<double>(row.makespan) / kMicrosPerSecond)},
                  {"mean_turnaround", OfAny(row.ended > 0, row.mean_turnaround / kMicrosPerSecond)}};
  }
  return json;
}

// A slowdown of 0 means that it was not computed.
Json KnownOrNull(double slowdown) { return OfAny(slowdown > 0, slowdown); }

bool HadSlots(const Summary& summary) {
  return summary.slot_time[TaskKind::kMap] + summary.slot_time[TaskKind::kReduce] > 0;
}
bool AnyEnded(const Summary& summary) { return summary.jobs > summary.unfinished; }

Json ToJson(const std::optional<ProgramConduct>& program) {
  if (!program) return nullptr;
  return {{"asked", program->asked}, {"refused", program->refused}, {"missed", program->missed}};
}

Json ToJson(const SimResult& result) {
  const Summary& s = result.summary;
  return {{"scheduler", result.scheduler},
          {"workload", result.workload},
          {"jobs", s.jobs},
          {"succeeded", s.succeeded},
          {"failed", s.failed},
          {"unfinished", s.unfinished},
          {"makespan", OfAny(AnyEnded(s), static_cast<double>(s.makespan) / kMicrosPerSecond)},
          {"mean_turnaround", OfAny(AnyEnded(s), s.mean_turnaround / kMicrosPerSecond)},
          {"turnaround_p50", OfAny(AnyEnded(s), s.turnaround_p50 / kMicrosPerSecond)},
          {"turnaround_p95", OfAny(AnyEnded(s), s.turnaround_p95 / kMicrosPerSecond)},
          {"turnaround_p99", OfAny(AnyEnded(s), s.turnaround_p99 / kMicrosPerSecond)},
          {"mean_wait", OfAny(AnyEnded(s), s.mean_wait / kMicrosPerSecond)},
          {"mean_slowdown", KnownOrNull(s.mean_slowdown)},
          {"max_slowdown", KnownOrNull(s.max_slowdown)},
          {"maps_at", ByLevel(s.maps_at, s.map_launches > 0)},
          {"map_bytes_at", ByLevel(s.bytes_at)},
          {"reduce_locality", OfAny(s.shuffled > 0, s.reduce_locality)},
          {"inter_rack_bytes", s.rack_bytes},
          {"inter_datacenter_bytes", s.datacenter_bytes},
          {"fairness", OfAny(s.active_samples > 0, s.fairness)},
          {"fairness_distance", OfAny(s.map_samples > 0, s.distance)},
          {"late", OfAny(s.with_deadline > 0, s.late)},
          {"map_utilisation", OfAny(s.slot_time[TaskKind::kMap] > 0, s.utilisation[TaskKind::kMap])},
          {"reduce_utilisation", OfAny(s.slot_time[TaskKind::kReduce] > 0, s.utilisation[TaskKind::kReduce])},
          {"utilisation", OfAny(HadSlots(s), s.utilisation_total)},
          {"tasks_per_node", s.tasks_per_node},
          {"tasks_per_node_deviation", s.tasks_per_node_deviation},
          {"peak_space", s.peak_space},
          {"preempted", s.preempted},
          {"speculative", s.speculative},
          {"failed_attempts", s.failed_attempts},
          {"killed_attempts", s.killed_attempts},
          {"evictions", s.evictions},
          {"launches", s.launches},
          {"events", s.events},
          {"program", ToJson(result.program)}};
}

std::string Time(double micros) { return Rounded(micros / kMicrosPerSecond, 1) + " s"; }
// Returns a time that is over the jobs that ended.
std::string OfJobs(const Summary& summary, double micros) { return OfAny(AnyEnded(summary), Time(micros)); }

struct Column {
  const char* name;
  bool narrow;  // is shown on a terminal of 80 columns, too
  std::string (*cell)(const SimResult& result);
};

constexpr Column kColumns[] = {
    {"SCHEDULER", true, [](const SimResult& result) { return result.scheduler; }},
    {"JOBS", true,
     [](const SimResult& result) {
       return std::to_string(result.summary.succeeded) + " of " + std::to_string(result.summary.jobs);
     }},
    {"MAKESPAN", true,
     [](const SimResult& result) { return OfJobs(result.summary, static_cast<double>(result.summary.makespan)); }},
    {"TURNAROUND", true,
     [](const SimResult& result) { return OfJobs(result.summary, result.summary.mean_turnaround); }},
    {"P50", false, [](const SimResult& result) { return OfJobs(result.summary, result.summary.turnaround_p50); }},
    {"P95", true, [](const SimResult& result) { return OfJobs(result.summary, result.summary.turnaround_p95); }},
    {"P99", false, [](const SimResult& result) { return OfJobs(result.summary, result.summary.turnaround_p99); }},
    {"SLOWDOWN", false,
     [](const SimResult& result) {
       const double slowdown = result.summary.mean_slowdown;
       return slowdown > 0 ? Rounded(slowdown, 2) : std::string("-");
     }},
    {"NODE-LOCAL", true,
     [](const SimResult& result) {
       return OfAny(result.summary.map_launches > 0, Percent(result.summary.maps_at[0]));
     }},
    {"RACK-LOCAL", false,
     [](const SimResult& result) {
       return OfAny(result.summary.map_launches > 0, Percent(result.summary.maps_at[1]));
     }},
    {"INTER-RACK", false, [](const SimResult& result) { return FormatBytes(result.summary.rack_bytes); }},
    {"INTER-DC", false, [](const SimResult& result) { return FormatBytes(result.summary.datacenter_bytes); }},
    {"F", true,
     [](const SimResult& result) {
       return OfAny(result.summary.active_samples > 0, Rounded(result.summary.fairness, 3));
     }},
    {"d", false,
     [](const SimResult& result) {
       return OfAny(result.summary.map_samples > 0, Rounded(result.summary.distance, 3));
     }},
    {"LATE", false,
     [](const SimResult& result) { return OfAny(result.summary.with_deadline > 0, Percent(result.summary.late)); }},
    {"BUSY", true,
     [](const SimResult& result) {
       return OfAny(HadSlots(result.summary), Percent(result.summary.utilisation_total));
     }},
    {"TASKS/NODE", false,
     [](const SimResult& result) {
       return Rounded(result.summary.tasks_per_node, 1) + " +- " + Rounded(result.summary.tasks_per_node_deviation, 1);
     }},
    {"PREEMPTED", false, [](const SimResult& result) { return std::to_string(result.summary.preempted); }},
    {"EVICTED", false, [](const SimResult& result) { return std::to_string(result.summary.evictions); }},
    {"SPECULATIVE", false, [](const SimResult& result) { return std::to_string(result.summary.speculative); }},
    {"FAILED", false, [](const SimResult& result) { return std::to_string(result.summary.failed_attempts); }},
    {"DECIDE/JOB", false,
     [](const SimResult& result) {
       const double jobs = result.summary.jobs;
       return Rounded(jobs > 0 ? result.decision_seconds / jobs * 1e3 : 0, 3) + " ms";
     }},
};

Status Write(const std::string& path, const std::string& text) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC));
  return WriteAll(file.get(), text, path);
}

}  // namespace

std::vector<std::vector<std::string>> ComparisonTable(const std::vector<SimResult>& results, bool wide) {
  std::vector<std::vector<std::string>> rows{std::vector<std::string>{}};
  for (const Column& column : kColumns) {
    if (wide || column.narrow) rows[0].emplace_back(column.name);
  }
  for (const SimResult& result : results) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (const Column& column : kColumns) {
      if (wide || column.narrow) cells.push_back(column.cell(result));
    }
  }
  return rows;
}

std::string IdleWarning(double utilisation) {
  constexpr double kIdle = 0.05;
  if (utilisation >= kIdle) return {};
  return "only " + Percent(utilisation) +
         " of the slots were in use, so tasks hardly wait for each other and schedulers hardly differ; take fewer "
         "nodes, "
         "or more jobs in less time";
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
      values.push_back(value.is_string() ? Field(value.get<std::string>()) : value.is_null() ? "" : value.dump());
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

Status CheckReportDirectory(const std::string& directory, const std::vector<std::string>& schedulers) {
  std::set<std::string> replaced(schedulers.begin(), schedulers.end());
  replaced.insert({"comparison.csv", "comparison.json", "timing.csv"});
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (names.status().code() == StatusCode::kNotFound) return Status::Ok();
  MILLRACE_TRY(names.status());
  for (const std::string& name : *names) {
    if (replaced.contains(name)) continue;
    return Invalid(directory + " holds " + Quote(name) +
                   " of something else, and reports must not be mixed; give another directory, or remove this one");
  }
  return Status::Ok();
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
    MILLRACE_TRY(RemoveTree(below + "/tasks.csv"));  // an earlier run may have left one
    if (!result.tasks.empty()) MILLRACE_TRY(Write(below + "/tasks.csv", TasksCsv(result)));
    const double per_job = result.summary.jobs > 0 ? result.decision_seconds / result.summary.jobs : 0;
    Line(&timing, {Field(result.scheduler), Number(result.decision_seconds), Number(per_job)});
  }
  MILLRACE_TRY(Write(directory + "/comparison.csv", ComparisonCsv(results)));
  MILLRACE_TRY(Write(directory + "/comparison.json", ComparisonJson(results)));
  return Write(directory + "/timing.csv", timing);
}

}  // namespace millrace::sim
