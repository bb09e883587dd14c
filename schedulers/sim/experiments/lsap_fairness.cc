// Guo et al. section 4.4, figure 9: what lsap-fair trades as locality gets dearer.
//
// There are 60 nodes of one slot, half of them idle, and one replica of each block. 30 running and 90 waiting tasks
// belong at random to 5 groups with weights 1, 2, 4, 8 and 16. A task that is not local costs alpha, since its transfer
// takes 1 between any two nodes.
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/round.h"

namespace millrace::sim::experiments {

std::vector<Table> LsapFairness(const Options& options) {
  Table table{"figure 9: fairness gained and locality over the cost of a task that is not local",
              {{"alpha", 0}, {"d before", 2}, {"d after", 2}, {"fairness gained", 2}, {"node-local, %"}}};
  const RoundSpec spec{.nodes = 60, .slots = 1, .idle = 30, .tasks = 90, .replication = 1, .groups = {1, 2, 4, 8, 16}};
  const std::uint32_t draws = options.Repeat(40);
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
  return {table};
}

}  // namespace millrace::sim::experiments
