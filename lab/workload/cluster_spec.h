// SPDX-License-Identifier: Apache-2.0
// ClusterSpec: the cluster of a simulation. It is a plain value: built by MakeCluster, read from TOML
// (simulation_file.h) or filled in by hand.
//
// Network: every node has a link to its switch, every rack an uplink to the datacenter's core, every datacenter a link
// to the others. Each link has a capacity in both directions and is shared max-min fairly (network.h). Thread rule: a
// value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/status.h"
#include "schedulers/events/events.h"

namespace millrace::sim {

struct NodeSpec {
  std::string rack = "r0";
  std::string datacenter = "dc0";
  sched::Slots slots{2, 2};
  double speed = 1;         // above 0; a task's CPU time is divided by it, so 0.25 makes a straggler
  double up = 125e6;        // bytes/s of the node's link, each way; 0: no limit
  double down = 125e6;      //
  std::uint64_t space = 0;  // bytes for map outputs; 0: no limit
  // Nodes that name the same machine share its cores. Empty: the machine follows from ClusterSpec::nodes_per_machine.
  std::string machine = {};
  double cores = 0;  // of its machine, equal for all its nodes; 0: ClusterSpec::cores
};

// A node that is lost and, unless `back` is 0, joins again. Its data comes back with it.
struct NodeFailure {
  std::uint32_t node = 0;
  Micros at = 0;
  Micros back = 0;  // 0: never; else after `at`
};

struct ClusterSpec {
  std::vector<NodeSpec> nodes;      // the id of a node is its index
  double rack_bandwidth = 1.25e9;   // bytes/s of a rack's uplink, each way; 0: no limit
  double datacenter_bandwidth = 0;  // of a datacenter's link to the others, each way; 0: no limit
  // This many neighbouring nodes that name no machine share the cores of one machine; at least 1.
  std::uint32_t nodes_per_machine = 1;
  double cores = 0;                   // of a machine; 0: every attempt has all the cores that it can use
  Micros task_latency = 0;            // of each attempt: it holds its slot and does nothing
  Micros process_start = 0;           // CPU time of a process's start; later attempts of the job on the node reuse it
  double local_read_bandwidth = 0;    // bytes/s at which a node-local map reads; 0: its CPU time includes reading
  bool overlap_reads = false;         // true: a map computes while it reads (the longer counts); false: it reads first
  double slow_share = 0;              // share of attempts that are slow through no fault of the node, 0 to 1
  double slow_factor = 5;             // their CPU time is multiplied by it; at least 1
  double failure_probability = 0;     // that an attempt fails half way through its computation; from 0, below 1
  std::vector<NodeFailure> failures;  // in any order
};

// Returns `nodes` equal nodes in `racks` racks (r0, r1, ...) in `datacenters` datacenters (dc0, ...), as evenly as
// possible: node i is in rack i * racks / nodes, rack j in datacenter j * datacenters / racks. Racks and datacenters
// are clamped to their ranges: 1 to `nodes`, and no more datacenters than racks.
[[nodiscard]] ClusterSpec MakeCluster(std::uint32_t nodes, std::uint32_t racks = 1, std::uint32_t datacenters = 1,
                                      sched::Slots slots = {2, 2});

// The machines of the nodes.
struct Machines {
  std::vector<std::uint32_t> of_node;  // by node: index in `cores`
  std::vector<double> cores;           // 0: every attempt there has all the cores that it can use
};
// Returns kInvalid if nodes of one machine give it different numbers of cores.
[[nodiscard]] Result<Machines> MachinesOf(const ClusterSpec& cluster);

// Adds failures of nodes up to `horizon`. The times between failures and of repairs are exponentially distributed;
// mean_between is for one node. Requires: both means are above 0.
void AddRandomFailures(ClusterSpec* cluster, Micros mean_between, Micros mean_repair, Micros horizon,
                       std::uint64_t seed);

}  // namespace millrace::sim
