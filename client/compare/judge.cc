#include "client/compare/judge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/ids/time.h"

namespace millrace::compare {
namespace {

constexpr std::string_view kDeciding = "deciding";  // the metric that differs between equal runs

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

// Returns what difference of a metric does not matter where it can be 0: a moment of a job's time, a hundredth of a
// share, an attempt, a mebibyte.
double LeastDifference(const Metric& metric, const Design& design, const std::vector<const RunRecord*>& counting,
                       double practical) {
  constexpr double kShare = 0.01, kAttempt = 1, kMebibyte = 1 << 20;
  if (metric.key == kDeciding) return 0;
  if (metric.unit == "share" || metric.unit == "ratio") return kShare;
  if (metric.unit == "count") return kAttempt;
  if (metric.unit == "bytes") return kMebibyte;
  double turnarounds = 0, runs = 0;
  for (const RunRecord* record : counting) {
    if (record->run.scheduler != design.baseline) continue;
    turnarounds += record->outcome.result.summary.mean_turnaround / static_cast<double>(kSecond);
    runs += 1;
  }
  return runs > 0 ? practical * turnarounds / runs : 0;
}

// Returns for each first run a number that tells which of its jobs succeeded.
std::vector<std::vector<std::uint64_t>> EndedJobs(const Design& design, const std::vector<const RunRecord*>& counting) {
  std::vector<std::vector<std::uint64_t>> ended(design.schedulers);
  std::map<std::vector<bool>, std::uint64_t> numbers;
  for (const RunRecord* record : counting) {
    if (record->run.second) continue;
    std::vector<bool> succeeded;
    for (const sim::JobRow& job : record->outcome.result.jobs)
      succeeded.push_back(job.outcome == sched::JobOutcome::kSucceeded);
    ended[record->run.scheduler].push_back(numbers.emplace(std::move(succeeded), numbers.size()).first->second);
  }
  return ended;
}

}  // namespace

std::vector<JudgedMetric> Judge(const Design& design, const std::vector<const RunRecord*>& counting,
                                const std::vector<std::string>& headline, const sim::CompareOptions& options) {
  std::vector<JudgedMetric> judged;
  std::vector<sim::MetricRuns> all;
  for (const Metric& metric : Metrics()) {
    std::optional<sim::MetricRuns> runs = RunsOf(metric, design, counting);
    if (!runs) continue;
    runs->least = LeastDifference(metric, design, counting, options.practical);
    runs->of_ended = metric.of_ended;
    runs->by_itself = metric.key == kDeciding;
    runs->headline = std::find(headline.begin(), headline.end(), metric.key) != headline.end();
    all.push_back(*runs);
    judged.push_back({&metric, runs->headline, std::move(*runs), {}});
  }
  sim::CompareOptions with_runs = options;
  with_runs.ended = EndedJobs(design, counting);
  with_runs.fixed = FixedSchedulers(design, counting);
  std::vector<sim::MetricComparison> comparisons = sim::Compare(all, design.baseline, with_runs);
  for (std::size_t i = 0; i < judged.size(); ++i) judged[i].comparison = std::move(comparisons[i]);
  return judged;
}

std::vector<bool> FixedSchedulers(const Design& design, const std::vector<const RunRecord*>& counting) {
  std::vector<std::set<double>> turnarounds(design.schedulers);
  for (const RunRecord* record : counting)
    turnarounds[record->run.scheduler].insert(record->outcome.result.summary.mean_turnaround);
  std::vector<bool> fixed;
  for (const std::set<double>& one : turnarounds) fixed.push_back(design.blocks > 1 && one.size() == 1);
  return fixed;
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
