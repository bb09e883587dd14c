// One run of a workload on a cluster that is there: what LocalArena and ClusterArena have in common. Private to
// client/compare/live. Thread rule: one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/compare/arena.h"
#include "client/compare/live/live_arena.h"
#include "client/compare/live/live_jobs.h"
#include "client/job_client/job_types.h"
#include "client/local/local_cluster.h"
#include "dfs/client/dfs_client.h"
#include "schedulers/settings/variant.h"
#include "schedulers/sim/simulation_file.h"

namespace millrace::compare {

struct LiveWorkload {
  sim::SimulationFile file;
  LiveJobs live;
  // By index in the workload; complete but for what the cluster says (cli::CompleteRequest).
  std::vector<cli::Prepared> prepared;
  std::set<std::string> executables;  // local paths
};

// Reads the workload as it is drawn for the seed, and asks each job's program what it is. `root`: a directory of the
// cluster for the data and outputs. `settings`: of the scheduler. kInvalid and kNotFound are mistakes of the file.
[[nodiscard]] Result<LiveWorkload> LoadLive(const LiveOptions& options, std::uint64_t seed,
                                            const sched::Settings& settings, const std::string& root);

// Which node of the rows each node of a cluster is.
using NodeNumbers = std::map<NodeId, NodeId>;

// Runs the jobs and returns their rows, what deciding cost the master, and the digest of their outputs. Whether the run
// was disturbed is left open.
[[nodiscard]] Result<RunOutcome> RunLive(dfs::DfsClient& files, const LiveOptions& options,
                                         const cli::Invocation& invocation, LiveWorkload workload,
                                         const sched::Variant& scheduler, const NodeNumbers& nodes,
                                         local::Signals& signals);

// Stores the executables in the cluster's file system, so that no job of a run has to.
[[nodiscard]] Status StoreExecutables(dfs::DfsClient& files, const std::set<std::string>& executables);

}  // namespace millrace::compare
