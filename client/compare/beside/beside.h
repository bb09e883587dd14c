// Beside: every live run of a comparison simulated beside it, and how far the simulations are off.
//
// The costs of the cluster are measured on the baseline's second runs, which are made only to compare the baseline with
// itself: so no run that is judged was fitted. A comparison without second runs has only runs that are judged; then the
// costs are those of the baseline's first block, and that run is left out of the errors.
//
// - Error: simulated / live - 1 of each seed, by the geometric mean, with an interval by the bootstrap-t (statistics/
//   estimate.h) if there are three seeds. Of a metric with a value that is not above 0 it is the error of the means,
//   without an interval. A metric that is 0 everywhere is left out.
// - Rank agreement: Kendall's tau-b of the schedulers' means, live and simulated.
// Thread rule: values and free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/compare/beside/costs.h"
#include "client/compare/document.h"
#include "client/compare/sim_arena.h"

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
  std::optional<double> tau;  // nothing for one scheduler, or if all are alike
};

struct Beside {
  Costs costs;
  std::vector<std::string> classes;    // names, as Costs::classes has them
  std::vector<PerKind<bool>> untimed;  // likewise: of which the workload file does not say what they take
  std::uint32_t measured_runs = 0;
  bool second = false;  // they are second runs of the baseline
  std::vector<BesideMetric> metrics;
  // Keys of links that the workload file states, and a local cluster does not have: they are not simulated.
  std::vector<std::string> links_not_there;
};

// One run of a scheduler and its simulation, by one metric.
struct LivePair {
  double live = 0, simulated = 0;
};
// Returns the row of so many pairs. Requires: one pair at least.
[[nodiscard]] BesideRow RowOf(std::uint32_t scheduler, const std::vector<LivePair>& pairs);
[[nodiscard]] std::optional<double> RankAgreement(const std::vector<BesideRow>& rows);

// Simulates the runs of the material. `draw` gives the workload of a seed, as the live runs had it.
[[nodiscard]] Result<Beside> SimulateBeside(const Material& material, const DrawSimulation& draw);

// Returns the member `simulated` of the comparison document (docs/comparison.md).
[[nodiscard]] nlohmann::ordered_json BesideJson(const Beside& beside);
// Returns a line for each metric and scheduler.
[[nodiscard]] std::string BesideCsv(const Beside& beside, const std::vector<std::string>& schedulers);
// Returns rows of cells, the head first: without `wide` of the metrics that decide, of locality and of the bytes
// between racks.
[[nodiscard]] std::vector<std::vector<std::string>> BesideTable(const Beside& beside, const Subject& subject,
                                                                bool wide);
// Returns what a reader must know before believing the simulations: sentences without a full stop.
[[nodiscard]] std::vector<std::string> BesideWarnings(const Beside& beside);
// Returns lines without a full stop: on which runs the costs were measured, what was not simulated, and the rank
// agreement.
[[nodiscard]] std::vector<std::string> BesideLines(const Beside& beside, const std::vector<std::string>& schedulers,
                                                   const Design& design);

}  // namespace millrace::compare
