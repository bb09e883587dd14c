// SPDX-License-Identifier: Apache-2.0
// Tables of a comparison as CSV, for spreadsheets (docs/schedulers/comparing.md explains the columns):
//   comparisons.csv   a line for each scheduler and metric: ratio, shift, p, verdict
//   runs.csv          a line for each run: all metrics
//   jobs.csv          a line for each job of every run, including the baseline's second runs
// Thread rule: free functions, any thread.
#pragma once

#include <string>

#include "lab/report/document.h"

namespace millrace::compare {

[[nodiscard]] std::string ComparisonsCsv(const Material& material);
[[nodiscard]] std::string RunsCsv(const Material& material);
[[nodiscard]] std::string JobsCsv(const Material& material);

}  // namespace millrace::compare
