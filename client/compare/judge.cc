#include "client/compare/judge.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace millrace::compare {
namespace {

// Returns the metric by scheduler and block; nothing if a run does not know it.
std::optional<sim::MetricRuns> RunsOf(const Metric& metric, const Design& design,
                                      const std::vector<const RunRecord*>& counting) {
  sim::MetricRuns runs;
  runs.better = metric.better;
  runs.values.resize(design.schedulers);
  for (const RunRecord* record : counting) {
    const std::optional<double> value = metric.of(record->outcome);
    if (!value) return std::nullopt;
    (record->run.second ? runs.second : runs.values[record->run.scheduler]).push_back(*value);
  }
  return runs;
}

}  // namespace

std::vector<JudgedMetric> Judge(const Design& design, const std::vector<const RunRecord*>& counting,
                                const std::vector<std::string>& headline, const sim::CompareOptions& options) {
  std::vector<JudgedMetric> judged;
  std::vector<sim::MetricRuns> all;
  for (const Metric& metric : Metrics()) {
    std::optional<sim::MetricRuns> runs = RunsOf(metric, design, counting);
    if (!runs) continue;
    runs->headline = std::find(headline.begin(), headline.end(), metric.key) != headline.end();
    all.push_back(*runs);
    judged.push_back({&metric, runs->headline, std::move(*runs), {}});
  }
  std::vector<sim::MetricComparison> comparisons = sim::Compare(all, design.baseline, options);
  for (std::size_t i = 0; i < judged.size(); ++i) judged[i].comparison = std::move(comparisons[i]);
  return judged;
}

std::uint32_t FewestRuns(std::size_t comparisons, double significance) {
  std::uint32_t runs = sim::kFewestForSignificance;
  while (runs < sim::kExactPairs &&
         std::ldexp(2.0, -static_cast<int>(runs)) * static_cast<double>(comparisons) > significance)
    ++runs;
  return runs;
}

std::size_t DecidingComparisons(const Design& design, std::size_t headlines) {
  return (design.schedulers - 1) * headlines;
}

bool NarrowEnough(const std::vector<JudgedMetric>& judged, const Design& design, double width) {
  for (const JudgedMetric& metric : judged) {
    if (!metric.headline) continue;
    for (std::uint32_t scheduler = 0; scheduler < design.schedulers; ++scheduler) {
      const auto& ratio = metric.comparison.schedulers[scheduler].ratio;
      if (scheduler == design.baseline || !ratio) continue;
      if (ratio->high > ratio->value * (1 + width) || ratio->low < ratio->value * (1 - width)) return false;
    }
  }
  return true;
}

std::vector<const RunRecord*> MedianRuns(const Design& design, const std::vector<const RunRecord*>& counting) {
  std::vector<const RunRecord*> medians;
  for (std::uint32_t scheduler = 0; scheduler < design.schedulers; ++scheduler) {
    std::vector<const RunRecord*> own;
    for (const RunRecord* record : counting) {
      if (record->run.scheduler == scheduler && !record->run.second) own.push_back(record);
    }
    if (own.empty()) continue;
    const auto middle = own.begin() + static_cast<std::ptrdiff_t>((own.size() - 1) / 2);
    std::nth_element(own.begin(), middle, own.end(), [](const RunRecord* a, const RunRecord* b) {
      const double of_a = a->outcome.result.summary.mean_turnaround, of_b = b->outcome.result.summary.mean_turnaround;
      return of_a != of_b ? of_a < of_b : a->run.block < b->run.block;
    });
    medians.push_back(*middle);
  }
  return medians;
}

}  // namespace millrace::compare
