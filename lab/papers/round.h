// SPDX-License-Identifier: Apache-2.0
// Round: one round of assignment at one instant of a cluster, as studied by Guo et al. Some slots are idle, tasks wait,
// all tasks are assigned at once, and no time passes. The engine and the policy are those of the live master.
//
// Thread rule: const calls from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim::experiments {

struct RoundSpec {
  std::uint32_t nodes = 100;
  std::uint32_t slots = 4;        // per node
  std::uint32_t idle = 200;       // idle slots, drawn from all slots
  std::uint32_t tasks = 200;      // waiting tasks, each with input of its own
  std::uint32_t replication = 3;  // all nodes are equally likely
  std::uint32_t rack_nodes = 0;   // nodes per rack; 0: one rack has all
  // Weights of the groups to which running and waiting tasks belong, each at random; empty: one group has all tasks.
  std::vector<double> groups = {};
};

// The cost of a task that is not local: the time of its transfer, in the paper's units.
enum class RoundCosts {
  kEqual,   // 1 (figures 4, 5 and 9)
  kByTask,  // f from the same rack and 4 f from another, f Gaussian per task, 1.0 +- 0.5 (figures 6 to 8)
  kByPair,  // Gaussian for each pair of nodes: 1.0 +- 0.5 in a rack, 4.0 +- 2.0 between racks (another reading of
            // figures 6 to 8)
};

struct RoundResult {
  std::uint32_t launched = 0;
  double local = 0;            // share of the launched tasks that are local
  double cost = 0;             // sum over the launched tasks (DLC)
  double distance_before = 0;  // d of formula 11, before the round
  double distance_after = 0;   // d after the round
};

class Round {
 public:
  // Makes all random draws, so that all policies see the same ones.
  Round(const RoundSpec& spec, RoundCosts costs, std::uint64_t seed);

  // Runs the round under the policy. Aborts if there is no such policy. Pools and the bandwidths of [lsap] in
  // `settings` are replaced by the round's.
  [[nodiscard]] RoundResult Run(const std::string& policy, sched::Settings settings) const;
  // Returns the share of local tasks when each task in turn takes the first idle slot at its data, and no other.
  [[nodiscard]] double LocalTaskByTask() const;

 private:
  struct Task {
    std::uint32_t group = 0;
    double size = 1;  // in blocks
    std::vector<NodeId> replicas;
  };
  struct Play;
  [[nodiscard]] bool SameRack(NodeId a, NodeId b) const;
  // Returns the cost of one block.
  [[nodiscard]] double PairCost(NodeId from, NodeId to) const;
  [[nodiscard]] double TaskCost(const Task& task, NodeId node) const;

  RoundSpec spec_;
  RoundCosts costs_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> idle_;     // slots, by node
  std::vector<std::uint32_t> running_;  // tasks, by group; in total as many as there are busy slots
  std::vector<Task> tasks_;
};

// Returns "20 placements" or "1 placement".
[[nodiscard]] std::string Placements(std::uint32_t count);

}  // namespace millrace::sim::experiments
