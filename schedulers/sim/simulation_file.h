// A workload file: cluster and jobs in TOML, for the simulator and for live runs. docs/simulator.md tells every key; in
// short:
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
//   [arrival]                       # of the classes that have none of their own, in random order
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
#include "schedulers/sim/workload/cluster_spec.h"
#include "schedulers/sim/workload/live_parts.h"
#include "schedulers/sim/workload/workload.h"

namespace millrace::sim {

// What a command line says in place of the file.
struct Overrides {
  std::optional<std::uint32_t> nodes, racks, datacenters, replication;
  std::optional<sched::Slots> slots;
  std::optional<std::uint64_t> seed, block_size;
  std::optional<double> size_factor, time_factor;  // above 0
};

// Which bandwidths [cluster] states; the others have their defaults.
struct StatedLinks {
  bool node = false, rack = false, datacenter = false;
};

struct SimulationFile {
  ClusterSpec cluster;
  StatedLinks stated;
  Workload workload;
  LiveParts live;     // what a live run needs beside it
  std::string trace;  // the lines of [trace], which may stand in a file of their own
  std::uint64_t seed = 1;
  Micros stop_at = 0;  // as in SimOptions

  // Returns kInvalid if there are no jobs, or, with file and line, if they can be run and not simulated, since the file
  // does not say how long the tasks of some program take.
  [[nodiscard]] Status CheckSimulable() const;
};

// Returns kInvalid, as one line with file, line, key and reason, for text that is not TOML, a key that does not exist,
// or a value of the wrong type or out of range.
[[nodiscard]] Result<SimulationFile> ParseSimulation(std::string_view text, const std::string& file_name,
                                                     const Overrides& overrides);
// Returns the text of a file of at most 16 MiB.
[[nodiscard]] Result<std::string> ReadSimulation(const std::string& path);
// Returns what ParseSimulation does for the text of a file, whose [trace] may name a file beside it.
[[nodiscard]] Result<SimulationFile> ParseSimulationAt(const std::string& path, std::string_view text,
                                                       const Overrides& overrides);
// Returns the same for a file; also the failures of reading it.
[[nodiscard]] Result<SimulationFile> LoadSimulation(const std::string& path, const Overrides& overrides);

// Without a file: what MakeCluster gives for the overrides, with 20 nodes and a rack for every 20 of them otherwise.
[[nodiscard]] ClusterSpec DefaultCluster(const Overrides& overrides);

}  // namespace millrace::sim
