// SPDX-License-Identifier: Apache-2.0
#include "lab/tune/tuning.h"

#include <algorithm>
#include <utility>

#include "base/ids/counted.h"
#include "base/random.h"
#include "lab/advise/redraw.h"

namespace millrace::tune {
namespace {

using compare::JudgedMetric;

// Draws from the jobs of the history from number `begin` to before `end`, in the order of their submission. The seed
// `as_it_was`, if there is one, gives these jobs themselves.
compare::DrawSimulation DrawFrom(const sim::SimulationFile& file, std::size_t begin, std::size_t end,
                                 std::optional<std::uint64_t> as_it_was) {
  sim::SimulationFile part = file;
  const std::vector<std::uint32_t> order = sim::SubmissionOrder(file.workload);
  part.workload.jobs.clear();
  for (std::size_t at = begin; at < end; ++at) {
    part.workload.jobs.push_back(file.workload.jobs[order[at]]);
    part.workload.jobs.back().submit -= file.workload.jobs[order[begin]].submit;
  }
  return [part = std::move(part), as_it_was](std::uint64_t seed) -> Result<sim::SimulationFile> {
    sim::SimulationFile drawn = part;
    drawn.seed = seed;
    if (seed != as_it_was) drawn.workload = compare::Redraw(part.workload, seed);
    return drawn;
  };
}

const JudgedMetric* Find(const compare::Material& material, const compare::Metric* metric) {
  const auto at = std::ranges::find(material.judged, metric, &JudgedMetric::metric);
  return at == material.judged.end() ? nullptr : &*at;
}

bool IsBetter(const compare::Metric& metric, double one, double other) {
  return metric.better == sim::Better::kLower ? one < other : one > other;
}

// Returns whether the scheduler may well be worse by the goal: its whole interval is on that side, even if that is not
// enough for a verdict among so many comparisons. Who changes what works wants to be surer that nothing is lost than
// chance asks for.
bool MayBeWorse(const sim::Comparison& comparison) {
  if (comparison.verdict == sim::Verdict::kWorse) return true;
  if (comparison.verdict != sim::Verdict::kUndecided) return false;
  return comparison.ratio ? comparison.ratio->low > 1 : comparison.difference.low > 0;
}

}  // namespace

Parts PartsOf(const compare::History& history) {
  const std::size_t jobs = history.file.workload.jobs.size();
  if (!history.redrawn || history.file.stop_at > 0 || jobs < 2 * compare::kFewestJobs)
    return {history.draw, history.draw, 0, 0};
  const std::size_t earlier = jobs / 2;
  return {DrawFrom(history.file, 0, earlier, std::nullopt), DrawFrom(history.file, earlier, jobs, history.file.seed),
          earlier, jobs - earlier};
}

std::vector<std::size_t> Finalists(const Searched& searched, std::size_t most) {
  std::vector<Losses> points;
  for (const std::size_t at : searched.last) points.push_back(searched.tries[at].losses);
  const std::vector<std::size_t> front = Front(points);
  std::vector<std::size_t> finalists;
  for (const std::size_t point : BestFirst(points)) {
    const std::size_t at = searched.last[point];
    if (std::ranges::find(front, point) == front.end() || searched.tries[at].of == 0 || finalists.size() == most)
      continue;
    finalists.push_back(at);
  }
  std::ranges::sort(finalists, {}, [&](std::size_t at) { return searched.tries[at].losses; });
  return finalists;
}

std::string_view TuningName(TuningKind kind) {
  switch (kind) {
    case TuningKind::kChange:
      return "change";
    case TuningKind::kWeigh:
      return "weigh";
    case TuningKind::kKeep:
      return "keep";
    case TuningKind::kNone:
      return "none";
  }
  return "none";
}

Tuning TuningOf(const compare::Material& material, const std::vector<const compare::Metric*>& goals) {
  Tuning tuning;
  const std::vector<sched::Variant>& schedulers = material.subject->schedulers;
  const std::string& in_force = schedulers[material.design.baseline].label;
  std::vector<const JudgedMetric*> judged;
  for (const compare::Metric* goal : goals) {
    judged.push_back(Find(material, goal));
    if (judged.back() != nullptr) continue;
    tuning.why = "Not every run has a value of " + std::string(goal->name) + ", so nothing can be said.";
    return tuning;
  }
  bool one_sided = false, weighed = false;
  std::optional<std::size_t> by;  // the goal of the chosen one
  for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
    if (scheduler == material.design.baseline) continue;
    std::optional<std::size_t> better;
    bool worse = false;
    for (std::size_t goal = 0; goal < goals.size(); ++goal) {
      const sim::Comparison& comparison = judged[goal]->comparison.schedulers[scheduler];
      one_sided = one_sided || comparison.unjudged != sim::Unjudged::kNo;
      worse = worse || MayBeWorse(comparison);
      if (comparison.verdict == sim::Verdict::kBetter && !better) better = goal;
    }
    weighed = weighed || (better && worse);
    if (!better || worse) continue;
    const auto mean = [&](std::uint32_t of) { return sim::Mean(judged[*better]->runs.values[of]); };
    const bool ahead =
        !by || *better < *by || (*better == *by && IsBetter(*goals[*better], mean(scheduler), mean(*tuning.chosen)));
    if (ahead) by = better, tuning.chosen = scheduler;
  }
  if (tuning.chosen) {
    tuning.kind = TuningKind::kChange;
    tuning.why = schedulers[*tuning.chosen].label + " is shown to serve better than " + in_force +
                 ", which is in force, by " + std::string(goals[*by]->name) +
                 (goals.size() > 1 ? ", and nothing says that it is worse by another goal." : ".");
  } else if (weighed) {
    tuning.kind = TuningKind::kWeigh;
    tuning.why =
        "Those that are better than " + in_force +
        ", which is in force, by one goal are worse by another, or may well be, so which of them is best is yours to "
        "say: name fewer goals (--goal), or choose one.";
  } else if (one_sided) {
    tuning.why = "There is no verdict on some of what was found, so nothing can be said beyond the figures.";
  } else {
    tuning.kind = TuningKind::kKeep;
    tuning.why = "Nothing better was found: nothing that was tried is shown to serve better than " + in_force +
                 ", which is in force, on jobs that the search has not seen.";
  }
  return tuning;
}

}  // namespace millrace::tune
