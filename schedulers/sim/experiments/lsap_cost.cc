// Guo et al. section 4.3: the data locality cost (DLC) of one round, figures 5 to 8.
//
// There are 100 to 500 nodes of 4 slots, as many tasks as idle slots, and 3 replicas. In figure 5 every task that is
// not local costs 1. Figures 6 and 7 have racks of 20 nodes, a cost that is drawn for each task, and half or a fifth of
// the slots idle. Figure 8 has 100 nodes of one slot each, a fifth, half or all of them idle, and 1 to 13 replicas.
// lsap computes the costs from the sizes of the tasks and the bandwidths of the levels; lsap-uniform ignores them. The
// last columns draw a cost for each pair of nodes instead, which lsap learns from measured bandwidths.
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/round.h"

namespace millrace::sim::experiments {
namespace {

struct Costs {
  double dl = 0, uniform = 0, lsap = 0;
};

Costs MeanCosts(const RoundSpec& spec, RoundCosts kind, const Options& options, std::uint32_t draws) {
  Costs mean;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const Round round(spec, kind, options.seed * 1000 + draw);
    mean.dl += round.Run("dl", {}).cost / draws;
    mean.uniform += round.Run("lsap-uniform", {}).cost / draws;
    mean.lsap += round.Run("lsap", {}).cost / draws;
  }
  return mean;
}

double Saved(double cost, double against) { return against > 0 ? 100 * (1 - cost / against) : 0; }

// Returns how much lsap saves compared with dl, in %, if each pair of nodes has its own cost.
double SavedByPair(const RoundSpec& spec, const Options& options, std::uint32_t draws) {
  double dl = 0;
  double lsap = 0;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const Round round(spec, RoundCosts::kByPair, options.seed * 1000 + draw);
    dl += round.Run("dl", {}).cost;
    lsap += round.Run("lsap", {}).cost;
  }
  return Saved(lsap, dl);
}

Table EqualCosts(const Options& options) {
  Table table{"figure 5: DLC with equal costs",
              {{"nodes", 0}, {"dl"}, {"lsap-uniform"}, {"paper: saved, %"}, {"saved, %", 0}}};
  for (std::uint32_t nodes = 100; nodes <= 500; nodes += 100) {
    const RoundSpec spec{.nodes = nodes, .idle = nodes * 2, .tasks = nodes * 2};
    const Costs mean = MeanCosts(spec, RoundCosts::kEqual, options, options.Repeat(10));
    table.rows.push_back({1.0 * nodes, mean.dl, mean.uniform, "70 to 90", Saved(mean.uniform, mean.dl)});
  }
  return table;
}

Table DrawnCosts(const Options& options, std::uint32_t idle_percent, const std::string& title,
                 const std::string& paper_dl, const std::string& paper_uniform) {
  Table table{title,
              {{"nodes", 0},
               {"dl"},
               {"lsap-uniform"},
               {"lsap"},
               {"paper: saved against dl, %"},
               {"against dl, %", 0},
               {"paper: saved against lsap-uniform, %"},
               {"against lsap-uniform, %", 0},
               {"by pair: against dl, %", 0}}};
  for (std::uint32_t nodes = 100; nodes <= 500; nodes += 100) {
    const std::uint32_t idle = nodes * 4 * idle_percent / 100;
    const RoundSpec spec{.nodes = nodes, .idle = idle, .tasks = idle, .rack_nodes = 20};
    const Costs mean = MeanCosts(spec, RoundCosts::kByTask, options, options.Repeat(5));
    table.rows.push_back({1.0 * nodes, mean.dl, mean.uniform, mean.lsap, paper_dl, Saved(mean.lsap, mean.dl),
                          paper_uniform, Saved(mean.lsap, mean.uniform), SavedByPair(spec, options, 1)});
  }
  return table;
}

Table OverReplicas(const Options& options, std::uint32_t idle) {
  Table table{"figure 8: DLC over the replication factor, 100 nodes of one slot, " + std::to_string(idle) + " idle",
              {{"replicas", 0},
               {"dl"},
               {"lsap-uniform"},
               {"lsap"},
               {"paper: saved, %"},
               {"saved, %", 0},
               {"by pair: saved, %", 0}}};
  for (std::uint32_t replicas = 1; replicas <= 13; replicas += 2) {
    const RoundSpec spec{.slots = 1, .idle = idle, .tasks = idle, .replication = replicas, .rack_nodes = 20};
    const Costs mean = MeanCosts(spec, RoundCosts::kByTask, options, options.Repeat(40));
    const char* paper = replicas == 1 ? "all alike" : replicas == 3 ? "over 50" : replicas > 7 ? "almost all" : "";
    table.rows.push_back({1.0 * replicas, mean.dl, mean.uniform, mean.lsap, paper, Saved(mean.lsap, mean.dl),
                          SavedByPair(spec, options, options.Repeat(10))});
  }
  return table;
}

}  // namespace

std::vector<Table> LsapCost(const Options& options) {
  return {EqualCosts(options),
          DrawnCosts(options, 50, "figure 6: DLC with drawn costs, half of the slots idle", "up to 95", "up to 65"),
          DrawnCosts(options, 20, "figure 7: DLC with drawn costs, a fifth of the slots idle", "60 to 70", "40 to 50"),
          OverReplicas(options, 20),
          OverReplicas(options, 50),
          OverReplicas(options, 100)};
}

}  // namespace millrace::sim::experiments
