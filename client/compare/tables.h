// Tables of a comparison as CSV, for spreadsheets (docs/comparing.md says what the columns are):
//   comparisons.csv   a line a scheduler and metric: ratio, shift, p, verdict
//   runs.csv          a line a run: all metrics
//   jobs.csv          a line a job of every run, the baseline's second runs as well
// Thread rule: free functions, any thread.
#pragma once

#include <string>

#include "client/compare/document.h"

namespace millrace::compare {

[[nodiscard]] std::string ComparisonsCsv(const Material& material);
[[nodiscard]] std::string RunsCsv(const Material& material);
[[nodiscard]] std::string JobsCsv(const Material& material);

}  // namespace millrace::compare
