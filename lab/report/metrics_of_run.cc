// SPDX-License-Identifier: Apache-2.0
#include "lab/report/metrics_of_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/ids/job.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::compare {
namespace {

using sim::Better;
using Value = std::optional<double>;

bool AnyDeadline(const sim::SimResult& result) {
  return std::any_of(result.jobs.begin(), result.jobs.end(), [](const sim::JobRow& job) { return job.deadline > 0; });
}

bool AnyMaps(const sim::SimResult& result) {
  return std::any_of(result.jobs.begin(), result.jobs.end(), [](const sim::JobRow& job) { return job.maps > 0; });
}

// Returns nothing if no job has ended.
Value OfEnded(const RunOutcome& run, double value) {
  const sim::Summary& summary = run.result.summary;
  return summary.succeeded + summary.failed > 0 ? Value(value) : std::nullopt;
}

// Returns the mean of `of` over the jobs that ended and have a value of it; nothing if there are none.
Value MeanOverEnded(const RunOutcome& run, Value (*of)(const sim::JobRow& row)) {
  double sum = 0;
  std::uint32_t jobs = 0;
  for (const sim::JobRow& row : run.result.jobs) {
    const Value value = row.Ended() ? of(row) : std::nullopt;
    if (value) sum += *value, ++jobs;
  }
  return jobs > 0 ? Value(sum / jobs) : std::nullopt;
}

Value LongestWait(const RunOutcome& run) {
  Value longest;
  for (const sim::JobRow& row : run.result.jobs) {
    if (row.Ended()) longest = std::max(longest.value_or(0), static_cast<double>(row.Wait()) / kMicrosPerSecond);
  }
  return longest;
}

// Feitelson's bound: the slowdown of a job that is shorter says little.
constexpr Micros kShortJob = 10 * kSecond;

Value BoundedSlowdown(const sim::JobRow& row) {
  if (row.alone <= 0) return std::nullopt;
  return std::max(1.0, static_cast<double>(row.Turnaround()) / static_cast<double>(std::max(row.alone, kShortJob)));
}

Value ErrorOfForetold(const sim::JobRow& row) {
  if (!row.foretold || row.outcome != sched::JobOutcome::kSucceeded) return std::nullopt;
  const auto said = static_cast<double>(*row.foretold), happened = static_cast<double>(row.Turnaround());
  return std::abs(said - happened) / (happened + kMicrosPerSecond);
}

// Returns the rows of the jobs of a group ("alert", "pool=ads").
std::vector<sim::JobRow> RowsOf(const std::vector<sim::JobRow>& jobs, std::string_view group) {
  std::vector<sim::JobRow> rows;
  for (const auto& [kind, name] : kGroupKinds) {
    const bool named = group.starts_with(kind) && group.substr(kind.size()).starts_with('=');
    const std::string_view wanted = named ? group.substr(kind.size() + 1) : group;
    const auto takes = [&, name = name](const sim::JobRow& row) { return row.*name == wanted; };
    rows.clear();
    std::ranges::copy_if(jobs, std::back_inserter(rows), takes);
    if (named || !rows.empty()) break;
  }
  return rows;
}

// Returns the metric over the jobs of a group.
Value OfGroup(const Metric& metric, std::string_view group, const RunOutcome& run) {
  RunOutcome part;
  part.result.jobs = RowsOf(run.result.jobs, group);
  if (part.result.jobs.empty()) return std::nullopt;
  sim::Summarise(&part.result);
  return metric.of(part);
}

// A metric of a group with what its views point to.
struct GroupMetric {
  std::string key, name, says;
  Metric metric;
};

const Metric* FindGroupMetric(const Metric& of_all, std::string_view group, std::string_view key) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<GroupMetric>, std::less<>> metrics;  // they stay where they are
  const std::lock_guard lock(mutex);
  const auto known = metrics.find(key);
  if (known != metrics.end()) return &known->second->metric;
  auto made = std::make_unique<GroupMetric>();
  made->key = key, made->name = std::string(of_all.name) + " of " + Printable(group);
  made->says = std::string(of_all.says) + " Of the jobs of " + Printable(group) + " alone.";
  made->metric = of_all;
  made->metric.key = made->key, made->metric.name = made->name, made->metric.says = made->says;
  made->metric.of = [&of_all, of = std::string(group)](const RunOutcome& run) { return OfGroup(of_all, of, run); };
  return &metrics.emplace(std::string(key), std::move(made)).first->second->metric;
}

