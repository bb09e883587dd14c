// SPDX-License-Identifier: Apache-2.0
#include "lab/report/tables.h"

#include <optional>
#include <vector>

#include "lab/measure/csv.h"
#include "lab/measure/report.h"

namespace millrace::compare {
namespace {

using sim::csv::Field;
using sim::csv::Line;
using sim::csv::Number;

std::string NumberOrNothing(const std::optional<double>& value) { return value ? Number(*value) : ""; }

void AddEstimate(const std::optional<sim::Estimate>& estimate, std::vector<std::string>* cells) {
  for (const double value :
       estimate ? std::vector<double>{estimate->value, estimate->low, estimate->high} : std::vector<double>{})
    cells->push_back(Number(value));
  if (!estimate) cells->insert(cells->end(), 3, "");
}

// The cells that say which run it is.
std::vector<std::string> RunCells(const Material& material, const RunRecord& record) {
  return {Field(material.subject->schedulers[record.run.scheduler].label), std::to_string(record.run.block),
          std::to_string(record.run.order), std::to_string(record.run.seed), record.run.second ? "1" : "0"};
}

const std::vector<std::string>& RunColumns() {
  static const std::vector<std::string> kColumns{"scheduler", "block", "order", "seed", "second"};
  return kColumns;
}

}  // namespace

std::string ComparisonsCsv(const Material& material) {
  std::string text;
  Line(&text,
       {"scheduler", "baseline", "metric", "unit", "better", "headline", "runs", "mean", "baseline_mean", "ratio",
        "ratio_low", "ratio_high", "shift", "shift_low", "shift_high", "p", "p_adjusted", "verdict", "more_runs"});
  const std::uint32_t baseline = material.design.baseline;
  for (const JudgedMetric& one : material.judged) {
    for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
      if (scheduler == baseline) continue;
      const sim::Comparison& comparison = one.comparison.schedulers[scheduler];
      std::vector<std::string> cells{Field(material.subject->schedulers[scheduler].label),
                                     Field(material.subject->schedulers[baseline].label),
                                     std::string(one.metric->key),
                                     std::string(one.metric->unit),
                                     one.metric->better == sim::Better::kLower ? "lower" : "higher",
                                     one.headline ? "1" : "0",
                                     std::to_string(comparison.runs),
                                     Number(sim::Mean(one.runs.values[scheduler])),
                                     Number(sim::Mean(one.runs.values[baseline]))};
      AddEstimate(comparison.ratio, &cells);
      AddEstimate(comparison.shift, &cells);
      cells.push_back(Number(comparison.p));
      cells.push_back(Number(comparison.p_adjusted));
      cells.emplace_back(sim::VerdictName(comparison.verdict));
      cells.push_back(comparison.more_runs ? std::to_string(*comparison.more_runs) : "");
      Line(&text, cells);
    }
  }
  return text;
}

std::string RunsCsv(const Material& material) {
  std::vector<std::string> columns = RunColumns();
  columns.emplace_back("disturbed");
  const std::vector<const Metric*> metrics = ShownMetrics(material.judged);
  for (const Metric* metric : metrics) columns.emplace_back(Field(std::string(metric->key)));
  std::string text;
  Line(&text, columns);
  for (const RunRecord* record : material.counting) {
    std::vector<std::string> cells = RunCells(material, *record);
    cells.push_back(Field(record->outcome.disturbed));
    for (const Metric* metric : metrics) cells.push_back(NumberOrNothing(metric->of(record->outcome)));
    Line(&text, cells);
  }
  return text;
}

std::string JobsCsv(const Material& material) {
  std::vector<std::string> columns = RunColumns();
  const std::vector<std::string> of_job = sim::JobColumns();
  columns.insert(columns.end(), of_job.begin(), of_job.end());
  std::string text;
  Line(&text, columns);
  for (const RunRecord* record : material.counting) {
    const std::vector<std::string> run = RunCells(material, *record);
    for (const sim::JobRow& job : record->outcome.result.jobs) {
      std::vector<std::string> cells = run;
      const std::vector<std::string> row = sim::JobCells(job);
      cells.insert(cells.end(), row.begin(), row.end());
      Line(&text, cells);
    }
  }
  return text;
}

}  // namespace millrace::compare
