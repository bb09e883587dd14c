// SPDX-License-Identifier: Apache-2.0
// The forms of a Beside: JSON, CSV, a table, lines.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "lab/beside/beside.h"
#include "lab/measure/csv.h"
#include "lab/report/numbers.h"

namespace millrace::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPercent = 100;

std::string Percent(double share) { return Formatted("%+.1f%%", share * kPercent); }

Json CostJson(const TaskCost& cost) {
  if (cost.attempts == 0) return nullptr;
  return {{"attempts", cost.attempts},
          {"latency", Exact(cost.latency / kMicrosPerSecond)},
          {"scale", Exact(cost.scale)},
          {"cpu", cost.cpu >= 0 ? Exact(cost.cpu / kMicrosPerSecond) : Json()}};
}

Json RateJson(double rate) { return rate > 0 ? Exact(rate) : Json(); }

Json ParametersJson(const Beside& beside) {
  Json classes = Json::array();
  for (std::size_t i = 0; i < beside.classes.size(); ++i) {
    const ClassCost& cost = beside.costs.classes[i];
    classes.push_back({{"name", beside.classes[i]},
                       {"map", CostJson(cost.of[TaskKind::kMap])},
                       {"reduce", CostJson(cost.of[TaskKind::kReduce])},
                       {"output_scale", Exact(cost.output_scale)}});
  }
  return {{"runs", beside.measured_runs},
          {"second", beside.second},
          {"classes", std::move(classes)},
          {"reads", beside.costs.reads},
          {"node_bandwidth", RateJson(beside.costs.node_bandwidth)},
          {"rack_bandwidth", RateJson(beside.costs.rack_bandwidth)},
          {"datacenter_bandwidth", RateJson(beside.costs.datacenter_bandwidth)},
          {"lateness", Exact(beside.costs.lateness / kMicrosPerSecond)},
          {"follow_delay", Exact(beside.costs.follow_delay / kMicrosPerSecond)},
          {"process_start", Exact(beside.costs.process_start / kMicrosPerSecond)},
          {"task_latency", Exact(beside.costs.task_latency / kMicrosPerSecond)},
          {"cores_share", Exact(beside.costs.cores_share)},
          {"links_not_there", beside.links_not_there}};
}

Json ErrorJson(const BesideRow& row) {
  if (row.interval) return ToJson(*row.interval);
  if (!row.error) return nullptr;
  return {{"value", Exact(*row.error)}, {"low", nullptr}, {"high", nullptr}};
}

// Returns a map of the live means of a metric by scheduler; empty if it was left out.
std::map<std::uint32_t, double> LiveMeans(const Beside& beside, std::string_view key) {
  std::map<std::uint32_t, double> means;
  for (const BesideMetric& of : beside.metrics) {
    if (of.metric->key != key) continue;
    for (const BesideRow& row : of.rows) means[row.scheduler] = row.live;
  }
  return means;
}

// The links of one level: those of datacenters or those of racks.
struct Links {
  std::string_view metric;   // of the bytes that cross them
  double bandwidth = 0;      // bytes/s of one, each way; 0: no limit
  std::uint32_t number = 1;  // each byte leaves by one of them and enters by another
  std::string where;
};

// Messages, and the output of reduces, wait behind other data on a busy link. This wait is not simulated but counted as
// a cost of the tasks, which is wrong for a scheduler that loads the links more or less than the baseline.
std::vector<std::string> LinkWarnings(const Beside& beside, const std::vector<std::string>& schedulers,
                                      const Design& design, const Links& links) {
  constexpr double kBusy = 0.25, kOther = 1.5;
  const auto bytes = LiveMeans(beside, links.metric), makespans = LiveMeans(beside, "makespan");
  const auto filled = [&](std::uint32_t scheduler) {
    const auto of = bytes.find(scheduler), during = makespans.find(scheduler);
    if (of == bytes.end() || during == makespans.end() || during->second <= 0 || links.bandwidth <= 0) return 0.0;
    return of->second / (links.number * links.bandwidth * during->second);
  };
  std::vector<std::string> warnings;
  const double here = filled(design.baseline);
  for (const auto& [scheduler, moved] : bytes) {
    const double there = filled(scheduler);
    const bool less = there * kOther < here;
    if (std::max(here, there) < kBusy || (!less && here * kOther > there)) continue;
    warnings.push_back("the bytes that " + schedulers[scheduler] + " moves " + links.where + " take " +
                       Formatted("%.0f%%", there * kPercent) + " of what the links carry, those of " +
                       schedulers[design.baseline] + ", under which the costs were measured, " +
                       Formatted("%.0f%%", here * kPercent) +
                       ": the wait of messages and of reduces' output behind other data on a busy link is not " +
                       "simulated but counted as a cost of the tasks, so simulations of " + schedulers[scheduler] +
                       " may be too " + (less ? "slow" : "fast"));
  }
  return warnings;
}

}  // namespace

