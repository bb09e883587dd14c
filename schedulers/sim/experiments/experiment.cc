#include "schedulers/sim/experiments/experiment.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace millrace::sim::experiments {

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

std::uint32_t Options::Repeat(std::uint32_t full) const {
  return std::max(1U, static_cast<std::uint32_t>(std::lround(full * effort)));
}

}  // namespace millrace::sim::experiments
