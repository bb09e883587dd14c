// SPDX-License-Identifier: Apache-2.0
// Guo et al. section 4.3: the data locality cost (DLC) of one round, figures 5 to 8.
//
// 100 to 500 nodes of 4 slots, as many tasks as idle slots, 3 replicas. Figure 5: every task that is not local costs 1.
// Figures 6 and 7: racks of 20 nodes, costs drawn for each task, half or a fifth of the slots idle. Figure 8: 100
// nodes of one slot each, a fifth, half or all of them idle, 1 to 13 replicas. lsap knows the costs by the sizes of the
// tasks and the bandwidths of the levels; lsap-uniform does not look at them. The last columns draw a cost for each
// pair of nodes instead, which lsap learns from measured bandwidths.
#include <algorithm>
#include <string>

#include "lab/papers/list.h"
#include "lab/papers/round.h"

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

// Returns how much lsap saves against dl, in %, with a cost for each pair of nodes.
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
  Table table{"figure-5",
              "Figure 5: DLC with equal costs, and what lsap-uniform saves of that of dl",
              {Given("nodes"), Measured("dl"), Measured("lsap-uniform"), {"paper: saved, %"}, Less("saved, %")}};
  const std::uint32_t draws = options.Repeat(10);
  table.repeats = Placements(draws);
  for (std::uint32_t nodes = 100; nodes <= 500; nodes += 100) {
    const RoundSpec spec{.nodes = nodes, .idle = nodes * 2, .tasks = nodes * 2};
    const Costs mean = MeanCosts(spec, RoundCosts::kEqual, options, draws);
    table.rows.push_back({1.0 * nodes, mean.dl, mean.uniform, "70 to 90", Saved(mean.uniform, mean.dl)});
  }
  return table;
}

RoundSpec DrawnSpec(std::uint32_t nodes, std::uint32_t idle_percent) {
  const std::uint32_t idle = nodes * 4 * idle_percent / 100;
  return {.nodes = nodes, .idle = idle, .tasks = idle, .rack_nodes = 20};
}

constexpr std::uint32_t kDrawnDraws = 5;

// Figures 6 and 7. `uniform` takes what lsap saves of the cost of lsap-uniform, a row for each number of nodes.
Table DrawnCosts(const Options& options, std::uint32_t idle_percent, const std::string& id, const std::string& title,
                 const std::string& paper, std::vector<double>* uniform) {
  Table table{id,
              title,
              {Given("nodes"),
               Measured("dl"),
               Measured("lsap-uniform"),
               Measured("lsap"),
               {"paper: saved, %"},
               Less("saved, %"),
               Less("by pair: saved, %")}};
  const std::uint32_t draws = options.Repeat(kDrawnDraws);
  table.repeats = Placements(draws) + " (by pair: one)";
  for (std::uint32_t nodes = 100; nodes <= 500; nodes += 100) {
    const RoundSpec spec = DrawnSpec(nodes, idle_percent);
    const Costs mean = MeanCosts(spec, RoundCosts::kByTask, options, draws);
    table.rows.push_back({1.0 * nodes, mean.dl, mean.uniform, mean.lsap, paper, Saved(mean.lsap, mean.dl),
                          SavedByPair(spec, options, 1)});
    uniform->push_back(Saved(mean.lsap, mean.uniform));
  }
  return table;
}

Table AgainstUniform(const std::vector<double>& half, const std::vector<double>& fifth, std::uint32_t draws) {
  Table table{"against-uniform",
              "Figures 6 and 7: what lsap saves of the DLC of lsap-uniform, %",
              {Given("nodes"), {"paper: figure 6"}, Less("figure 6"), {"paper: figure 7"}, Less("figure 7")}};
  table.repeats = Placements(draws);
  for (std::size_t row = 0; row < half.size(); ++row)
    table.rows.push_back({100.0 * static_cast<double>(row + 1), "up to 65", half[row], "40 to 50", fifth[row]});
  return table;
}

