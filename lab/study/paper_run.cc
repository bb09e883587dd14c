#include "lab/study/paper_run.h"

#include <algorithm>
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

  [[nodiscard]] Result<std::vector<double>> Of(const Operand& operand, std::uint32_t scheduler,
                                               const std::string& place) override {
    MILLRACE_ASSIGN(const std::vector<SimResult>* results, Results(Key(operand.point, scheduler)));
    std::vector<double> values;
    for (const SimResult& result : *results) {
      const std::optional<double> value = FigureOf(operand, result);
      if (!value) return HasNone(paper_, operand, scheduler, place);
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
    const sched::Variant& variant = paper_.schedulers[scheduler];
    MILLRACE_ASSIGN(SimResult result,
                    Simulate(file.cluster, file.workload, variant.scheduler, variant.settings, options));
    result.samples.clear();
    return result;
  }

  const Paper& paper_;
  const Options& options_;
  std::map<Key, std::vector<SimResult>> results_;
};

constexpr double kPercent = 100;

constexpr double kHardlyMore = 1.001;

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value / static_cast<double>(values.size());
  return sum;
}

// Returns the figure for each draw: the least under the operand's schedulers.
Result<std::vector<double>> LeastOf(const Operand& operand, FigureSource& source, const std::string& place) {
  std::vector<double> least;
  for (const std::uint32_t scheduler : operand.schedulers) {
    MILLRACE_ASSIGN(std::vector<double> values, source.Of(operand, scheduler, place));
    if (least.empty()) least = values;
    for (std::size_t draw = 0; draw < values.size(); ++draw) least[draw] = std::min(least[draw], values[draw]);
  }
  return least;
}

double NoMorePercent(const std::vector<double>& ours, const std::vector<double>& theirs) {
  double no_more = 0;
  for (std::size_t draw = 0; draw < ours.size(); ++draw) no_more += ours[draw] <= kHardlyMore * theirs[draw] ? 1 : 0;
  return kPercent * no_more / static_cast<double>(ours.size());
}

// Returns the figure at one of the points.
Result<double> ComputeAt(const Reckoning& reckoning, std::size_t at, FigureSource& source) {
  MILLRACE_ASSIGN(const std::vector<double> of_draws, LeastOf(reckoning.ours[at], source, reckoning.place));
  const double ours = MeanOf(of_draws);
  if (reckoning.as == As::kValue) return ours * reckoning.scale;
  MILLRACE_ASSIGN(const std::vector<double> others, LeastOf(reckoning.theirs[at], source, reckoning.place));
  if (reckoning.as == As::kNoMore) return NoMorePercent(of_draws, others);
  const double theirs = MeanOf(others);
  if (reckoning.as == As::kDifference) return (ours - theirs) * reckoning.scale;
  if (theirs == 0) return Invalid(reckoning.place + ": a ratio to 0");
  if (reckoning.as == As::kLess) return kPercent * (1 - ours / theirs);
  return reckoning.as == As::kMore ? kPercent * (ours / theirs - 1) : ours / theirs;
}

Result<double> Compute(const Reckoning& reckoning, FigureSource& source) {
  std::vector<double> values;
  for (std::size_t at = 0; at < reckoning.ours.size(); ++at) {
    MILLRACE_ASSIGN(const double value, ComputeAt(reckoning, at, source));
    values.push_back(value);
  }
  if (reckoning.over == Over::kLeast) return *std::min_element(values.begin(), values.end());
  if (reckoning.over == Over::kMost) return *std::max_element(values.begin(), values.end());
  return MeanOf(values);
}

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
      MILLRACE_ASSIGN(const double value, Compute(*cell.ours, source));
      cells.emplace_back(value);
      const std::uint32_t draws = source.DrawsOf(cell.ours->ours.front().point);
      least = std::min(least, draws), most = std::max(most, draws);
    }
  }
  if (most > 0)
    table.repeats = (least < most ? "up to " : "") + std::to_string(most) + ' ' + paper.draw + (most == 1 ? "" : "s");
  return table;
}

}  // namespace

std::optional<double> FigureOf(const Operand& operand, const SimResult& result) {
  compare::RunOutcome outcome;
  outcome.result = operand.job_class.empty() ? result : OnlyClass(result, operand.job_class);
  return operand.metric->of(outcome);
}

Status HasNone(const Paper& paper, const Operand& operand, std::uint32_t scheduler, const std::string& place) {
  const Point& point = paper.points[operand.point];
  std::string name = paper.schedulers[scheduler].label;
  if (!point.sweep.empty()) name += " at " + point.sweep + (point.label.empty() ? "" : " " + point.label);
  if (!operand.job_class.empty()) name += ", class " + operand.job_class + ",";
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
    MILLRACE_ASSIGN(claim.ours, Compute(from.ours, source));
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
