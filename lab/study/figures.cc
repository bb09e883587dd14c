#include "lab/study/figures.h"

#include <algorithm>
#include <iterator>

namespace millrace::sim::experiments {
namespace {

using compare::Metric;
using compare::RunOutcome;
using Value = std::optional<double>;

Value OfMaps(const RunOutcome& run, double share) {
  return run.result.summary.map_launches > 0 ? Value(share) : std::nullopt;
}

constexpr Metric kOfPapers[] = {
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

constexpr std::string_view kOfTheCluster[] = {"fairness",    "distance", "rack_bytes", "datacenter_bytes",
                                              "utilisation", "deciding", "peak_space"};

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

SimResult OnlyClass(const SimResult& result, const std::string& job_class) {
  SimResult only;
  std::copy_if(result.jobs.begin(), result.jobs.end(), std::back_inserter(only.jobs),
               [&](const JobRow& row) { return row.group == job_class; });
  Summarise(&only);
  return only;
}

}  // namespace millrace::sim::experiments
