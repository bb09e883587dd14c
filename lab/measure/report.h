// SPDX-License-Identifier: Apache-2.0
// Reports of simulations: tables for people, JSON and CSV for programs.
//
// WriteReports lays out, below one directory:
//   SCHEDULER/summary.json   the metrics (docs/schedulers/policies.md#metrics), also by pool and class
//   SCHEDULER/jobs.csv       a line per job
//   SCHEDULER/tasks.csv      a line per attempt, if the result has them
//   SCHEDULER/samples.csv    a line per sample: running, capacity, F, d
//   comparison.csv, comparison.json   a line per scheduler
//   timing.csv               wall time of deciding; the only file that differs between equal runs
// Times are seconds, sizes bytes, shares 0 to 1. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "lab/measure/metrics.h"

namespace millrace::sim {

// Returns rows of cells, the head first, then one per scheduler. Without `wide`, the table has only the columns that
// fit into a terminal of 80 columns.
[[nodiscard]] std::vector<std::vector<std::string>> ComparisonTable(const std::vector<SimResult>& results, bool wide);

// Returns a warning, as a sentence without a full stop, that schedulers can hardly differ because the slots are used
// too little; empty if their largest utilisation, which is the argument, is high enough.
[[nodiscard]] std::string IdleWarning(double utilisation);

// Return the columns of jobs.csv, and the cells of a job.
[[nodiscard]] std::vector<std::string> JobColumns();
[[nodiscard]] std::vector<std::string> JobCells(const JobRow& row);

[[nodiscard]] std::string SummaryJson(const SimResult& result);
[[nodiscard]] std::string JobsCsv(const SimResult& result);
[[nodiscard]] std::string TasksCsv(const SimResult& result);
[[nodiscard]] std::string SamplesCsv(const SimResult& result);
[[nodiscard]] std::string ComparisonCsv(const std::vector<SimResult>& results);
[[nodiscard]] std::string ComparisonJson(const std::vector<SimResult>& results);

// Returns kInvalid for a directory that contains anything that the reports of these schedulers would not replace, such
// as reports of another scheduler, since readers would take all for one comparison. The directory need not exist.
[[nodiscard]] Status CheckReportDirectory(const std::string& directory, const std::vector<std::string>& schedulers);

// Writes the reports. Makes the directories, replaces files of these names, and leaves others alone.
[[nodiscard]] Status WriteReports(const std::string& directory, const std::vector<SimResult>& results);

}  // namespace millrace::sim