Json BesideJson(const Beside& beside) {
  Json metrics = Json::object(), tau = Json::object();
  for (const BesideMetric& of : beside.metrics) {
    Json rows = Json::array();
    for (const BesideRow& row : of.rows) {
      rows.push_back({{"scheduler", row.scheduler},
                      {"runs", row.runs},
                      {"live", Exact(row.live)},
                      {"simulated", Exact(row.simulated)},
                      {"error", ErrorJson(row)}});
    }
    metrics[std::string(of.metric->key)] = std::move(rows);
    tau[std::string(of.metric->key)] = OrNull(of.tau, Exact);
  }
  return {{"parameters", ParametersJson(beside)}, {"metrics", std::move(metrics)}, {"tau", std::move(tau)}};
}

std::string BesideCsv(const Beside& beside, const std::vector<std::string>& schedulers) {
  using sim::csv::Number;
  std::string text;
  sim::csv::Line(
      &text, {"scheduler", "metric", "unit", "runs", "live", "simulated", "error", "error_low", "error_high", "tau"});
  for (const BesideMetric& of : beside.metrics) {
    for (const BesideRow& row : of.rows) {
      sim::csv::Line(
          &text, {sim::csv::Field(schedulers[row.scheduler]), std::string(of.metric->key), std::string(of.metric->unit),
                  std::to_string(row.runs), Number(row.live), Number(row.simulated),
                  row.error ? Number(*row.error) : "", row.interval ? Number(row.interval->low) : "",
                  row.interval ? Number(row.interval->high) : "", of.tau ? Number(*of.tau) : ""});
    }
  }
  return text;
}

std::vector<std::vector<std::string>> BesideTable(const Beside& beside, const Subject& subject, bool wide) {
  const auto shown = [&](std::string_view key) {
    return wide || key == "node_local" || key == "rack_bytes" ||
           std::ranges::find(subject.headline, key) != subject.headline.end();
  };
  std::vector<std::vector<std::string>> rows{{"METRIC", "SCHEDULER", "LIVE", "SIMULATED", "ERROR", "95% INTERVAL"}};
  for (const BesideMetric& of : beside.metrics) {
    if (!shown(of.metric->key)) continue;
    for (const BesideRow& row : of.rows) {
      rows.push_back({std::string(of.metric->key), subject.schedulers[row.scheduler].label,
                      FormatValue(*of.metric, row.live), FormatValue(*of.metric, row.simulated),
                      row.error ? Percent(*row.error) : "-",
                      row.interval ? Percent(row.interval->low) + " to " + Percent(row.interval->high) : "-"});
    }
  }
  return rows;
}

std::vector<std::string> BesideWarnings(const Beside& beside, const std::vector<std::string>& schedulers,
                                        const Design& design) {
  constexpr double kLeast = 0.1, kMost = 10;
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < beside.classes.size(); ++i) {
    for (const TaskKind kind : kTaskKinds) {
      const TaskCost& cost = beside.costs.classes[i].of[kind];
      if (!cost.scaled || beside.untimed[i][kind] || (cost.scale >= kLeast && cost.scale <= kMost)) continue;
      warnings.push_back(std::string(kind == TaskKind::kMap ? "maps" : "reduces") + " of " + beside.classes[i] +
                         " are simulated with " + Formatted("%.2g", cost.scale) +
                         " times what the workload file says that they take: its times are not those of this cluster, "
                         "or something that is simulated beside them takes their time");
    }
  }
  for (const Links& links :
       {Links{"datacenter_bytes", beside.costs.datacenter_bandwidth, beside.datacenters, "between datacenters"},
        Links{"rack_bytes", beside.costs.rack_bandwidth, beside.racks, "between racks"}}) {
    for (std::string& warning : LinkWarnings(beside, schedulers, design, links)) warnings.push_back(std::move(warning));
  }
  return warnings;
}

std::vector<std::string> BesideLines(const Beside& beside, const std::vector<std::string>& schedulers,
                                     const Design& design) {
  std::string tau;
  for (const BesideMetric& of : beside.metrics) {
    if (of.tau) tau += (tau.empty() ? "" : ", ") + std::string(of.metric->key) + Formatted(" %.2f", *of.tau);
  }
  const std::string runs = std::to_string(beside.measured_runs) + (beside.second ? " second" : "") + " run" +
                           (beside.measured_runs == 1 ? "" : "s") + " of " + schedulers[design.baseline];
  std::vector<std::string> lines{"simulated with the costs of " + runs +
                                 (beside.second ? ", which are not among those compared" : ", left out here")};
  if (!beside.links_not_there.empty()) {
    std::string names;
    for (const std::string& name : beside.links_not_there) names += (names.empty() ? "" : ", ") + name;
    lines.push_back("not simulated: " + names + " of the workload file, since a local cluster has no such links");
  }
  if (!tau.empty()) lines.push_back("rank agreement (Kendall's tau): " + tau);
  return lines;
}

}  // namespace millrace::compare