Table OverReplicas(const Options& options, std::uint32_t idle) {
  const std::string slots = std::to_string(idle);
  Table table{"figure-8-" + slots,
              "Figure 8: DLC over the replication factor, 100 nodes of one slot, " + slots +
                  " idle, and what lsap saves of that of dl",
              {Given("replicas"),
               Measured("dl"),
               Measured("lsap-uniform"),
               Measured("lsap"),
               {"paper: saved, %"},
               Less("saved, %"),
               Less("by pair: saved, %")}};
  const std::uint32_t draws = options.Repeat(20);
  const std::uint32_t pairs = options.Repeat(5);
  table.repeats = Placements(draws) + " (by pair: " + std::to_string(pairs) + ")";
  for (std::uint32_t replicas = 1; replicas <= 13; replicas += 2) {
    const RoundSpec spec{.slots = 1, .idle = idle, .tasks = idle, .replication = replicas, .rack_nodes = 20};
    const Costs mean = MeanCosts(spec, RoundCosts::kByTask, options, draws);
    const Cell paper = replicas == 1   ? Cell("comparable")
                       : replicas == 3 ? Cell("over 50")
                       : replicas > 7  ? Cell("almost all")
                                       : Cell();
    table.rows.push_back({1.0 * replicas, mean.dl, mean.uniform, mean.lsap, paper, Saved(mean.lsap, mean.dl),
                          SavedByPair(spec, options, pairs)});
  }
  return table;
}

std::vector<Claim> Claims(const Findings& findings) {
  const Table &five = findings.Of("figure-5"), &six = findings.Of("figure-6"), &seven = findings.Of("figure-7");
  const Table &uniform = findings.Of("against-uniform"), &eight = findings.Of("figure-8-100");
  double most_six = 0, most_uniform = 0;
  for (std::size_t row = 0; row < six.rows.size(); ++row) {
    most_six = std::max(most_six, six.Number(row, "saved, %"));
    most_uniform = std::max(most_uniform, uniform.Number(row, "figure 6"));
  }
  return {
      {"figure 5: saved by lsap-uniform against dl, mean over the sizes, %", "70 to 90", five.MeanOf("saved, %"),
       Less(""), Within(70, 90)},
      {"figure 6: saved by lsap against dl, at most, %", "95", most_six, Less(""), Effect(95, 0.5, 0),
       Setting::kReading},
      {"figure 6: against lsap-uniform, at most", "65", most_uniform, Less(""), Effect(65, 0.5, 0), Setting::kReading},
      {"figure 7: against dl, mean over the sizes", "60 to 70", seven.MeanOf("saved, %"), Less(""), Within(60, 70),
       Setting::kReading},
      {"figure 7: with costs by pair", "60 to 70", seven.MeanOf("by pair: saved, %"), Less(""), Within(60, 70),
       Setting::kReading},
      {"figure 7: against lsap-uniform", "40 to 50", uniform.MeanOf("figure 7"), Less(""), Effect(45, 5, 0),
       Setting::kReading},
      {"figure 7: DLC of lsap-uniform / dl, 500 nodes", "below 1",
       seven.Number(4, "lsap-uniform") / seven.Number(4, "dl"), Ratio(""), AtMost(1), Setting::kReading},
      {"figure 8, 1 replica: saved against dl, every slot idle, %", "comparable (within 10)",
       eight.Number(0, "saved, %"), Less(""), Within(-10, 10)},
      {"figure 8, 3 replicas: saved against dl", "over 50", eight.Number(1, "saved, %"), Less(""), AtLeast(50)},
      {"figure 8, 9 replicas: saved against dl", "almost all (95)", eight.Number(4, "saved, %"), Less(""), AtLeast(95)},
  };
}

}  // namespace

Findings LsapCost(const Options& options) {
  std::vector<double> half, fifth;
  Findings findings;
  findings.tables = {
      EqualCosts(options),
      DrawnCosts(options, 50, "figure-6",
                 "Figure 6: DLC with drawn costs, half of the slots idle, and what lsap saves of that of dl",
                 "up to 95", &half),
      DrawnCosts(options, 20, "figure-7",
                 "Figure 7: DLC with drawn costs, a fifth of the slots idle, and what lsap saves of that of dl",
                 "60 to 70", &fifth)};
  findings.tables.push_back(AgainstUniform(half, fifth, options.Repeat(kDrawnDraws)));
  for (const std::uint32_t idle : {100U, 50U, 20U}) findings.tables.push_back(OverReplicas(options, idle));
  findings.claims = Claims(findings);
  return findings;
}

}  // namespace millrace::sim::experiments
