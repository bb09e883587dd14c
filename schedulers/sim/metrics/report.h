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

// Returns rows of cells, the head first: a line a scheduler. Without `wide` it has the columns that fit into a terminal
// of 80.
[[nodiscard]] std::vector<std::vector<std::string>> ComparisonTable(const std::vector<SimResult>& results, bool wide);

// Returns why schedulers can hardly differ if so little of the slots was in use at the most, as a sentence without a
// full stop; empty if it was enough.
[[nodiscard]] std::string IdleWarning(double utilisation);

// The columns of jobs.csv, and the cells of a job.
[[nodiscard]] std::vector<std::string> JobColumns();
[[nodiscard]] std::vector<std::string> JobCells(const JobRow& row);

[[nodiscard]] std::string SummaryJson(const SimResult& result);
[[nodiscard]] std::string JobsCsv(const SimResult& result);
[[nodiscard]] std::string TasksCsv(const SimResult& result);
[[nodiscard]] std::string SamplesCsv(const SimResult& result);
[[nodiscard]] std::string ComparisonCsv(const std::vector<SimResult>& results);
[[nodiscard]] std::string ComparisonJson(const std::vector<SimResult>& results);

// Returns kInvalid for a directory that holds anything which reports of these schedulers would not replace, such as
// those of another scheduler: they would be taken for one comparison. It need not exist.
[[nodiscard]] Status CheckReportDirectory(const std::string& directory, const std::vector<std::string>& schedulers);

// Writes the reports. It makes the directories, replaces files of these names, and leaves others alone.
[[nodiscard]] Status WriteReports(const std::string& directory, const std::vector<SimResult>& results);

}  // namespace millrace::sim
