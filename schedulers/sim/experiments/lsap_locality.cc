// Guo et al. section 4.2: how many of the tasks of one round are local, figures 3 and 4.
//
// Figure 4 has 100 to 500 nodes of 4 slots, half of the slots idle, as many tasks as idle slots, and 3 replicas on
// random nodes. Figure 3 has 100 nodes of one slot: in 3a half of them are idle, with as many tasks and 1 to 19
// replicas; in 3b all 100 slots are idle, with 5 to 100 tasks.
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/round.h"

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
  Table table{"figure 4: node-local tasks over the number of nodes, %",
              {{"nodes", 0}, {"paper: dl", 0}, {"dl"}, {"paper: lsap", 0}, {"lsap"}, {"paper: gain"}, {"gain"}}};
  for (std::uint32_t nodes = 100; nodes <= 500; nodes += 50) {
    const Pair mean = Locality({.nodes = nodes, .idle = nodes * 2, .tasks = nodes * 2}, options, options.Repeat(20));
    table.rows.push_back({1.0 * nodes, 83.0, mean.dl, 97.0, mean.lsap, "12 to 14", mean.lsap - mean.dl});
  }
  return table;
}

Table OverReplicas(const Options& options) {
  Table table{"figure 3a: node-local tasks over the replication factor, %",
              {{"replicas", 0}, {"dl"}, {"paper: lsap", 0}, {"lsap"}}};
  for (std::uint32_t replicas = 1; replicas <= 19; replicas += 2) {
    const Pair mean =
        Locality({.slots = 1, .idle = 50, .tasks = 50, .replication = replicas}, options, options.Repeat(100));
    const Cell paper = replicas == 3 ? Cell(72.0) : replicas == 5 ? Cell(88.0) : Cell();
    table.rows.push_back({1.0 * replicas, mean.dl, paper, mean.lsap});
  }
  return table;
}

Table OverTasks(const Options& options) {
  Table table{"figure 3b: node-local tasks over the number of tasks, 100 idle slots, %",
              {{"tasks", 0}, {"dl"}, {"greedy task by task"}, {"lsap"}}};
  for (std::uint32_t tasks = 5; tasks <= 100; tasks += tasks == 5 ? 15 : 20) {
    const Pair mean = Locality({.slots = 1, .idle = 100, .tasks = tasks}, options, options.Repeat(100));
    table.rows.push_back({1.0 * tasks, mean.dl, mean.by_task, mean.lsap});
  }
  return table;
}

}  // namespace

std::vector<Table> LsapLocality(const Options& options) {
  return {OverNodes(options), OverReplicas(options), OverTasks(options)};
}

}  // namespace millrace::sim::experiments