constexpr bool kOfEnded = true, kByMedian = true, kOfJobs = true;

const Metric kMetrics[] = {
    {"turnaround", "mean turnaround", "s", Better::kLower,
     "The time from the submission of a job to its end, on average over the jobs that ended.",
     [](const RunOutcome& run) { return OfEnded(run, run.result.summary.mean_turnaround / kMicrosPerSecond); },
     kOfEnded, !kByMedian, kOfJobs},
    {"makespan", "makespan", "s", Better::kLower, "The time from the first submission to the end of the last job.",
     [](const RunOutcome& run) {
       return OfEnded(run, static_cast<double>(run.result.summary.makespan) / kMicrosPerSecond);
     },
     kOfEnded, !kByMedian, kOfJobs},
    {"slowdown", "mean slowdown", "ratio", Better::kLower,
     "The turnaround of a job over what it would have been with the cluster to itself, on average over the jobs.",
     [](const RunOutcome& run) {
       const double slowdown = run.result.summary.mean_slowdown;
       return slowdown > 0 ? Value(slowdown) : std::nullopt;
     },
     kOfEnded, !kByMedian, kOfJobs},
    {"bounded_slowdown", "bounded slowdown", "ratio", Better::kLower,
     "The same, where a job alone counts as at least 10 s, and none as faster than alone (Feitelson).",
     [](const RunOutcome& run) { return MeanOverEnded(run, BoundedSlowdown); }, kOfEnded, !kByMedian, kOfJobs},
    {"wait", "mean wait", "s", Better::kLower,
     "The time from the submission of a job to the launch of its first task, on average over the jobs that ended.",
     [](const RunOutcome& run) { return OfEnded(run, run.result.summary.mean_wait / kMicrosPerSecond); }, kOfEnded,
     !kByMedian, kOfJobs},
    {"turnaround_p95", "95th percentile of turnaround", "s", Better::kLower,
     "The turnaround that 95 of 100 jobs do not exceed.",
     [](const RunOutcome& run) { return OfEnded(run, run.result.summary.turnaround_p95 / kMicrosPerSecond); }, kOfEnded,
     !kByMedian, kOfJobs},
    {"turnaround_p99", "99th percentile of turnaround", "s", Better::kLower,
     "The turnaround that 99 of 100 jobs do not exceed.",
     [](const RunOutcome& run) { return OfEnded(run, run.result.summary.turnaround_p99 / kMicrosPerSecond); }, kOfEnded,
     !kByMedian, kOfJobs},
    {"longest_wait", "longest wait", "s", Better::kLower,
     "The longest time from the submission of a job to the launch of its first task.", LongestWait, kOfEnded,
     !kByMedian, kOfJobs},
    {"foretold", "error of foretold ends", "ratio", Better::kLower,
     "How far the turnaround that was foretold when a job came was off, over the turnaround, on average over the jobs.",
     [](const RunOutcome& run) { return MeanOverEnded(run, ErrorOfForetold); }, kOfEnded, !kByMedian, kOfJobs},
    {"fairness", "fairness F", "ratio", Better::kHigher,
     "How evenly the active jobs have used slots since they started (Jain's index, FRESH), on average over time; 1 if "
     "all alike.",
     [](const RunOutcome& run) { return Value(run.result.summary.fairness); }},
    {"distance", "fairness distance d", "ratio", Better::kLower,
     "How far the running maps of the pools are from the pools' weights (Guo et al.), on average over time; 0 if as "
     "their weights say.",
     [](const RunOutcome& run) { return Value(run.result.summary.distance); }},
    {"late", "late jobs", "share", Better::kLower, "The share of the jobs with a deadline that missed it.",
     [](const RunOutcome& run) { return AnyDeadline(run.result) ? Value(run.result.summary.late) : std::nullopt; },
     kOfEnded, !kByMedian, kOfJobs},
    {"node_local", "node-local maps", "share", Better::kHigher,
     "The share of the maps' launches on a node that holds their input.",
     [](const RunOutcome& run) { return AnyMaps(run.result) ? Value(run.result.summary.maps_at[0]) : std::nullopt; },
     !kOfEnded, !kByMedian, kOfJobs},
    {"rack_bytes", "bytes between racks", "bytes", Better::kLower,
     "The bytes of maps' input and of the shuffle that crossed racks or datacenters.",
     [](const RunOutcome& run) { return Value(static_cast<double>(run.result.summary.rack_bytes)); }, kOfEnded},
    {"datacenter_bytes", "bytes between datacenters", "bytes", Better::kLower,
     "The bytes of maps' input and of the shuffle that crossed datacenters (INT, Lee et al.).",
     [](const RunOutcome& run) { return Value(static_cast<double>(run.result.summary.datacenter_bytes)); }, kOfEnded},
    {"utilisation", "utilisation", "share", Better::kHigher,
     "The slot time in use over the slot time that there was until the last job ended.",
     [](const RunOutcome& run) { return Value(run.result.summary.utilisation_total); }},
    {"preempted", "preempted attempts", "count", Better::kLower,
     "The attempts of tasks that the scheduler had killed so that others got their slots.",
     [](const RunOutcome& run) { return Value(run.result.summary.preempted); }, kOfEnded, !kByMedian, kOfJobs},
    {"deciding", "deciding, an event", "s", Better::kLower,
     "The time that the scheduler took to decide, on average over the events of the run; it differs from run to run.",
     [](const RunOutcome& run) {
       const auto events = static_cast<double>(run.result.summary.events);
       return events > 0 ? Value(run.result.decision_seconds / events) : std::nullopt;
     },
     !kOfEnded, kByMedian},
};

}  // namespace

