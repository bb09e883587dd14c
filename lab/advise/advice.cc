// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/advice.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/ids/counted.h"
#include "lab/measure/estimate.h"

namespace millrace::compare {
namespace {

// The metrics that are reported if they get worse. The others follow from one of these, or matter to no user.
constexpr std::string_view kCosts[] = {"turnaround",       "makespan", "wait", "turnaround_p95", "turnaround_p99",
                                       "longest_wait",     "distance", "late", "node_local",     "rack_bytes",
                                       "datacenter_bytes", "preempted"};

double MeanOf(const JudgedMetric& one, std::uint32_t scheduler) { return sim::Mean(one.runs.values[scheduler]); }

const JudgedMetric* FindJudged(const Material& material, const Metric& metric) {
  const auto at = std::ranges::find(material.judged, &metric, &JudgedMetric::metric);
  return at == material.judged.end() ? nullptr : &*at;
}

bool IsBetter(const Metric& metric, double one, double other) {
  return metric.better == sim::Better::kLower ? one < other : one > other;
}

std::ptrdiff_t PartsOf(const std::string& scheduler) { return std::ranges::count(scheduler, '+'); }

// Returns the plainest of the best schedulers that are shown to be better than the one in force: fewer parts bring
// fewer surprises, and a better mean that is not significant does not justify more parts.
std::optional<std::uint32_t> Recommended(const Material& material, const JudgedMetric& one) {
  std::optional<std::uint32_t> best;
  const auto parts = [&](std::uint32_t of) { return PartsOf(material.subject->schedulers[of].scheduler); };
  for (const std::uint32_t winner : one.comparison.winners) {
    if (one.comparison.schedulers[winner].verdict != sim::Verdict::kBetter) continue;
    const bool plainer = !best || parts(winner) < parts(*best);
    const bool as_plain = best && parts(winner) == parts(*best);
    if (plainer || (as_plain && IsBetter(*one.metric, MeanOf(one, winner), MeanOf(one, *best)))) best = winner;
  }
  return best;
}

// Returns the reason why no scheduler could be shown to serve better, whatever the results; empty if one could.
std::string WhyNothingShows(const Material& material, const JudgedMetric& one) {
  const Design& design = material.design;
  if (design.schedulers < 2) return "";
  const std::uint32_t fewest = sim::FewestRuns(design.schedulers, material.subject->options.significance);
  if (design.blocks < fewest)
    return "With " + Counted(design.blocks, "run") + " of each of " + std::to_string(design.schedulers) +
           " schedulers no difference can be told from chance, so nothing can be said: take at least " +
           std::to_string(fewest) + " (--repeat), or fewer schedulers.";
  std::string why;
  for (std::uint32_t scheduler = 0; scheduler < design.schedulers; ++scheduler) {
    if (scheduler == design.baseline) continue;
    const sim::Unjudged unjudged = one.comparison.schedulers[scheduler].unjudged;
    if (unjudged == sim::Unjudged::kNo) return "";
    why = sim::UnjudgedName(unjudged);
  }
  return "There is no verdict on any scheduler by " + std::string(one.metric->name) + " (" + why +
         "), so nothing can be said beyond the figures.";
}

std::vector<Cost> CostsOf(const Material& material, const Metric& decides, std::uint32_t scheduler) {
  std::vector<Cost> costs;
  for (const JudgedMetric& one : material.judged) {
    const sim::Comparison& comparison = one.comparison.schedulers[scheduler];
    const bool told = std::ranges::find(kCosts, one.metric->key) != std::end(kCosts);
    if (one.metric == &decides || !told || comparison.verdict != sim::Verdict::kWorse) continue;
    costs.push_back({one.metric, MeanOf(one, material.design.baseline), MeanOf(one, scheduler), comparison});
  }
  return costs;
}

}  // namespace

std::string_view AdviceName(AdviceKind kind) {
  switch (kind) {
    case AdviceKind::kChange:
      return "change";
    case AdviceKind::kKeep:
      return "keep";
    case AdviceKind::kNone:
      return "none";
  }
  return "none";
}

Advice AdviceOf(const Material& material, const Metric& metric, bool redrawn) {
  Advice advice;
  advice.metric = &metric;
  const JudgedMetric* const judged = FindJudged(material, metric);
  const std::string in_force = material.subject->schedulers[material.design.baseline].label;
  if (judged == nullptr) {
    advice.why = "Not every run has a value of " + std::string(metric.name) + ", so nothing can be said.";
    return advice;
  }
  if (const std::string why = WhyNothingShows(material, *judged); !why.empty()) {
    advice.why = why;
    return advice;
  }
  advice.best = judged->comparison.winners;
  advice.before = MeanOf(*judged, material.design.baseline);
  advice.recommended = Recommended(material, *judged);
  const bool among = std::ranges::find(advice.best, material.design.baseline) != advice.best.end();
  if (among || !advice.recommended) {
    advice.kind = AdviceKind::kKeep, advice.recommended.reset();
    advice.why =
        "No scheduler is shown to serve better than " + in_force + ", which is in force: nothing would have to change.";
    return advice;
  }
  const std::uint32_t to = *advice.recommended;
  advice.kind = AdviceKind::kChange;
  advice.why =
      material.subject->schedulers[to].label + " is shown to serve better than " + in_force + ", which is in force.";
  advice.after = MeanOf(*judged, to);
  advice.gain = judged->comparison.schedulers[to];
  const std::vector<double>& mine = judged->runs.values[material.design.baseline];
  const std::vector<double>& its = judged->runs.values[to];
  advice.runs = static_cast<std::uint32_t>(its.size());
  if (redrawn) advice.as_it_was = {mine.front(), its.front()};
  for (std::size_t i = 0; i < its.size(); ++i) advice.better_in += IsBetter(metric, its[i], mine[i]) ? 1 : 0;
  if (advice.gain.ratio) {
    Range& single = advice.single.emplace(Range{its[0] / mine[0], its[0] / mine[0]});
    for (std::size_t i = 1; i < its.size(); ++i) {
      single.low = std::min(single.low, its[i] / mine[i]);
      single.high = std::max(single.high, its[i] / mine[i]);
    }
  }
  advice.costs = CostsOf(material, metric, to);
  return advice;
}

std::size_t JobsOfHalfTheWork(const sim::Workload& workload) {
  std::vector<double> work;
  for (const sim::SimJob& job : workload.jobs) {
    double& one = work.emplace_back(0.0);
    for (const sim::SimMap& map : job.maps) one += static_cast<double>(map.cpu);
    for (const sim::SimReduce& reduce : job.reduces) one += static_cast<double>(reduce.cpu);
  }
  const double half = std::accumulate(work.begin(), work.end(), 0.0) / 2;
  if (half == 0) return 0;
  std::ranges::sort(work, std::greater());
  double sum = 0;
  std::size_t jobs = 0;
  while (sum < half) sum += work[jobs++];
  return jobs;
}

Advice TooLittle(std::size_t jobs) {
  Advice advice;
  advice.why = "The history has " + Counted(jobs, "job") + ", and fewer than " + std::to_string(kFewestJobs) +
               " are too few to advise by: choose a longer time (--since), or wait for more.";
  return advice;
}

}  // namespace millrace::compare
