// Reports of simulations: tables for people, JSON and CSV for programs.
//
// WriteReports lays out, below one directory:
//   SCHEDULER/summary.json   the metrics (docs/policies.md#metrics), by pool and class too
//   SCHEDULER/jobs.csv       a line a job
//   SCHEDULER/tasks.csv      a line an attempt, when the result has them
//   SCHEDULER/samples.csv    a line a moment: running, capacity, F, d
//   comparison.csv, comparison.json   a line a scheduler
//   timing.csv               wall time of deciding; the only file that differs between equal runs
// Times are seconds, sizes bytes, shares 0 to 1. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "schedulers/sim/metrics/metrics.h"

namespace millrace::sim {

// Rows of cells, the head first: a line a scheduler.
[[nodiscard]] std::vector<std::vector<std::string>> ComparisonTable(const std::vector<SimResult>& results);

[[nodiscard]] std::string SummaryJson(const SimResult& result);
[[nodiscard]] std::string JobsCsv(const SimResult& result);
[[nodiscard]] std::string TasksCsv(const SimResult& result);
[[nodiscard]] std::string SamplesCsv(const SimResult& result);
[[nodiscard]] std::string ComparisonCsv(const std::vector<SimResult>& results);
[[nodiscard]] std::string ComparisonJson(const std::vector<SimResult>& results);

// Writes the reports. It makes the directories, replaces files of these names, and leaves others alone.
[[nodiscard]] Status WriteReports(const std::string& directory, const std::vector<SimResult>& results);

}  // namespace millrace::sim
