// SPDX-License-Identifier: Apache-2.0
// Guo et al. section 4.2: how many of the tasks of one round are local, figures 3 and 4.
//
// Figure 4 has 100 to 500 nodes of 4 slots, half of the slots idle, as many tasks as idle slots, and 3 replicas on
// random nodes. Figure 3 has 100 nodes of one slot: in 3a half of them are idle, with as many tasks and 1 to 19
// replicas; in 3b all 100 slots are idle, with 5 to 100 tasks.
#include "lab/papers/list.h"
#include "lab/papers/round.h"

namespace millrace::sim::experiments {
namespace {

struct Pair {
  double dl = 0, lsap = 0, by_task = 0;  // shares of local tasks, in %
};

Pair Locality(const RoundSpec& spec, const Options& options, std::uint32_t draws) {
  Pair mean;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const Round round(spec, RoundCosts::kEqual, options.seed * 1000 + draw);
    mean.dl += 100 * round.Run("dl", {}).local / draws;
    mean.lsap += 100 * round.Run("lsap", {}).local / draws;
    mean.by_task += 100 * round.LocalTaskByTask() / draws;
  }
  return mean;
}

Table OverNodes(const Options& options) {
  Table table{"figure-4",
              "Figure 4: node-local tasks over the number of nodes, %",
              {Given("nodes"),
               Given("paper: dl"),
               Measured("dl"),
               Given("paper: lsap"),
               Measured("lsap"),
               {"paper: points gained"},
               Measured("points gained")}};
  const std::uint32_t draws = options.Repeat(20);
  table.repeats = Placements(draws);
  for (std::uint32_t nodes = 100; nodes <= 500; nodes += 50) {
    const Pair mean = Locality({.nodes = nodes, .idle = nodes * 2, .tasks = nodes * 2}, options, draws);
    table.rows.push_back({1.0 * nodes, 83.0, mean.dl, 97.0, mean.lsap, "12 to 14", mean.lsap - mean.dl});
  }
  return table;
}

Table OverReplicas(const Options& options) {
  Table table{"figure-3a",
              "Figure 3a: node-local tasks over the replication factor, 100 nodes of one slot, %",
              {Given("replicas"), Measured("dl"), Given("paper: lsap"), Measured("lsap")}};
  const std::uint32_t draws = options.Repeat(50);
  table.repeats = Placements(draws);
  for (std::uint32_t replicas = 1; replicas <= 19; replicas += 2) {
    const Pair mean = Locality({.slots = 1, .idle = 50, .tasks = 50, .replication = replicas}, options, draws);
    const Cell paper = replicas == 3 ? Cell(72.0) : replicas == 5 ? Cell(88.0) : Cell();
    table.rows.push_back({1.0 * replicas, mean.dl, paper, mean.lsap});
  }
  return table;
}

// The same on nodes of four slots, which the paper's cluster has.
double WithFourSlots(const Options& options) { return Locality({.replication = 3}, options, options.Repeat(20)).lsap; }

Table OverTasks(const Options& options) {
  Table table{"figure-3b",
              "Figure 3b: node-local tasks over the number of tasks, 100 idle slots, %",
              {Given("tasks"), Measured("dl"), Measured("ours: greedy task by task"), Measured("lsap")}};
  const std::uint32_t draws = options.Repeat(50);
  table.repeats = Placements(draws);
  for (std::uint32_t tasks = 5; tasks <= 100; tasks += tasks == 5 ? 15 : 20) {
    const Pair mean = Locality({.slots = 1, .idle = 100, .tasks = tasks}, options, draws);
    table.rows.push_back({1.0 * tasks, mean.dl, mean.by_task, mean.lsap});
  }
  return table;
}

std::vector<Claim> Claims(const Table& nodes, const Table& replicas, const Table& tasks, const Options& options) {
  const std::size_t last = tasks.rows.size() - 1;
  return {
      {"figure 4: node-local under dl, mean over the sizes, %", "83", nodes.MeanOf("dl"), Measured(""), Size(83, 0.5)},
      {"figure 4: under lsap", "97", nodes.MeanOf("lsap"), Measured(""), Size(97, 0.5)},
      {"figure 4: points gained", "12 to 14", nodes.MeanOf("points gained"), Measured(""), Within(12, 14)},
      {"figure 3a, 3 replicas: under lsap, nodes of one slot, %", "72", replicas.Number(1, "lsap"), Measured(""),
       Size(72, 0.5), Setting::kReading},
      {"figure 3a, 3 replicas: under lsap, nodes of four slots as in figure 4, %", "72", WithFourSlots(options),
       Measured(""), Size(72, 0.5)},
      {"figure 3a, 5 replicas: under lsap, nodes of one slot, %", "88", replicas.Number(2, "lsap"), Measured(""),
       Size(88, 0.5), Setting::kReading},
      {"figure 3b: dl with 100 tasks less with 5, points", "falls slowly",
       tasks.Number(last, "dl") - tasks.Number(0, "dl"), Measured(""), AtMost(0), Setting::kReading},
      {"figure 3b: greedy task by task, which is ours, the same", "falls slowly",
       tasks.Number(last, "ours: greedy task by task") - tasks.Number(0, "ours: greedy task by task"), Measured(""),
       AtMost(0), Setting::kOurs},
      {"figure 3b: lsap, the same", "falls less", tasks.Number(last, "lsap") - tasks.Number(0, "lsap"), Measured(""),
       AtMost(0), Setting::kReading},
  };
}

}  // namespace

Findings LsapLocality(const Options& options) {
  const Table nodes = OverNodes(options), replicas = OverReplicas(options), tasks = OverTasks(options);
  return {{nodes, replicas, tasks}, Claims(nodes, replicas, tasks, options)};
}

}  // namespace millrace::sim::experiments
