// Operator: decommissions workers and takes them back into use, by calls to the master as `millrace node` makes them.
// Thread rule: one thread.
#pragma once

#include <functional>

#include "base/ids/ids.h"
#include "base/random.h"
#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/cluster.h"

namespace millrace::simulated {

class Operator {
 public:
  explicit Operator(Cluster& cluster);
  // Drains the node if the master lets it, takes it back after so many seconds, and calls `then` when the master has
  // acknowledged that, or has no such node any more.
  void Decommission(NodeId node, double seconds, std::function<void()> then);

 private:
  // Returns the master's answer, or kCancelled if nobody can say what has become of the call.
  [[nodiscard]] Status Drain(kj::WaitScope& scope, MasterCaller& caller, NodeId node, bool drained, bool force);

  Cluster& cluster_;
  World& world_;
  Random random_;
  HostId host_;
  Process process_;
};

}  // namespace millrace::simulated
