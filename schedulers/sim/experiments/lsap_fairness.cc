// Guo et al. section 4.4, figure 9: what lsap-fair trades as locality gets dearer.
//
// 60 nodes of one slot, half of them idle, one replica, 30 running and 90 waiting tasks of 5 groups at random, weights
// 1, 2, 4, 8, 16. The cost of a task that is not local is alpha: its transfer takes 1 for every pair.
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/round.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {

Findings LsapFairness(const Options& options) {
  Table table{"figure-9",
              "Figure 9: fairness gained and locality over the cost of a task that is not local",
              {Given("alpha"), Measured("d before", 2), Measured("d after", 2), Measured("fairness gained", 2),
               Measured("node-local, %")}};
  const RoundSpec spec{.nodes = 60, .slots = 1, .idle = 30, .tasks = 90, .replication = 1, .groups = {1, 2, 4, 8, 16}};
  const std::uint32_t draws = options.Repeat(40);
  table.repeats = Count(draws, "placement");
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
  std::vector<Claim> claims = {
      {"fairness gained at the largest cost less at none", "falls", rise("fairness gained"), Measured("", 2),
       AtMost(0)},
      {"node-local maps at the largest cost less at none, points", "rises", rise("node-local, %"), Measured(""),
       AtLeast(0)},
  };
  return {{table}, claims};
}

}  // namespace millrace::sim::experiments
