// SPDX-License-Identifier: Apache-2.0
// SharedNames runs clients that make, move, remove and look up the same few directories while masters die. In the end
// the answers to all clients about a path must fit one order (linearizable.h): a change that one client has seen has
// happened, for everybody and for good. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/cluster.h"
#include "tests/simulated/chaos/linearizable.h"

namespace millrace::simulated {

class SharedNames {
 public:
  SharedNames(Cluster& cluster, std::uint32_t clients);
  ~SharedNames();
  // Begins. The checker is notified when all clients have ended and their observations have been checked.
  void Start();

 private:
  class Onlooker;
  void Ended();  // called by each client

  Cluster& cluster_;
  std::vector<std::unique_ptr<Onlooker>> clients_;
  std::uint64_t moment_ = 0;
  std::size_t at_work_ = 0;
  std::map<std::string, std::vector<PathOp>> history_;  // by path
};

}  // namespace millrace::simulated
