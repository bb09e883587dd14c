// SPDX-License-Identifier: Apache-2.0
// One run of a workload on a running cluster: the part that LocalArena and ClusterArena share. Private to
// lab/live. Thread rule: one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/job_client/job_types.h"
#include "client/local/local_cluster.h"
#include "dfs/client/dfs_client.h"
#include "lab/live/live_arena.h"
#include "lab/live/live_jobs.h"
#include "lab/run/arena.h"
#include "lab/workload/simulation_file.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

struct LiveWorkload {
  sim::SimulationFile file;
  LiveJobs live;
  // By index in the workload; complete except for the parts that need the cluster (cli::CompleteRequest).
  std::vector<cli::Prepared> prepared;
  std::set<std::string> executables;  // local paths
};

// Reads the workload as drawn for the seed, and asks each job's program for its description. `root` is a directory of
// the cluster for the data and outputs; `settings` are the scheduler's. Returns kInvalid or kNotFound for a mistake in
// the file.
[[nodiscard]] Result<LiveWorkload> LoadLive(const LiveOptions& options, std::uint64_t seed,
                                            const sched::Settings& settings, const std::string& root);

// Maps the nodes of a cluster to the nodes of the rows.
using NodeNumbers = std::map<NodeId, NodeId>;

// Runs the jobs and returns their rows, the master's cost of deciding, and the digest of their outputs. It does not
// check whether the run was disturbed.
[[nodiscard]] Result<RunOutcome> RunLive(dfs::DfsClient& files, const LiveOptions& options,
                                         const cli::Invocation& invocation, LiveWorkload workload,
                                         const sched::Variant& scheduler, const NodeNumbers& nodes,
                                         local::Signals& signals);

// Stores the executables in the cluster's file system, so that no job of a run has to store its own.
[[nodiscard]] Status StoreExecutables(dfs::DfsClient& files, const std::set<std::string>& executables);

// Digests the outputs of the jobs of a run into one text, which must be the same for all runs of the same jobs.
// Returns a checksum over the names and bytes of all files below `directories`. A directory counts by its place in the
// list; one that does not exist counts as empty. Returns an empty text if no file has a byte.
[[nodiscard]] Result<std::string> DigestOutputs(dfs::DfsClient& files, const std::vector<std::string>& directories);

}  // namespace millrace::compare
