// SPDX-License-Identifier: Apache-2.0
#include "lab/study/findings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace millrace::sim::experiments {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Column Given(std::string name, int decimals) { return {std::move(name), decimals, Figure::kGiven}; }
Column Measured(std::string name, int decimals) { return {std::move(name), decimals, Figure::kMean}; }
Column Ratio(std::string name, int decimals) { return {std::move(name), decimals, Figure::kRatio}; }
Column Less(std::string name, int decimals) { return {std::move(name), decimals, Figure::kLess}; }
Column More(std::string name, int decimals) { return {std::move(name), decimals, Figure::kMore}; }

Expected AtLeast(double bound) { return {bound, kInfinity}; }
Expected AtMost(double bound) { return {-kInfinity, bound}; }
Expected Within(double low, double high) { return {low, high}; }
Expected Size(double size, double half_digit) { return {size - half_digit, size + half_digit, true}; }
Expected Effect(double size, double half_digit, double none) {
  return {size - half_digit, size + half_digit, true, none};
}

double TauOf(const std::vector<double>& paper, const std::vector<double>& ours) {
  MILLRACE_CHECK(paper.size() == ours.size() && paper.size() > 1, "two orders of the same things");
  double alike = 0, pairs = 0;
  for (std::size_t a = 0; a < paper.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const double product = (paper[a] - paper[b]) * (ours[a] - ours[b]);
      alike += product > 0 ? 1 : product < 0 ? -1 : 0;
      ++pairs;
    }
  }
  return alike / pairs;
}

double Table::Number(std::size_t row, std::string_view column) const {
  const auto at = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == column; });
  MILLRACE_CHECK(at != columns.end(), column);
  MILLRACE_CHECK(row < rows.size(), title);
  return std::get<double>(rows[row][static_cast<std::size_t>(at - columns.begin())]);
}

double Table::Number(std::string_view row, std::string_view column) const {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const std::vector<Cell>& cells) {
    const auto* text = std::get_if<std::string>(&cells.front());
    return text != nullptr && *text == row;
  });
  return Number(static_cast<std::size_t>(at - rows.begin()), column);
}

double Table::MeanOf(std::string_view column) const {
  double sum = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) sum += Number(row, column);
  return sum / static_cast<double>(rows.size());
}

const Table& Findings::Of(std::string_view id) const {
  const auto at = std::find_if(tables.begin(), tables.end(), [&](const Table& table) { return table.id == id; });
  MILLRACE_CHECK(at != tables.end(), id);
  return *at;
}

double Findings::Ours(std::string_view claim) const {
  const auto at = std::find_if(claims.begin(), claims.end(), [&](const Claim& c) { return c.text == claim; });
  MILLRACE_CHECK(at != claims.end(), claim);
  return at->ours;
}

std::uint32_t Options::Repeat(std::uint32_t full) const {
  return std::max(1U, static_cast<std::uint32_t>(std::lround(full * effort)));
}

}  // namespace millrace::sim::experiments
