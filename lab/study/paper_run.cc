#include "lab/study/paper_run.h"

#include <algorithm>
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

  [[nodiscard]] Result<double> Of(const Operand& operand, const std::string& place) override {
    MILLRACE_ASSIGN(const std::vector<SimResult>* results, Results(operand));
    double sum = 0;
    for (const SimResult& result : *results) {
      const std::optional<double> value = FigureOf(operand, result);
      if (!value)
        return Invalid(place + ": " + NameOf(paper_, operand) + " has no " + std::string(operand.metric->key));
      sum += *value / static_cast<double>(results->size());
    }
    return sum;
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // point, scheduler

  Result<const std::vector<SimResult>*> Results(const Operand& operand) {
    const Key key(operand.point, operand.scheduler);
    if (const auto at = results_.find(key); at != results_.end()) return &at->second;
    const std::uint32_t draws = DrawsOf(operand.point);
    std::vector<SimResult> results(std::max(draws, 1U));
    for (std::uint32_t draw = 0; draw < results.size(); ++draw) {
      const std::uint64_t seed = draws == 0 ? options_.seed : options_.seed * kSeedsOfDraws + draw;
      MILLRACE_ASSIGN(results[draw], RunOne(operand, seed));
    }
    return &results_.emplace(key, std::move(results)).first->second;
  }

  Result<SimResult> RunOne(const Operand& operand, std::uint64_t seed) {
    const std::string& text = paper_.workloads[paper_.points[operand.point].drawn_from[operand.scheduler]];
    Overrides overrides;
    overrides.seed = seed;
    MILLRACE_ASSIGN(const SimulationFile file, ParseSimulation(text, paper_.name, overrides));
    SimOptions options;
    options.seed = seed, options.stop_at = file.stop_at;
    if (paper_.slowdowns) {
      MILLRACE_ASSIGN(options.alone, AloneTimes(file.cluster, file.workload, options));
    }
    const sched::Variant& variant = paper_.schedulers[operand.scheduler];
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

Result<double> Against(As as, double ours, double theirs, double scale, const std::string& place) {
  if (as == As::kDifference) return (ours - theirs) * scale;
  if (theirs == 0) return Invalid(place + ": a ratio to 0");
  const double ratio = ours / theirs;
  if (as == As::kLess) return kPercent * (1 - ratio);
  return as == As::kMore ? kPercent * (ratio - 1) : ratio;
}

Result<double> Compute(const Reckoning& reckoning, FigureSource& source) {
  std::vector<double> values;
  for (std::size_t i = 0; i < reckoning.ours.size(); ++i) {
    MILLRACE_ASSIGN(const double ours, source.Of(reckoning.ours[i], reckoning.place));
    if (reckoning.as == As::kValue) {
      values.push_back(ours * reckoning.scale);
      continue;
    }
    MILLRACE_ASSIGN(const double theirs, source.Of(reckoning.theirs[i], reckoning.place));
    MILLRACE_ASSIGN(const double value, Against(reckoning.as, ours, theirs, reckoning.scale, reckoning.place));
    values.push_back(value);
  }
  if (reckoning.over == Over::kLeast) return *std::min_element(values.begin(), values.end());
  if (reckoning.over == Over::kMost) return *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Result<Table> Fill(const Paper& paper, const PaperTable& from, FigureSource& source) {
  Table table{from.id, from.title, from.columns};
  for (const std::vector<PaperCell>& row : from.rows) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const PaperCell& cell : row) {
      if (!cell.ours) {
        cells.push_back(cell.given);
        continue;
      }
      MILLRACE_ASSIGN(const double value, Compute(*cell.ours, source));
      cells.emplace_back(value);
      const std::uint32_t point = cell.ours->ours.front().point;
      const std::uint32_t draws = source.DrawsOf(point);
      if (draws == 0) continue;
      table.repeats = std::to_string(draws) + ' ' + paper.draw + (draws == 1 ? "" : "s");
    }
  }
  return table;
}

}  // namespace

std::optional<double> FigureOf(const Operand& operand, const SimResult& result) {
  compare::RunOutcome outcome;
  outcome.result = operand.job_class.empty() ? result : OnlyClass(result, operand.job_class);
  return operand.metric->of(outcome);
}

std::string NameOf(const Paper& paper, const Operand& operand) {
  const Point& point = paper.points[operand.point];
  std::string name = paper.schedulers[operand.scheduler].label;
  if (!point.sweep.empty()) name += " at " + point.sweep + (point.label.empty() ? "" : " " + point.label);
  return name + (operand.job_class.empty() ? "" : ", class " + operand.job_class + ",");
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
