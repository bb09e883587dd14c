// SPDX-License-Identifier: Apache-2.0
// A forest plot as SVG: a ratio with its interval in each row, on a logarithmic axis, and behind it, in grey, the
// interval that chance alone gives. Thread rule: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/measure/estimate.h"

namespace millrace::sim::experiments {

struct ForestRow {
  std::string label;
  bool higher_is_better = false;
  Estimate ratio;
  std::optional<Estimate> itself = {};  // of the baseline against itself
};

// Returns the picture. Requires: at least one row, and all ratios with the ends of their intervals are above 0.
[[nodiscard]] std::string ForestPlot(const std::vector<ForestRow>& rows, const std::string& title);

}  // namespace millrace::sim::experiments