std::span<const Metric> Metrics() { return kMetrics; }

const Metric* FindMetric(std::string_view key) {
  const std::size_t slash = key.find('/');
  const auto* at = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                [&](const Metric& m) { return m.key == key.substr(0, slash); });
  if (at == std::end(kMetrics)) return nullptr;
  if (slash == std::string_view::npos) return at;
  const std::string_view group = GroupOf(key);
  return at->of_jobs && !group.empty() ? FindGroupMetric(*at, group, key) : nullptr;
}

std::string_view GroupOf(std::string_view key) {
  const std::size_t slash = key.find('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(slash + 1);
}

bool AnyInGroup(const sim::Workload& workload, std::string_view group) {
  std::vector<sim::JobRow> rows;
  for (const sim::SimJob& job : workload.jobs) {
    sim::JobRow& row = rows.emplace_back();
    row.group = job.group, row.pool = PoolOf(job.pool, job.user), row.user = job.user;
  }
  return !RowsOf(rows, group).empty();
}

std::vector<std::string> MetricKeys() {
  std::vector<std::string> keys;
  for (const Metric& metric : kMetrics) keys.emplace_back(metric.key);
  return keys;
}

std::string FormatValue(const Metric& metric, double value) {
  constexpr double kPercent = 100, kLeastMillis = 1e-3, kLeastTenths = 10;
  if (metric.unit == "share") return Formatted("%.1f%%", value * kPercent);
  if (metric.unit == "bytes") return FormatBytes(static_cast<std::uint64_t>(std::llround(std::max(value, 0.0))));
  if (metric.unit == "count") return Formatted("%.1f", value);
  if (metric.unit == "ratio") return Formatted("%.3f", value);
  if (value != 0 && std::abs(value) < kLeastMillis) return Formatted("%.2f us", value * kMicrosPerSecond);
  return Formatted(std::abs(value) < kLeastTenths ? "%.3f s" : "%.1f s", value);
}

}  // namespace millrace::compare
