// SPDX-License-Identifier: Apache-2.0
#include "lab/study/figures.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace millrace::sim::experiments {
namespace {

using compare::Metric;
using compare::RunOutcome;
using Value = std::optional<double>;

Value OfMaps(const RunOutcome& run, double share) {
  return run.result.summary.map_launches > 0 ? Value(share) : std::nullopt;
}

// Returns the gains of the jobs that ended under both schedulers.
std::vector<double> GainsOf(const RunOutcome& run) {
  std::vector<double> gains;
  for (const JobRow& job : run.result.jobs) {
    if (job.Ended() && job.alone > 0 && job.Turnaround() > 0)
      gains.push_back(static_cast<double>(job.alone) / static_cast<double>(job.Turnaround()));
  }
  return gains;
}

Value MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? std::nullopt : Value(sum / static_cast<double>(values.size()));
}

// Returns the numbers of maps that succeeded on each node.
std::vector<double> MapsByNode(const RunOutcome& run) {
  std::map<std::uint32_t, double> by_node;
  for (const TaskRow& task : run.result.tasks) {
    if (task.attempt.task.kind == TaskKind::kMap && task.how == AttemptEnd::kSucceeded) ++by_node[task.node.value];
  }
  std::vector<double> maps;
  for (const auto& [node, count] : by_node) maps.push_back(count);
  // All launches over those of a node: the number of nodes, of which some may have run no map.
  const Summary& summary = run.result.summary;
  const double nodes = summary.tasks_per_node > 0 ? static_cast<double>(summary.launches) / summary.tasks_per_node : 0;
  maps.resize(std::max(maps.size(), static_cast<std::size_t>(std::llround(nodes))));
  return maps;
}

const Metric kOfPapers[] = {
    {"gain", "gain over the baseline", "ratio", Better::kHigher,
     "How many times as long a job took under the baseline, on average over the jobs.",
     [](const RunOutcome& run) { return MeanOf(GainsOf(run)); }},
    {"most_gain", "largest gain over the baseline", "ratio", Better::kHigher,
     "How many times as long under the baseline the job took that gains the most.",
     [](const RunOutcome& run) {
       const std::vector<double> gains = GainsOf(run);
       return gains.empty() ? std::nullopt : Value(*std::max_element(gains.begin(), gains.end()));
     }},
    {"datacenter_local", "maps in their datacenter", "share", Better::kHigher,
     "The share of the maps' launches on a node that holds their input, in its rack, or in its datacenter.",
     [](const RunOutcome& run) { return OfMaps(run, 1 - run.result.summary.maps_at[3]); }},
    {"fairness_waiting", "fairness F with waiting jobs", "ratio", Better::kHigher,
     "As fairness; but a job that waits for its first task counts, too, as one that has used nothing.",
     [](const RunOutcome& run) {
       std::vector<double> values;
       for (const Sample& sample : run.result.samples) {
         // A job without use adds nothing to the sums of Jain's index, and one to the number of jobs.
         if (sample.jobs > 0) values.push_back(sample.fairness * sample.active / sample.jobs);
       }
       return MeanOf(values);
     }},
    {"maps_per_node", "maps a node", "count", Better::kHigher, "The number of maps that succeeded, over the nodes.",
     [](const RunOutcome& run) { return MeanOf(MapsByNode(run)); }},
    {"maps_per_node_deviation", "deviation of maps a node", "count", Better::kLower,
     "The standard deviation, over the nodes, of the number of maps that succeeded there.",
     [](const RunOutcome& run) {
       const std::vector<double> maps = MapsByNode(run);
       const Value mean = MeanOf(maps);
       if (!mean) return mean;
       double squares = 0;
       for (const double of_node : maps) squares += (of_node - *mean) * (of_node - *mean);
       return Value(std::sqrt(squares / static_cast<double>(maps.size())));
     }},
    {"rack_local", "rack-local maps", "share", Better::kHigher,
     "The share of the maps' launches on a node that holds their input, or in its rack.",
     [](const RunOutcome& run) { return OfMaps(run, run.result.summary.maps_at[0] + run.result.summary.maps_at[1]); }},
    {"off_datacenter", "maps off their datacenter", "share", Better::kLower,
     "The share of the maps' launches in another datacenter than all of their input.",
     [](const RunOutcome& run) { return OfMaps(run, run.result.summary.maps_at[3]); }},
    {"reduce_local", "reduce data of the datacenter", "share", Better::kHigher,
     "The share of the bytes that reduces fetched from their own datacenter.",
     [](const RunOutcome& run) {
       return run.result.summary.shuffled > 0 ? Value(run.result.summary.reduce_locality) : std::nullopt;
     }},
    {"ended", "jobs that ended", "count", Better::kHigher, "The number of jobs that ended before the run was stopped.",
     [](const RunOutcome& run) { return Value(run.result.summary.succeeded + run.result.summary.failed); }},
    {"most_slowdown", "largest slowdown", "ratio", Better::kLower, "The largest slowdown of any job.",
     [](const RunOutcome& run) {
       const double most = run.result.summary.max_slowdown;
       return most > 0 ? Value(most) : std::nullopt;
     }},
    {"peak_space", "map outputs at their peak", "bytes", Better::kLower,
     "The most bytes of maps' outputs that were kept at a time, all nodes together.",
     [](const RunOutcome& run) { return Value(static_cast<double>(run.result.summary.peak_space)); }},
};

constexpr std::string_view kOfTheCluster[] = {
    "fairness", "distance",   "rack_bytes",       "datacenter_bytes", "utilisation",
    "deciding", "peak_space", "fairness_waiting", "maps_per_node",    "maps_per_node_deviation"};

}  // namespace

const Metric* FindFigure(std::string_view key) {
  const auto* at =
      std::find_if(std::begin(kOfPapers), std::end(kOfPapers), [&](const Metric& metric) { return metric.key == key; });
  return at != std::end(kOfPapers) ? at : compare::FindMetric(key);
}

std::vector<std::string> FigureKeys() {
  std::vector<std::string> keys = compare::MetricKeys();
  for (const Metric& metric : kOfPapers) keys.emplace_back(metric.key);
  return keys;
}

bool IsOfJobs(const Metric& metric) {
  return std::find(std::begin(kOfTheCluster), std::end(kOfTheCluster), metric.key) == std::end(kOfTheCluster);
}

bool IsOfSamples(const Metric& metric) { return metric.key == "fairness_waiting"; }

bool IsOfTasks(const Metric& metric) { return metric.key.starts_with("maps_per_node"); }

bool IsOfBaseline(const Metric& metric) { return metric.key == "gain" || metric.key == "most_gain"; }

SimResult Beside(SimResult result, const SimResult& baseline) {
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobRow& same = baseline.jobs[i];
    result.jobs[i].alone = same.Ended() ? same.Turnaround() : 0;
  }
  return result;
}

SimResult OnlyClasses(const SimResult& result, const std::vector<std::string>& classes) {
  SimResult only;
  std::copy_if(result.jobs.begin(), result.jobs.end(), std::back_inserter(only.jobs), [&](const JobRow& row) {
    return std::find(classes.begin(), classes.end(), row.group) != classes.end();
  });
  Summarise(&only);
  return only;
}

}  // namespace millrace::sim::experiments
