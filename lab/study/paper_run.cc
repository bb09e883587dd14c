// SPDX-License-Identifier: Apache-2.0
#include "lab/study/paper_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"
#include "lab/model/simulate.h"
#include "lab/study/figures.h"
#include "lab/workload/simulation_file.h"

namespace millrace::sim::experiments {
namespace {

constexpr std::uint64_t kSeedsOfDraws = 1'000;  // between the first draws of two seeds

class Runs : public FigureSource {
 public:
  Runs(const Paper& paper, const Options& options) : paper_(paper), options_(options) {}

  [[nodiscard]] std::uint32_t DrawsOf(std::uint32_t point) const override {
    const std::uint32_t draws = paper_.points[point].draws;
    return draws > 1 ? options_.Repeat(draws) : 0;
  }

  [[nodiscard]] Result<std::vector<double>> Of(const Operand& operand, std::uint32_t point, std::uint32_t scheduler,
                                               const std::string& place) override {
    MILLRACE_ASSIGN(const std::vector<SimResult>* results, Results(Key(point, scheduler)));
    const std::vector<SimResult>* baseline = nullptr;
    if (operand.baseline) {
      MILLRACE_ASSIGN(baseline, Results(Key(point, *operand.baseline)));
    }
    std::vector<double> values;
    for (std::size_t draw = 0; draw < results->size(); ++draw) {
      const SimResult& result = (*results)[draw];
      const std::optional<double> value =
          FigureOf(operand, baseline != nullptr ? Beside(result, (*baseline)[draw]) : result);
      if (!value) return HasNone(paper_, operand, point, scheduler, place);
      values.push_back(*value);
    }
    return values;
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // point, scheduler

  Result<const std::vector<SimResult>*> Results(const Key& key) {
    if (const auto at = results_.find(key); at != results_.end()) return &at->second;
    const std::uint32_t draws = DrawsOf(key.first);
    std::vector<SimResult> results(std::max(draws, 1U));
    for (std::uint32_t draw = 0; draw < results.size(); ++draw) {
      const std::uint64_t seed = draws == 0 ? options_.seed : options_.seed * kSeedsOfDraws + draw;
      MILLRACE_ASSIGN(results[draw], RunOne(key, seed));
    }
    return &results_.emplace(key, std::move(results)).first->second;
  }

  Result<SimResult> RunOne(const Key& key, std::uint64_t seed) {
    const auto [point, scheduler] = key;
    const std::string& text = paper_.workloads[paper_.points[point].drawn_from[scheduler]];
    Overrides overrides;
    overrides.seed = seed;
    MILLRACE_ASSIGN(const SimulationFile file, ParseSimulation(text, paper_.name, overrides));
    SimOptions options;
    options.seed = seed, options.stop_at = file.stop_at;
    if (paper_.slowdowns) {
      MILLRACE_ASSIGN(options.alone, AloneTimes(file.cluster, file.workload, options));
    }
    const auto changed = paper_.points[point].variants.find(scheduler);
    const bool is_usual = changed == paper_.points[point].variants.end();
    const sched::Variant& variant = is_usual ? paper_.schedulers[scheduler] : changed->second;
    options.task_rows = paper_.tasks;
    MILLRACE_ASSIGN(SimResult result,
                    Simulate(file.cluster, file.workload, variant.scheduler, variant.settings, options));
    if (!paper_.samples) result.samples.clear();
    return result;
  }

  const Paper& paper_;
  const Options& options_;
  std::map<Key, std::vector<SimResult>> results_;
};

constexpr double kPercent = 100;

constexpr double kHardlyMore = 1.001;

double MeanOfDraws(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value / static_cast<double>(values.size());
  return sum;
}

double Combine(Over over, const std::vector<double>& values) {
  switch (over) {
    case Over::kLeast:
      return *std::min_element(values.begin(), values.end());
    case Over::kMost:
      return *std::max_element(values.begin(), values.end());
    case Over::kAbove0:
      return static_cast<double>(std::count_if(values.begin(), values.end(), [](double value) { return value > 0; }));
    case Over::kNotBelow0:
      return static_cast<double>(std::count_if(values.begin(), values.end(), [](double value) { return value >= 0; }));
    case Over::kMean:
      break;
  }
  return MeanOfDraws(values);
}

// Returns Combine of what the lists have at each place. Requires: lists of one length.
std::vector<double> CombineLists(Over over, const std::vector<std::vector<double>>& lists) {
  std::vector<double> combined;
  for (std::size_t i = 0; i < lists.front().size(); ++i) {
    std::vector<double> values;
    for (const std::vector<double>& list : lists) values.push_back(list[i]);
    combined.push_back(Combine(over, values));
  }
  return combined;
}

using ByDraw = std::vector<double>;

// Returns the figure at each point.
Result<std::vector<ByDraw>> AtPoints(const Operand& operand, std::uint32_t scheduler, FigureSource& source,
                                     const std::string& place) {
  std::vector<ByDraw> points;
  for (const std::uint32_t point : operand.points) {
    MILLRACE_ASSIGN(ByDraw values, source.Of(operand, point, scheduler, place));
    points.push_back(std::move(values));
  }
  return points;
}

// Returns the figure under each scheduler, across the points.
Result<std::vector<ByDraw>> UnderSchedulers(const Operand& operand, FigureSource& source, const std::string& place) {
  std::vector<ByDraw> schedulers;
  for (const std::uint32_t scheduler : operand.schedulers) {
    MILLRACE_ASSIGN(const std::vector<ByDraw> points, AtPoints(operand, scheduler, source, place));
    schedulers.push_back(CombineLists(operand.across, points));
  }
  return schedulers;
}

double NoMorePercent(const std::vector<double>& ours, const std::vector<double>& theirs) {
  double no_more = 0;
  for (std::size_t draw = 0; draw < ours.size(); ++draw) no_more += ours[draw] <= kHardlyMore * theirs[draw] ? 1 : 0;
  return kPercent * no_more / static_cast<double>(ours.size());
}

// Computes one figure of a paper from those of a source.
class Computation {
 public:
  Computation(const Reckoning& reckoning, FigureSource& source) : reckoning_(reckoning), source_(source) {}

