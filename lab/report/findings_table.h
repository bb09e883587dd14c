// SPDX-License-Identifier: Apache-2.0
// Shows the outcome of a comparison to people, on a terminal. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "lab/report/document.h"

namespace millrace::compare {

// Returns rows of cells, the head first. Each metric has a row for the baseline and one for each other scheduler.
// Without `wide` only the headline metrics have rows, and the table fits a terminal of 80 columns.
[[nodiscard]] std::vector<std::vector<std::string>> FindingsTable(const Material& material, bool wide);

// Returns a line for each headline metric with the schedulers that no other is shown to beat.
[[nodiscard]] std::vector<std::string> WinnerLines(const Material& material);

// Returns rows of cells that explain each metric.
[[nodiscard]] std::vector<std::vector<std::string>> MetricsTable();

}  // namespace millrace::compare
