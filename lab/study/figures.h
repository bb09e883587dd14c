// The figures of one simulation that a paper's tables and claims name: the metrics of `millrace compare`, and some that
// only papers print. A figure may be of the jobs of one class alone. Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/report/metrics_of_run.h"

namespace millrace::sim::experiments {

// Returns the metric of this key; null if there is none.
[[nodiscard]] const compare::Metric* FindFigure(std::string_view key);
[[nodiscard]] std::vector<std::string> FigureKeys();

// Returns true if the metric can be computed for some of the jobs alone, because it follows from the outcome of each.
[[nodiscard]] bool IsOfJobs(const compare::Metric& metric);

// Returns the result as if the jobs of this class had been all. Only the metrics of jobs follow from it.
[[nodiscard]] SimResult OnlyClass(const SimResult& result, const std::string& job_class);

}  // namespace millrace::sim::experiments