  Result<double> Run() {
    std::vector<double> values;
    for (std::size_t at = 0; at < reckoning_.ours.size(); ++at) {
      MILLRACE_ASSIGN(const double value, InCase(at));
      values.push_back(value);
    }
    return Combine(reckoning_.over, values);
  }

 private:
  // Returns the draw of which the figure is; none if it is the mean over all.
  Result<std::optional<std::size_t>> DrawOf(std::size_t at) {
    if (!reckoning_.rank) return std::optional<std::size_t>();
    MILLRACE_ASSIGN(const std::vector<ByDraw> all,
                    UnderSchedulers(reckoning_.ranked_by[at], source_, reckoning_.place));
    const ByDraw by = CombineLists(reckoning_.ranked_by[at].pick, all);
    std::vector<std::size_t> draws(by.size());
    for (std::size_t draw = 0; draw < draws.size(); ++draw) draws[draw] = draw;
    std::stable_sort(draws.begin(), draws.end(), [&](std::size_t a, std::size_t b) { return by[a] < by[b]; });
    return std::optional(draws[static_cast<std::size_t>(*reckoning_.rank * static_cast<double>(draws.size() - 1))]);
  }

  // Returns the figure under each scheduler: the mean over the draws, or that of one draw.
  Result<std::vector<double>> Figures(const Operand& operand, std::size_t at) {
    MILLRACE_ASSIGN(const std::optional<std::size_t> draw, DrawOf(at));
    MILLRACE_ASSIGN(const std::vector<ByDraw> schedulers, UnderSchedulers(operand, source_, reckoning_.place));
    std::vector<double> figures;
    for (const ByDraw& values : schedulers) figures.push_back(draw ? values[*draw] : MeanOfDraws(values));
    return figures;
  }

  Result<double> Side(const Operand& operand, std::size_t at) {
    MILLRACE_ASSIGN(const std::vector<double> figures, Figures(operand, at));
    return Combine(operand.pick, figures);
  }

  // Returns in how many % of the draws ours, the least under its schedulers, is no more than theirs.
  Result<double> NoMore(std::size_t at) {
    MILLRACE_ASSIGN(const std::vector<ByDraw> ours, UnderSchedulers(reckoning_.ours[at], source_, reckoning_.place));
    MILLRACE_ASSIGN(const std::vector<ByDraw> theirs,
                    UnderSchedulers(reckoning_.theirs[at], source_, reckoning_.place));
    return NoMorePercent(CombineLists(reckoning_.ours[at].pick, ours),
                         CombineLists(reckoning_.theirs[at].pick, theirs));
  }

