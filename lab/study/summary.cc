// SPDX-License-Identifier: Apache-2.0
#include "lab/study/summary.h"

#include <algorithm>
#include <cstdio>

#include "base/check.h"

namespace millrace::sim::experiments {
namespace {

std::string Digits(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  std::string text = buffer;
  // A number that rounds to 0 has no sign.
  if (text.front() == '-' && text.find_first_of("123456789") == std::string::npos) text.erase(0, 1);
  return text;
}

// A ratio of this value to the baseline, for figures that are relative to one.
double ToRatio(Figure figure, double value) {
  if (figure == Figure::kLess) return 1 - value / 100;
  return figure == Figure::kMore ? 1 + value / 100 : value;
}

Estimate FromRatio(Figure figure, const Estimate& ratio) {
  if (figure == Figure::kLess) return {100 * (1 - ratio.value), 100 * (1 - ratio.high), 100 * (1 - ratio.low)};
  if (figure == Figure::kMore) return {100 * (ratio.value - 1), 100 * (ratio.low - 1), 100 * (ratio.high - 1)};
  return ratio;
}

std::string EstimateText(const Column& column, const std::vector<double>& values) {
  const bool alike = std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
  if (column.figure == Figure::kGiven || alike) return Digits(values.front(), column.decimals);
  const Estimate estimate = EstimateOf(column.figure, values);
  const std::string value = Digits(estimate.value, column.decimals);
  if (column.figure == Figure::kMean) return value + " ± " + Digits(estimate.high - estimate.value, column.decimals);
  return value + " [" + Digits(estimate.low, column.decimals) + ", " + Digits(estimate.high, column.decimals) + "]";
}

std::string CellText(const Column& column, const std::vector<const Cell*>& seeds) {
  const Cell& first = *seeds.front();
  for (const Cell* cell : seeds) MILLRACE_CHECK(cell->index() == first.index(), column.name);
  if (const auto* text = std::get_if<std::string>(&first)) return *text;
  if (std::holds_alternative<std::monostate>(first)) return "-";
  std::vector<double> values;
  for (const Cell* cell : seeds) values.push_back(std::get<double>(*cell));
  return EstimateText(column, values);
}

std::string Caption(const std::string& title, std::size_t seeds, const std::string& repeats) {
  std::string text = title + ". " + (seeds == 1 ? "One seed" : std::to_string(seeds) + " seeds");
  if (!repeats.empty()) text += (seeds == 1 ? " of " : ", each of ") + repeats;
  return text + ".";
}

// Requires: the same table of each seed.
TextTable SummariseTable(const std::vector<const Table*>& seeds) {
  const Table& first = *seeds.front();
  TextTable table{first.id, Caption(first.title, seeds.size(), first.repeats), {}, {}};
  for (std::size_t c = 0; c < first.columns.size(); ++c) {
    const bool figures = std::none_of(first.rows.begin(), first.rows.end(), [c](const std::vector<Cell>& row) {
      return std::holds_alternative<std::string>(row[c]);
    });
    table.columns.push_back({first.columns[c].name, figures});
  }
  for (std::size_t r = 0; r < first.rows.size(); ++r) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (std::size_t c = 0; c < first.columns.size(); ++c) {
      std::vector<const Cell*> cells;
      for (const Table* seed : seeds) cells.push_back(&seed->rows.at(r).at(c));
      row.push_back(CellText(first.columns[c], cells));
    }
  }
  return table;
}

TextTable SummariseClaims(const std::vector<Findings>& seeds) {
  TextTable table{"claims",
                  Caption("What the paper says, and what comes out here", seeds.size(), ""),
                  {{"claim", false}, {"paper", false}, {"here"}, {"holds", false}},
                  {}};
  for (std::size_t c = 0; c < seeds.front().claims.size(); ++c) {
    const Claim& claim = seeds.front().claims[c];
    std::vector<double> values;
    for (const Findings& seed : seeds) values.push_back(seed.claims.at(c).ours);
    std::string verdict = values.size() == 1 ? "-" : Verdict(claim.expected, EstimateOf(claim.how.figure, values));
    if (values.size() > 1 && claim.setting == Setting::kReading) verdict += " (as read)";
    if (values.size() > 1 && claim.setting == Setting::kOurs) verdict = "(" + verdict + ")";
    table.rows.push_back({claim.text, claim.paper, EstimateText(claim.how, values), verdict});
  }
  return table;
}

}  // namespace

Estimate EstimateOf(Figure figure, const std::vector<double>& values) {
  if (figure == Figure::kGiven || figure == Figure::kMean) return MeanByT(values);
  std::vector<double> ratios;
  for (const double value : values) ratios.push_back(ToRatio(figure, value));
  if (std::any_of(ratios.begin(), ratios.end(), [](double ratio) { return ratio <= 0; })) return MeanByT(values);
  return FromRatio(figure, RatioByBootstrapT(ratios));
}

std::string Verdict(const Expected& expected, const Estimate& ours) {
  const bool apart = ours.high < expected.low || ours.low > expected.high;
  if (!expected.size) {
    if (apart) return "no";
    return expected.low <= ours.low && ours.high <= expected.high ? "yes" : "undecided";
  }
  if (!apart) return "yes";
  const bool below = ours.high < expected.low;
  if (!expected.none.has_value()) return below ? "lower" : "higher";
  if (ours.low <= *expected.none && *expected.none <= ours.high) return "none";
  // The side of `none` on which the effect of the paper lies.
  const bool rising = expected.low > *expected.none;
  const bool opposite = rising ? ours.high < *expected.none : ours.low > *expected.none;
  if (opposite) return "no, opposite";
  return below == rising ? "yes, less" : "yes, more";
}

std::vector<TextTable> Summarise(const std::vector<Findings>& seeds) {
  MILLRACE_CHECK(!seeds.empty(), "nothing to put together");
  std::vector<TextTable> tables;
  for (std::size_t t = 0; t < seeds.front().tables.size(); ++t) {
    std::vector<const Table*> same;
    for (const Findings& seed : seeds) same.push_back(&seed.tables.at(t));
    tables.push_back(SummariseTable(same));
  }
  if (!seeds.front().claims.empty()) tables.push_back(SummariseClaims(seeds));
  return tables;
}

}  // namespace millrace::sim::experiments
