// SPDX-License-Identifier: Apache-2.0
// Beside holds a simulation of every live run of a comparison, and the errors of the simulations.
//
// The costs of the cluster are measured on the baseline's second runs, which are made only to compare the baseline with
// itself. So the costs are not fitted to a run that is judged. In a comparison without second runs every run is judged;
// then the costs are those of the baseline's first block, and that run is left out of the errors.
//
// - Error: the geometric mean of simulated / live - 1 over the seeds, with an interval by the bootstrap-t (measure/
//   estimate.h) if there are three seeds. If a value of the metric is not above 0, the error is that of the means,
//   without an interval. A metric that is 0 everywhere is left out.
// - Rank agreement: Kendall's tau-b of the schedulers' means, live and simulated.
// Thread rule: values and free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/beside/costs.h"
#include "lab/report/document.h"
#include "lab/run/sim_arena.h"

namespace millrace::compare {

// One scheduler by one metric, over the runs that were simulated.
struct BesideRow {
  std::uint32_t scheduler = 0;
  std::uint32_t runs = 0;
  double live = 0, simulated = 0;         // means
  std::optional<double> error;            // nothing if the live mean is 0
  std::optional<sim::Estimate> interval;  // of the error; its value is the error
};

struct BesideMetric {
  const Metric* metric = nullptr;
  std::vector<BesideRow> rows;
  std::optional<double> tau;  // nothing for one scheduler, or if all have the same mean
};

struct Beside {
  Costs costs;
  std::vector<std::string> classes;    // names, as Costs::classes has them
  std::vector<PerKind<bool>> untimed;  // by class: true if the workload file has no times for tasks of the kind
  std::uint32_t measured_runs = 0;
  bool second = false;  // the measured runs are second runs of the baseline
  std::vector<BesideMetric> metrics;
  std::uint32_t racks = 1, datacenters = 1;  // of the cluster; each has a link in each direction
  // Keys of links that the workload file states but a local cluster does not have: these links are not simulated.
  std::vector<std::string> links_not_there;
};

// One run of a scheduler and its simulation, by one metric.
struct LivePair {
  double live = 0, simulated = 0;
};
// Summarises the pairs in one row. Requires: at least one pair.
[[nodiscard]] BesideRow RowOf(std::uint32_t scheduler, const std::vector<LivePair>& pairs);
[[nodiscard]] std::optional<double> RankAgreement(const std::vector<BesideRow>& rows);

// Simulates the runs of the material. `draw` returns the workload of a seed, the same as in the live runs.
[[nodiscard]] Result<Beside> SimulateBeside(const Material& material, const DrawSimulation& draw);

// Returns the member `simulated` of the comparison document (docs/schedulers/comparison.md).
[[nodiscard]] nlohmann::ordered_json BesideJson(const Beside& beside);
// Returns a line for each metric and scheduler.
[[nodiscard]] std::string BesideCsv(const Beside& beside, const std::vector<std::string>& schedulers);
// Returns rows of cells, the head first. Without `wide` there are rows only for the metrics that decide, for locality
// and for the bytes between racks.
[[nodiscard]] std::vector<std::vector<std::string>> BesideTable(const Beside& beside, const Subject& subject,
                                                                bool wide);
// Returns warnings that a reader needs before believing the simulations, as sentences without a full stop: scales that
// are far from 1, and schedulers that load a link otherwise than the baseline did while the costs were measured.
[[nodiscard]] std::vector<std::string> BesideWarnings(const Beside& beside, const std::vector<std::string>& schedulers,
                                                      const Design& design);
// Returns lines without a full stop: the runs on which the costs were measured, the parts that were not simulated, and
// the rank agreement.
[[nodiscard]] std::vector<std::string> BesideLines(const Beside& beside, const std::vector<std::string>& schedulers,
                                                   const Design& design);

}  // namespace millrace::compare
