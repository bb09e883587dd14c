// Round: one round of assignment on an instant of a cluster, as Guo et al. study it: some slots are idle, tasks wait,
// all is assigned at once and nothing runs on. The engine and the policy are the live ones; only time stands still.
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
  std::uint32_t slots = 4;        // of a node
  std::uint32_t idle = 200;       // slots that are, any of all
  std::uint32_t tasks = 200;      // that wait, each with input of its own
  std::uint32_t replication = 3;  // on nodes of which all are as likely
  std::uint32_t rack_nodes = 0;   // nodes of a rack; 0: one rack has all
  // Weights of the groups to which running and waiting tasks belong, each at random; empty: all are of one.
  std::vector<double> groups = {};
};

// Cost of a task that is not local: what its transfer takes, in the paper's units.
enum class RoundCosts {
  kEqual,   // 1 (figures 4, 5 and 9)
  kByTask,  // f from the same rack and 4 f from another, f of the task Gaussian, 1.0 +- 0.5 (figures 6 to 8)
  kByPair,  // Gaussian for each pair of nodes: 1.0 +- 0.5 in a rack, 4.0 +- 2.0 between racks (the same, read
            // otherwise)
};

struct RoundResult {
  std::uint32_t launched = 0;
  double local = 0;            // share of the launched tasks
  double cost = 0;             // sum over them (DLC)
  double distance_before = 0;  // d, formula 11: before the round
  double distance_after = 0;   // and after
};

class Round {
 public:
  // Everything random is drawn here, so that all policies see the same.
  Round(const RoundSpec& spec, RoundCosts costs, std::uint64_t seed);

  // Aborts when there is no such policy. Pools and the bandwidths of [lsap] in `settings` are replaced by the round's.
  [[nodiscard]] RoundResult Run(const std::string& policy, sched::Settings settings) const;
  // The share of local tasks when each task in turn takes the first idle slot at its data, and no other.
  [[nodiscard]] double LocalTaskByTask() const;

 private:
  struct Task {
    std::uint32_t group = 0;
    double size = 1;  // in blocks
    std::vector<NodeId> replicas;
  };
  struct Play;
  [[nodiscard]] bool SameRack(NodeId a, NodeId b) const;
  // Of one block.
  [[nodiscard]] double PairCost(NodeId from, NodeId to) const;
  [[nodiscard]] double TaskCost(const Task& task, NodeId node) const;

  RoundSpec spec_;
  RoundCosts costs_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> idle_;     // slots, by node
  std::vector<std::uint32_t> running_;  // tasks, by group: their number is that of the busy slots
  std::vector<Task> tasks_;
};

}  // namespace millrace::sim::experiments
