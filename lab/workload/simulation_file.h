// SPDX-License-Identifier: Apache-2.0
// A workload file: cluster and jobs in TOML, for the simulator and for live runs. docs/schedulers/simulator.md lists
// every key; in short:
//
//   name = "mixed"
//   seed = 7
//   block_size = "128M"
//   [cluster]
//   nodes = 100
//   racks = 4
//   map_slots = 4
//   reduce_slots = 2
//   [placement]
//   kind = "dfs"
//   replication = 3
//   [arrival]                       # of the classes without one of their own, in random order
//   kind = "poisson"                # batch, poisson, interval, list, closed
//   mean = "30s"
//   [[jobs]]                        # a class
//   name = "small"
//   count = 20
//   maps = { zipf = [1.2, 1, 400] }
//   map_time = { uniform = ["9s", "60s"] }
//   map_output = 0.5                # of the input
//   reduces = 2
//   reduce_time = { lognormal = ["20s", 0.4] }
//
// Everything random is drawn from the seed when the file is read. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "lab/workload/cluster_spec.h"
#include "lab/workload/live_parts.h"
#include "lab/workload/workload.h"

namespace millrace::sim {

// Values from a command line that replace those of the file.
struct Overrides {
  std::optional<std::uint32_t> nodes, racks, datacenters, replication;
  std::optional<sched::Slots> slots;
  std::optional<std::uint64_t> seed, block_size;
  std::optional<double> size_factor, time_factor;  // above 0
};

// The bandwidths that [cluster] states; the others have their defaults.
struct StatedLinks {
  bool node = false, rack = false, datacenter = false;
};

struct SimulationFile {
  ClusterSpec cluster;
  StatedLinks stated;
  Workload workload;
  LiveParts live;     // the parts that only a live run needs
  std::string trace;  // the lines of [trace], which may be in a file of their own
  std::uint64_t seed = 1;
  Micros stop_at = 0;  // as in SimOptions

  // Returns kInvalid if there are no jobs. Returns kInvalid, with file and line, if the jobs can be run but not
  // simulated, since the file does not give the task times of some program.
  [[nodiscard]] Status CheckSimulable() const;
};

// Returns kInvalid, as one line with file, line, key and reason, for text that is not TOML, a key that does not exist,
// or a value of the wrong type or out of range.
[[nodiscard]] Result<SimulationFile> ParseSimulation(std::string_view text, const std::string& file_name,
                                                     const Overrides& overrides);
// Returns the text of a file of at most 16 MiB.
[[nodiscard]] Result<std::string> ReadSimulation(const std::string& path);
// Parses `text`, the text of the file at `path`, as ParseSimulation does. Its [trace] may name a file beside that file.
[[nodiscard]] Result<SimulationFile> ParseSimulationAt(const std::string& path, std::string_view text,
                                                       const Overrides& overrides);
// Reads the file at `path` and parses it as ParseSimulationAt does. Also returns the errors of reading the file.
[[nodiscard]] Result<SimulationFile> LoadSimulation(const std::string& path, const Overrides& overrides);

// Returns the cluster to use without a file: that of MakeCluster for the overrides, by default with 20 nodes and a rack
// for every 20 nodes.
[[nodiscard]] ClusterSpec DefaultCluster(const Overrides& overrides);

}  // namespace millrace::sim
