// SPDX-License-Identifier: Apache-2.0
// Processors: the cores of machines, shared by the attempts that compute on them. Private to lab/model.
//
// Work that takes `alone` microseconds on an idle machine, and keeps `cores` cores busy for that time, is modelled as
// max(1, cores) threads. A fraction of a thread is a thread that has work for that part of the time. The threads of a
// machine share its cores max-min fairly, as in an operating system: each gets as much as it can use, at most one core.
// So on two cores two attempts of one core each do not delay each other, and three take half as long again.
//
// Cost: an event of a machine is O(w log w) for w works on it. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "lab/model/event_queue.h"
#include "lab/workload/cluster_spec.h"

namespace millrace::sim {

class Processors {
 public:
  // Requires: the queue outlives this object, and the cluster was checked.
  Processors(const ClusterSpec& cluster, EventQueue* queue);

  // Returns false if each attempt on the node has all the cores that it can use.
  [[nodiscard]] bool Limited(NodeId node) const { return machines_[of_node_[node.value]].cores > 0; }

  // CoresOf returns the number of cores of the node's machine, 0 if it has no limit. NameOf returns a name of the
  // machine, empty if it has no other node.
  [[nodiscard]] double CoresOf(NodeId node) const { return machines_[of_node_[node.value]].cores; }
  [[nodiscard]] std::string NameOf(NodeId node) const;

  // Begins work on the node, identified by its tag. The queue then has a Happening::kCores for the machine; Advance
  // must be called when this happening comes. Requires: Limited(node), cores > 0; no other work has the tag.
  void Start(Micros now, NodeId node, std::uint32_t tag, double cores, Micros alone);
  // Ends work that is under way, which is then not reported.
  void Stop(Micros now, NodeId node, std::uint32_t tag);
  // Returns the share of the work that has been done, 0 to 1. Requires: the work is under way.
  [[nodiscard]] double Done(Micros now, NodeId node, std::uint32_t tag) const;
  // Appends the tags of the works on the machine that have ended by now, in the order of their starts. Does nothing if
  // `generation` is not that of the latest event of the machine.
  void Advance(Micros now, std::uint32_t machine, std::uint32_t generation, std::vector<std::uint32_t>* ended);

 private:
  struct Work {
    std::uint32_t tag = 0;
    double threads = 1;
    double most = 1;              // share of a core that each thread can use
    double amount = 0, left = 0;  // for each thread, in us of a core
    double rate = 0;              // share of a core that each thread gets
  };
  struct Machine {
    double cores = 0;
    std::uint32_t nodes = 0;
    std::vector<Work> works;  // in the order of their starts
    Micros since = 0;         // the time of `left`
    std::uint32_t generation = 0;
  };

  [[nodiscard]] Machine& MachineOf(NodeId node) { return machines_[of_node_[node.value]]; }
  static void Settle(Micros now, Machine& machine);
  // Computes the rates again and puts the end of the work that ends first into the queue. Requires: the machine is
  // settled.
  void Share(Machine& machine);

  EventQueue& queue_;
  std::vector<std::uint32_t> of_node_;  // by node: the index of its machine
  std::vector<Machine> machines_;
};

}  // namespace millrace::sim
