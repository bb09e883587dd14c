#include "client/compare/findings_table.h"

#include <cstdio>
#include <optional>

namespace millrace::compare {
namespace {

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Interval(const std::optional<sim::Estimate>& estimate) {
  if (!estimate) return "-";
  return Formatted("%.3f", estimate->low) + " to " + Formatted("%.3f", estimate->high);
}

std::string VerdictCell(const sim::Comparison& comparison) {
  std::string text(sim::VerdictName(comparison.verdict));
  if (comparison.more_runs) text += ", +" + std::to_string(*comparison.more_runs) + " runs?";
  return text;
}

std::string ShiftCell(const Metric& metric, const std::optional<sim::Estimate>& shift) {
  if (!shift) return "-";
  return FormatValue(metric, shift->value) + " (" + FormatValue(metric, shift->low) + " to " +
         FormatValue(metric, shift->high) + ")";
}

// The baseline's own line: its second runs over its first ones.
std::vector<std::string> BaselineCells(const JudgedMetric& one, bool wide) {
  const auto& same = one.comparison.same_against_same;
  std::vector<std::string> cells{"1", same ? Interval(same) : "-", "baseline"};
  if (wide) cells.insert(cells.end(), 3, "-");
  return cells;
}

std::vector<std::string> RivalCells(const JudgedMetric& one, const sim::Comparison& comparison, bool wide) {
  std::vector<std::string> cells{comparison.ratio ? Formatted("%.3f", comparison.ratio->value) : "-",
                                 Interval(comparison.ratio), VerdictCell(comparison)};
  if (!wide) return cells;
  cells.push_back(ShiftCell(*one.metric, comparison.shift));
  cells.push_back(Formatted("%.4f", comparison.p));
  cells.push_back(comparison.p_adjusted ? Formatted("%.4f", *comparison.p_adjusted) : "-");
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
