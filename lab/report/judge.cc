// SPDX-License-Identifier: Apache-2.0
#include "lab/report/judge.h"

#include <algorithm>
#include <iterator>
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

// Returns the largest difference that does not matter for a metric that can be 0: a moment of a job's time, a hundredth
// of a share, an attempt, a mebibyte.
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
  std::vector<const Metric*> metrics;
  for (const Metric& metric : Metrics()) metrics.push_back(&metric);
  for (const std::string& key : headline) {
    if (!GroupOf(key).empty()) metrics.push_back(FindMetric(key));
  }
  for (const Metric* one : metrics) {
    if (one == nullptr) continue;
    const Metric& metric = *one;
    std::optional<sim::MetricRuns> runs = RunsOf(metric, design, counting);
    if (!runs) continue;
    runs->least = LeastDifference(metric, design, counting, options.practical);
    runs->of_ended = metric.of_ended;
    runs->by_itself = metric.key == kDeciding;
    runs->headline = std::find(headline.begin(), headline.end(), metric.key) != headline.end();
    all.push_back(*runs);
    judged.push_back({&metric, runs->headline, std::move(*runs), {}});
  }
  std::vector<sim::MetricComparison> comparisons =
      sim::Compare(all, design.baseline, WithRuns(options, design, counting));
  for (std::size_t i = 0; i < judged.size(); ++i) judged[i].comparison = std::move(comparisons[i]);
  return judged;
}

std::vector<const Metric*> ShownMetrics(const std::vector<JudgedMetric>& judged) {
  std::vector<const Metric*> shown;
  for (const Metric& metric : Metrics()) shown.push_back(&metric);
  for (const JudgedMetric& one : judged) {
    if (!GroupOf(one.metric->key).empty()) shown.push_back(one.metric);
  }
  return shown;
}

sim::CompareOptions WithRuns(sim::CompareOptions options, const Design& design,
                             const std::vector<const RunRecord*>& counting) {
  options.ended = EndedJobs(design, counting);
  options.fixed = FixedSchedulers(design, counting);
  return options;
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

std::vector<Picture> PicturesOf(const Design& design, const std::vector<const RunRecord*>& counting) {
  const auto turnaround = [](const RunRecord* run) { return run->outcome.result.summary.mean_turnaround; };
  std::vector<const RunRecord*> first, base;
  for (const RunRecord* record : counting) {
    if (!record->run.second) first.push_back(record);
  }
  std::sort(first.begin(), first.end(),
            [](const RunRecord* a, const RunRecord* b) { return a->run.scheduler < b->run.scheduler; });
  std::copy_if(first.begin(), first.end(), std::back_inserter(base),
               [&](const RunRecord* record) { return record->run.scheduler == design.baseline; });
  std::sort(base.begin(), base.end(), [&](const RunRecord* a, const RunRecord* b) {
    return std::pair(turnaround(a), a->run.block) < std::pair(turnaround(b), b->run.block);
  });
  std::vector<Picture> pictures;
  if (base.empty()) return pictures;
  const auto add = [&](const RunRecord* chosen, std::string_view what) {
    Picture& picture = pictures.emplace_back(Picture{chosen->run.block, chosen->run.seed, what, {}});
    std::copy_if(first.begin(), first.end(), std::back_inserter(picture.runs),
                 [&](const RunRecord* record) { return record->run.block == chosen->run.block; });
    std::erase(base, chosen);
  };
  const RunRecord *median = base[(base.size() - 1) / 2], *best = base.front(), *worst = base.back();
  add(median, "median");
  if (turnaround(best) < turnaround(median)) add(best, "best");
  if (turnaround(worst) > turnaround(median)) add(worst, "worst");
  std::sort(base.begin(), base.end(),
            [](const RunRecord* a, const RunRecord* b) { return a->run.block < b->run.block; });
  for (const std::vector<const RunRecord*> others = base; const RunRecord* other : others) add(other, "");
  return pictures;
}

}  // namespace millrace::compare
