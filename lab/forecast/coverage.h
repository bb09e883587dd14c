// SPDX-License-Identifier: Apache-2.0
// Coverage: how often statements of when jobs start and end hold, and how wide their intervals are, in a simulation.
//
// A simulated master makes statements at each arrival of a job, about all live jobs, as the live one does
// (schedulers/forecast). Two things are counted. "At arrival": the statement made of a job when it arrives. "Any time":
// the statement of a job that is judged, the first and one drawn from the others. Only statements count that were made
// when `kWarm` jobs had ended. Thread rule: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/model/simulate.h"
#include "lab/workload/cluster_spec.h"
#include "lab/workload/workload.h"
#include "schedulers/forecast/intervals.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim {

// The statements of one kind.
struct CoveredKind {
  std::uint32_t stated = 0;   // with intervals, and with a known outcome
  std::uint32_t unknown = 0;  // without a time, or without intervals
  std::array<std::uint32_t, sched::kLevels.size()> held = {};
  // (hi + 1 s) / (lo + 1 s), of each statement
  std::array<std::vector<double>, sched::kLevels.size()> widths = {};
  std::vector<double> errors;  // |predicted - actual| / (actual + 1 s)
};

struct Coverage {
  std::array<CoveredKind, sched::kForetold.size()> at_arrival = {}, any_time = {};
  std::uint32_t jobs = 0, plays = 0;
  std::uint64_t events = 0;  // of all plays
  double play_seconds = 0;   // processor time of the plays
  double longest_play = 0;   // in seconds
};

struct CoverageOptions {
  SimOptions simulation;
  std::uint32_t warm = 100;        // jobs that have ended before a statement counts
  Micros from = 0, until = 0;      // only statements made in this span count; `until` 0: to the end
  std::uint64_t events = 200'000;  // the bound of one play
};

// Fails as Simulate does.
[[nodiscard]] Result<Coverage> MeasureCoverage(const ClusterSpec& cluster, const Workload& workload,
                                               const std::string& scheduler, const sched::Settings& settings,
                                               const CoverageOptions& options);

// Adds the counts of another run.
void AddCoverage(const Coverage& other, Coverage* to);

}  // namespace millrace::sim
