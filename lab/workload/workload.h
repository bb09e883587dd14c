// SPDX-License-Identifier: Apache-2.0
// Workload: the jobs of a simulation, with every task explicit. It is a plain value: built by hand, from TOML
// (simulation_file.h) or from a SWIM trace (swim.h).
//
// Everything random about a job is drawn when the workload is made, so every scheduler gets the same jobs. Thread rule:
// a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/events/events.h"

namespace millrace::sim {

struct SimMap {
  std::uint64_t bytes = 0;   // of its split; read over the network when no replica is on the node
  Micros cpu = 0;            // on a node of speed 1, without reading
  std::uint64_t output = 0;  // bytes for the reduces
};

struct SimReduce {
  double weight = 1;         // its share of each map's output is weight / sum of the job's weights; at least 0
  Micros cpu = 0;            // of the compute phase on a node of speed 1
  std::uint64_t output = 0;  // bytes written; counted, not sent over the network
};

struct SimJob {
  std::string name;
  std::string user = "user";
  std::string pool;   // empty: the user's
  std::string group;  // class or bin, by which results are summed up
  sched::Priority priority = sched::Priority::kNormal;
  Micros submit = 0;                   // since the start; with `after`, since the end of that job
  std::optional<std::uint32_t> after;  // index of another job that has to end first (closed loops)
  // The name of its data: jobs with the same name and block size read the same blocks. Empty: data of its own.
  std::string input;
  std::vector<SimMap> maps;
  // Nodes with the data of each map; empty: Placement decides. A map without nodes reads nothing from the cluster: it
  // sleeps, or makes up its input.
  std::vector<std::vector<NodeId>> replicas;
  std::vector<SimReduce> reduces;  // empty: map only
  // The number of cores that a task keeps busy while it computes, if it has them all; 0: it sleeps. Used only where the
  // cluster's cores are limited.
  double map_cores = 1;
  double reduce_cores = 1;
  double slow_start = 0.05;
  std::uint32_t max_attempts = 4;
  Micros deadline = 0;  // after its submission; 0: none
  // The user's estimates of task times; 0: none given.
  Micros map_time = 0;
  Micros reduce_time = 0;
  std::vector<Micros> locality_waits;  // as in JobSpec
  std::string program;                 // key of the history, with input_type; empty: no history
  std::string input_type;
  sched::JobProfile profile;  // if runs is 0, the profile comes from the simulation's history
};

// The placement of blocks whose nodes the job does not give.
struct Placement {
  enum class Kind : std::uint8_t {
    kDfs,     // first replica anywhere, second in another rack, third in the second's rack, more anywhere (dfs/name)
    kRandom,  // distinct nodes, uniformly
    kSpread,  // over as many datacenters as possible, anywhere within them
    // Each node holds the block with the same probability, whatever others do; `replication` is the average number of
    // replicas.
    kIndependent,
  };
  Kind kind = Kind::kDfs;
  std::uint32_t replication = 3;  // at least 1; never two on a node
};

struct Workload {
  std::string name = "workload";
  std::vector<SimJob> jobs;  // the id of a job is its index; in any order of submission
  Placement placement;
};

// Returns the number of all maps and reduces.
[[nodiscard]] std::uint64_t TasksOf(const Workload& workload);

// Returns the jobs in order of submission time, ties by index, without those that wait for another job.
[[nodiscard]] std::vector<std::uint32_t> SubmissionOrder(const Workload& workload);

}  // namespace millrace::sim
