// SPDX-License-Identifier: Apache-2.0
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

// Returns whether the metric needs the samples, or the rows of the tasks, of a run.
[[nodiscard]] bool IsOfSamples(const compare::Metric& metric);
[[nodiscard]] bool IsOfTasks(const compare::Metric& metric);
// Returns whether the metric compares each job with the same job under another scheduler: its turnaround there stands
// in JobRow::alone (Beside).
[[nodiscard]] bool IsOfBaseline(const compare::Metric& metric);

// Returns the result with the jobs' turnarounds under a baseline; 0 for a job that did not end there. Requires: both
// are of the same jobs.
[[nodiscard]] SimResult Beside(SimResult result, const SimResult& baseline);

// Returns the result as if the jobs of these classes had been all. Only the metrics of jobs follow from it.
[[nodiscard]] SimResult OnlyClasses(const SimResult& result, const std::vector<std::string>& classes);

}  // namespace millrace::sim::experiments
