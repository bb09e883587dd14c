// SPDX-License-Identifier: Apache-2.0
// The words of a command line that select the workload and the cluster of a simulation, and their meaning. `sim` and
// `compare` share them. Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/console/arguments.h"
#include "base/status.h"
#include "lab/workload/simulation_file.h"

namespace millrace::cli {

// 0 and empty mean that an option was not given.
struct WorkloadWords {
  std::string slots, block_size, cluster, bytes_per_reduce, map_rate, reduce_rate, stop_at;
  std::int64_t nodes = 0, racks = 0, datacenters = 0, replication = 0, users = 0, seed = -1;
  double scale = 1, user_skew = 1;
};

void DeclareWorkload(console::Arguments& arguments, WorkloadWords* words);

// Returns the values with which the words override those of the file. Returns kInvalid if a word is wrong.
[[nodiscard]] Result<sim::Overrides> OverridesOf(const WorkloadWords& words);

// Returns a line for each class whose `program` does not exist: a simulation needs none, but the name may be misspelt.
// Bundled programs are looked for in `directory`, and others from the directory of the workload's file at `path`.
[[nodiscard]] std::vector<std::string> MissingPrograms(const sim::LiveParts& live, const std::string& path,
                                                       const std::string& directory);

// A workload as it was read, from which seeds draw simulations.
class WorkloadSource {
 public:
  // Reads a TOML file or a SWIM trace, and the file of --cluster. Returns kInvalid if a word is wrong, or if the file
  // is a journal.
  [[nodiscard]] static Result<WorkloadSource> Read(const WorkloadWords& words, const std::string& path);

  // Draws the cluster and the jobs by `seed`; without it, by the seed of the words or of the file. Returns kInvalid if
  // the file is wrong, as ParseSimulation and ParseSwim do.
  [[nodiscard]] Result<sim::SimulationFile> Draw(std::optional<std::uint64_t> seed) const;

  [[nodiscard]] const std::string& text() const { return text_; }
  // Returns the conditions that decide a draw besides the seed, as names and values. A file is given by its size and
  // checksum. `drawn` is the result of Draw for any seed.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Conditions(const sim::SimulationFile& drawn) const;

 private:
  [[nodiscard]] Result<sim::SimulationFile> DrawTrace(const sim::Overrides& overrides) const;
  // Replaces the file's cluster by that of --cluster.
  [[nodiscard]] Status TakeCluster(const sim::Overrides& overrides, sim::SimulationFile* file) const;

  WorkloadWords words_;
  std::string path_, text_, cluster_text_;
};

}  // namespace millrace::cli
