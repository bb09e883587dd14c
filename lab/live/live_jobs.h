// SPDX-License-Identifier: Apache-2.0
// The jobs of a workload for a live cluster: the options with which each is submitted, and the data that they read.
//
// - A class with a `program` runs that program. A class without one has only sizes and times: `loadgen` reads its
//   blocks and writes as many bytes as were drawn. If the class has `map_cores = 0` (`reduce_cores = 0`), its tasks
//   sleep for the time that was drawn; else they work on each record. A class that reads nothing (`located = false`, or
//   maps of 0 bytes) runs as `sleep`. All maps of a job take the mean of the times drawn for them, and so do its
//   reduces.
// - Each map reads a file of its own, of one block at most, so that a job of N maps has N splits. Sizes are rounded up
//   to sixteenths of a block. Jobs that name data read its first files; jobs with data of their own read from a pool,
//   each from a place that its seed gives, since separate data for each would not fit on a small cluster.
// - No task gets a second attempt unless the settings speculate, as in simulations.
//
// Pure. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/cli/run_command.h"
#include "lab/workload/simulation_file.h"

namespace millrace::compare {

// A file that has to exist before the jobs run.
struct DataFile {
  std::string name;  // below the directory of all data: "corpus/16-00003"
  std::string kind;  // of the generator
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  std::string place;  // FILE:LINE of the entry that needs it, for messages
};

struct LiveJobs {
  std::vector<cli::RunOptions> jobs;  // by index in the workload
  std::vector<DataFile> files;        // sorted by name, each once
};

// Keeps only the first job of each class with a program, one after the other, so that each has the cluster to itself.
// Returns false if there is none.
bool KeepOneOfEachProgram(sim::SimulationFile* file);

struct LiveJobsOptions {
  std::string directory;           // of the file: the paths of programs are relative to it
  std::string data, outputs;       // directories of the cluster
  bool speculates = false;         // the settings let slow tasks have second attempts
  double round_seconds = 4e-9;     // of loadgen's work, as measured
  double record_seconds = 100e-9;  // that loadgen needs for a record besides its work
};

// Returns the jobs. Returns kInvalid, with file and line, if the workload cannot run live: it names the places of
// blocks, has a map that reads more than a block, or reads more data than it declares.
[[nodiscard]] Result<LiveJobs> MakeLiveJobs(const sim::SimulationFile& file, const LiveJobsOptions& options);

}  // namespace millrace::compare
