// SPDX-License-Identifier: Apache-2.0
// BlockPlacer: places the blocks of a job's input. The places of a block depend only on the seed, the name of the data
// (the job's index if the data has no name) and the number of the block, so every scheduler finds the same data at the
// same places. Thread rule: const calls from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids/ids.h"
#include "lab/workload/cluster_spec.h"
#include "lab/workload/workload.h"

namespace millrace::sim {

class BlockPlacer {
 public:
  BlockPlacer(const ClusterSpec& cluster, Placement placement, std::uint64_t seed);

  // Returns the nodes with a replica of block `block` of data `key` (DataKey): as many as Placement says, fewer on a
  // cluster with fewer nodes. The first is the writer's.
  [[nodiscard]] std::vector<NodeId> Place(std::uint64_t key, std::uint32_t block) const;
  [[nodiscard]] static std::uint64_t DataKey(const SimJob& job, std::uint32_t index);

 private:
  template <class Source, class Fits>
  void Add(Source& random, std::vector<NodeId>* chosen, const Fits& fits) const;

  Placement placement_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> rack_, datacenter_;  // by node
  std::uint32_t datacenters_ = 0;
};

// Returns a number that depends on all arguments, as a seed for another Random (splitmix64 of each in turn).
[[nodiscard]] std::uint64_t MixSeeds(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0, std::uint64_t d = 0);

}  // namespace millrace::sim
