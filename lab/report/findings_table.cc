// SPDX-License-Identifier: Apache-2.0
#include "lab/report/findings_table.h"

#include <cmath>
#include <optional>

#include "base/text.h"

namespace millrace::compare {
namespace {

std::string Interval(const std::optional<sim::Estimate>& estimate) {
  if (!estimate) return "-";
  return Formatted("%.3f", estimate->low) + " to " + Formatted("%.3f", estimate->high);
}

std::string VerdictCell(const sim::Comparison& comparison) {
  if (comparison.unjudged != sim::Unjudged::kNo) return std::string(sim::UnjudgedName(comparison.unjudged));
  std::string text(sim::VerdictName(comparison.verdict));
  if (comparison.verdict != sim::Verdict::kUndecided) return text;
  return text + (comparison.more_runs ? ", +" + std::to_string(*comparison.more_runs) + " runs?"
                                      : ", +" + std::to_string(sim::kMostMoreRuns) + " runs would not do");
}

// In the metric's unit, with its sign.
std::string SignedValue(const Metric& metric, double value) {
  return (value < 0 ? "-" : "+") + FormatValue(metric, std::abs(value));
}

std::string Differences(const Metric& metric, const std::optional<sim::Estimate>& difference) {
  if (!difference) return "-";
  return SignedValue(metric, difference->low) + " to " + SignedValue(metric, difference->high);
}

std::string ShiftCell(const Metric& metric, const std::optional<sim::Estimate>& shift) {
  if (!shift) return "-";
  return SignedValue(metric, shift->value) + " (" + Differences(metric, shift) + ")";
}

// The baseline's own line: its second runs over its first ones, or less them where there is no ratio.
std::vector<std::string> BaselineCells(const JudgedMetric& one, bool wide) {
  const auto& same = one.comparison.same_against_same;
  const bool ratios = one.comparison.has_ratios;
  std::vector<std::string> cells{ratios ? "1" : "+0", ratios ? Interval(same) : Differences(*one.metric, same),
                                 "baseline"};
  if (wide) cells.insert(cells.end(), 3, "-");
  return cells;
}

std::vector<std::string> RivalCells(const JudgedMetric& one, const sim::Comparison& comparison, bool wide) {
  const bool is_alone = comparison.runs == 1;  // there is nothing to make an interval of
  std::vector<std::string> cells;
  if (comparison.ratio) {
    cells = {Formatted("%.3f", comparison.ratio->value), is_alone ? "-" : Interval(comparison.ratio)};
  } else {
    cells = {SignedValue(*one.metric, comparison.difference.value),
             is_alone ? "-" : Differences(*one.metric, comparison.difference)};
  }
  cells.push_back(VerdictCell(comparison));
  if (!wide) return cells;
  cells.push_back(ShiftCell(*one.metric, comparison.shift));
  cells.push_back(Formatted("%.4f", comparison.p));
  cells.push_back(Formatted("%.4f", comparison.p_adjusted));
  return cells;
}

}  // namespace

std::vector<std::vector<std::string>> FindingsTable(const Material& material, bool wide) {
  std::vector<std::vector<std::string>> rows{{"METRIC", "SCHEDULER", "MEAN", "RATIO", "95% INTERVAL", "VERDICT"}};
  if (wide) rows[0].insert(rows[0].end(), {"SHIFT", "P", "P ADJUSTED"});
  for (const JudgedMetric& one : material.judged) {
    if (!wide && !one.headline) continue;
    for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
      std::vector<std::string>& row = rows.emplace_back();
      row = {std::string(one.metric->key), material.subject->schedulers[scheduler].label,
             FormatValue(*one.metric, sim::Mean(one.runs.values[scheduler]))};
      const std::vector<std::string> cells = scheduler == material.design.baseline
                                                 ? BaselineCells(one, wide)
                                                 : RivalCells(one, one.comparison.schedulers[scheduler], wide);
      row.insert(row.end(), cells.begin(), cells.end());
    }
  }
  return rows;
}

std::vector<std::string> WinnerLines(const Material& material) {
  std::vector<std::string> lines;
  for (const JudgedMetric& one : material.judged) {
    if (!one.headline) continue;
    std::string names;
    for (const std::uint32_t winner : one.comparison.winners)
      names += (names.empty() ? "" : ", ") + material.subject->schedulers[winner].label;
    const bool all = one.comparison.winners.size() == material.design.schedulers;
    lines.push_back("best by " + std::string(one.metric->key) + ": " + (all ? "none is shown to beat another" : names));
  }
  return lines;
}

std::vector<std::vector<std::string>> MetricsTable() {
  std::vector<std::vector<std::string>> rows{{"METRIC", "UNIT", "BETTER", "WHAT IT IS"}};
  for (const Metric& metric : Metrics()) {
    rows.push_back({std::string(metric.key), std::string(metric.unit),
                    metric.better == sim::Better::kLower ? "lower" : "higher", std::string(metric.says)});
  }
  return rows;
}

}  // namespace millrace::compare
