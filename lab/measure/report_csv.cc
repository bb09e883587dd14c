// SPDX-License-Identifier: Apache-2.0
// Writes rows of jobs, attempts and moments as CSV.
#include <charconv>
#include <cstdio>
#include <string_view>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "lab/measure/csv.h"
#include "lab/measure/report.h"

namespace millrace::sim {
namespace csv {

std::string Number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

std::string Seconds(Micros time) {
  char text[40];
  const Micros size = time < 0 ? -time : time;
  std::snprintf(text, sizeof text, "%s%lld.%06lld", time < 0 ? "-" : "", static_cast<long long>(size / 1'000'000),
                static_cast<long long>(size % 1'000'000));
  return text;
}

std::string Field(const std::string& text) {
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  const std::string shown = (formula ? "'" : "") + text;
  if (shown.find_first_of(",\"\r\n") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char c : shown) (quoted += c == '"' ? "\"" : "") += c;
  return quoted + '"';
}

void Line(std::string* csv, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) (*csv += i > 0 ? "," : "") += fields[i];
  *csv += '\n';
}

}  // namespace csv

namespace {

// Adds the job's times. A figure that is not known is left empty.
void AddTimes(const JobRow& row, std::vector<std::string>* fields) {
  const auto add = [fields](bool known, const std::string& text) { fields->push_back(known ? text : ""); };
  const bool ended = row.Ended();
  add(row.submitted, csv::Seconds(row.submit));
  add(row.started, csv::Seconds(row.start));
  add(row.maps_ended > 0, csv::Seconds(row.maps_ended));
  add(ended, csv::Seconds(row.end));
  add(ended, csv::Seconds(row.Turnaround()));
  add(ended, csv::Seconds(row.Wait()));
  add(ended && row.alone > 0, csv::Number(row.Slowdown()));
  add(row.deadline > 0, csv::Seconds(row.deadline));
  add(true, row.Late() ? "1" : "0");
}

}  // namespace

std::vector<std::string> JobColumns() {
  return {"job",
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
          "killed",
          "evicted"};
}

std::vector<std::string> JobCells(const JobRow& row) {
  std::vector<std::string> fields{std::to_string(row.job),     csv::Field(row.name),  csv::Field(row.user),
                                  csv::Field(row.pool),        csv::Field(row.group), std::to_string(row.maps),
                                  std::to_string(row.reduces), OutcomeName(row)};
  AddTimes(row, &fields);
  for (const std::uint32_t maps : row.maps_at) fields.push_back(std::to_string(maps));
  for (const std::uint64_t bytes : row.bytes_at) fields.push_back(std::to_string(bytes));
  fields.push_back(std::to_string(row.shuffle_bytes));
  fields.push_back(std::to_string(row.shuffle_datacenter_bytes));
  for (const std::uint32_t attempts : {row.preempted, row.speculative, row.failed, row.killed, row.evicted})
    fields.push_back(std::to_string(attempts));
  return fields;
}

std::string JobsCsv(const SimResult& result) {
  std::string text;
  csv::Line(&text, JobColumns());
  for (const JobRow& row : result.jobs) csv::Line(&text, JobCells(row));
  return text;
}

std::string TasksCsv(const SimResult& result) {
  std::string text;
  csv::Line(&text, {"attempt", "node", "locality", "speculative", "start", "read", "compute", "end", "how"});
  for (const TaskRow& row : result.tasks) {
    const bool map = row.attempt.task.kind == TaskKind::kMap;
    csv::Line(&text, {ToText(row.attempt), std::to_string(row.node.value),
                      map ? csv::kLevels[static_cast<std::size_t>(row.locality)] : "", row.speculative ? "1" : "0",
                      csv::Seconds(row.start), row.read > 0 ? csv::Seconds(row.read) : "",
                      row.compute > 0 ? csv::Seconds(row.compute) : "",
                      row.how != AttemptEnd::kRunning ? csv::Seconds(row.end) : "", AttemptEndName(row.how)});
  }
  return text;
}

std::string SamplesCsv(const SimResult& result) {
  std::string text;
  csv::Line(&text, {"time", "maps_running", "map_slots", "maps_pending", "reduces_running", "reduce_slots",
                    "reduces_pending", "jobs", "active_jobs", "fairness", "fairness_distance"});
  for (const Sample& sample : result.samples) {
    std::vector<std::string> fields{csv::Seconds(sample.time)};
    for (const TaskKind kind : kTaskKinds) {
      for (const std::uint32_t count : {sample.running[kind], sample.capacity[kind], sample.pending[kind]})
        fields.push_back(std::to_string(count));
    }
    fields.insert(fields.end(), {std::to_string(sample.jobs), std::to_string(sample.active),
                                 csv::Number(sample.fairness), csv::Number(sample.distance)});
    csv::Line(&text, fields);
  }
  return text;
}

}  // namespace millrace::sim
