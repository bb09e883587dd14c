// SPDX-License-Identifier: Apache-2.0
// Guo et al. section 4.4, figure 9, and table 1: what lsap-fair trades as locality gets dearer.
//
// 60 nodes of one slot, half of them idle, one replica, 30 running and 90 waiting tasks of 5 groups at random, weights
// 1, 2, 4, 8, 16. The cost of a task that is not local is alpha: its transfer takes 1 for every pair. So the DLC lies
// in [0, alpha], and the FC of what is beyond a group's share in [0, 100] (beta), which are the ranges of table 1.
#include "lab/papers/list.h"
#include "lab/papers/round.h"
#include "schedulers/policies/lsap/lsap_settings.h"

namespace millrace::sim::experiments {
namespace {

constexpr const char* kFairness = "fairness gained";
constexpr const char* kLocality = "node-local, %";

}  // namespace

Findings LsapFairness(const Options& options) {
  Table table{
      "figure-9",
      "Figure 9: fairness gained and locality over the cost of a task that is not local",
      {Given("alpha"), Measured("d before", 2), Measured("d after", 2), Measured(kFairness, 2), Measured(kLocality)}};
  const RoundSpec spec{.nodes = 60, .slots = 1, .idle = 30, .tasks = 90, .replication = 1, .groups = {1, 2, 4, 8, 16}};
  const std::uint32_t draws = options.Repeat(40);
  table.repeats = Placements(draws);
  for (const double alpha : {0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0, 200.0, 400.0}) {
    RoundResult mean;
    for (std::uint32_t draw = 0; draw < draws; ++draw) {
      sched::Settings settings;
      settings.Of<sched::LsapSettings>().alpha = alpha;
      const RoundResult result = Round(spec, RoundCosts::kEqual, options.seed * 1000 + draw).Run("lsap-fair", settings);
      mean.local += 100 * result.local / draws;
      mean.distance_before += result.distance_before / draws;
      mean.distance_after += result.distance_after / draws;
    }
    table.rows.push_back(
        {alpha, mean.distance_before, mean.distance_after, mean.distance_before - mean.distance_after, mean.local});
  }
  const std::size_t last = table.rows.size() - 1;
  const auto rise = [&](const char* column) { return table.Number(last, column) - table.Number(0, column); };
  // Returns the part of the way from the value without costs to that with the largest cost that this cost has gone, in
  // %.
  const auto gone = [&](const char* column, double alpha) {
    std::size_t row = 0;
    while (table.Number(row, "alpha") != alpha) ++row;
    return 100 * (table.Number(row, column) - table.Number(0, column)) / rise(column);
  };
  const auto one = [&](const char* text, const char* paper, double ours, const Expected& expected) {
    return Claim{text, paper, ours, Measured(""), expected, Setting::kReading};
  };
  std::vector<Claim> claims = {
      {"fairness gained at the largest cost less at none", "falls", rise(kFairness), Measured("", 2), AtMost(0)},
      {"node-local maps at the largest cost less at none, points", "rises", rise(kLocality), Measured(""), AtLeast(0)},
      one("table 1, DLC up to 20: fairness, % of what can be gained", "favoured (above 50)", 100 - gone(kFairness, 20),
          AtLeast(50)),
      one("table 1, DLC up to 20: locality, % of what can be gained", "not favoured (below 50)", gone(kLocality, 20),
          AtMost(50)),
      one("table 1, DLC up to 100: fairness", "both (above 50)", 100 - gone(kFairness, 100), AtLeast(50)),
      one("table 1, DLC up to 100: locality", "both (above 50)", gone(kLocality, 100), AtLeast(50)),
      one("table 1, DLC up to 200: fairness", "not favoured (below 50)", 100 - gone(kFairness, 200), AtMost(50)),
      one("table 1, DLC up to 200: locality", "favoured (above 50)", gone(kLocality, 200), AtLeast(50)),
  };
  return {{table}, claims};
}

}  // namespace millrace::sim::experiments