  Result<double> Order(std::size_t at) {
    MILLRACE_ASSIGN(const std::vector<double> figures, Figures(reckoning_.ours[at], at));
    return TauOf(reckoning_.printed[reckoning_.printed.size() > 1 ? at : 0], figures);
  }

  // Returns the least step of the figure from a point to the next.
  Result<double> LeastRise(std::size_t at) {
    std::vector<double> steps;
    Operand operand = reckoning_.ours[at];
    std::optional<double> before;
    for (const std::uint32_t point : reckoning_.ours[at].points) {
      operand.points = {point};
      MILLRACE_ASSIGN(const double value, Side(operand, at));
      if (before) steps.push_back(value - *before);
      before = value;
    }
    return Combine(Over::kLeast, steps) * reckoning_.scale;
  }

  Result<double> InCase(std::size_t at) {
    const As as = reckoning_.as;
    if (as == As::kNoMore) return NoMore(at);
    if (as == As::kOrder) return Order(at);
    if (as == As::kLeastRise) return LeastRise(at);
    MILLRACE_ASSIGN(const double ours, Side(reckoning_.ours[at], at));
    if (as == As::kValue) return ours * reckoning_.scale;
    MILLRACE_ASSIGN(const double theirs, Side(reckoning_.theirs[at], at));
    if (as == As::kDifference) return (ours - theirs) * reckoning_.scale;
    if (theirs == 0) return Invalid(reckoning_.place + ": a ratio to 0");
    if (as == As::kLess) return kPercent * (1 - ours / theirs);
    if (as == As::kApart) return kPercent * std::abs(ours / theirs - 1);
    return as == As::kMore ? kPercent * (ours / theirs - 1) : ours / theirs;
  }

  const Reckoning& reckoning_;
  FigureSource& source_;
};

Result<Table> Fill(const Paper& paper, const PaperTable& from, FigureSource& source) {
  Table table{from.id, from.title, from.columns};
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;  // draws of a figure
  for (const std::vector<PaperCell>& row : from.rows) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const PaperCell& cell : row) {
      if (!cell.ours) {
        cells.push_back(cell.given);
        continue;
      }
      MILLRACE_ASSIGN(const double value, Computation(*cell.ours, source).Run());
      cells.emplace_back(value);
      const std::uint32_t draws = source.DrawsOf(cell.ours->ours.front().points.front());
      least = std::min(least, draws), most = std::max(most, draws);
    }
  }
  if (most > 0)
    table.repeats =
        (least < most ? "up to " : "") + std::to_string(most) + ' ' + (most == 1 ? paper.draw : paper.draws);
  return table;
}

}  // namespace

std::optional<double> FigureOf(const Operand& operand, const SimResult& result) {
  compare::RunOutcome outcome;
  outcome.result = operand.classes.empty() ? result : OnlyClasses(result, operand.classes);
  return operand.metric->of(outcome);
}

Status HasNone(const Paper& paper, const Operand& operand, std::uint32_t at, std::uint32_t scheduler,
               const std::string& place) {
  const Point& point = paper.points[at];
  std::string name = paper.schedulers[scheduler].label;
  if (!point.sweep.empty()) name += " at " + point.sweep + (point.label.empty() ? "" : " " + point.label);
  for (const std::string& one : operand.classes) name += ", class " + one;
  if (!operand.classes.empty()) name += ',';
  return Invalid(place + ": " + name + " has no " + std::string(operand.metric->key));
}

Result<Findings> FillIn(const Paper& paper, FigureSource& source) {
  Findings findings;
  for (const PaperTable& from : paper.tables) {
    MILLRACE_ASSIGN(Table table, Fill(paper, from, source));
    findings.tables.push_back(std::move(table));
  }
  for (const PaperClaim& from : paper.claims) {
    Claim claim = from.claim;
    MILLRACE_ASSIGN(claim.ours, Computation(from.ours, source).Run());
    findings.claims.push_back(std::move(claim));
  }
  return findings;
}

Result<Findings> RunPaper(const Paper& paper, const Options& options) {
  MILLRACE_CHECK(paper.where == Where::kSimulated, "a paper that is run live");
  Runs runs(paper, options);
  return FillIn(paper, runs);
}

}  // namespace millrace::sim::experiments
