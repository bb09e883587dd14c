// SPDX-License-Identifier: Apache-2.0
// LocalArena implements the kind `local` of live_arena.h, with the same thread rule. Private to lab/live.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "client/local/guardian.h"
#include "client/local/local_cluster.h"
#include "lab/live/live_run.h"
#include "lab/run/arena.h"
#include "lab/workload/cluster_spec.h"

namespace millrace::compare {

class LocalArena final : public Arena {
 public:
  static Result<std::unique_ptr<Arena>> Make(LiveOptions options);
  ~LocalArena() override;
  LocalArena(const LocalArena&) = delete;
  LocalArena& operator=(const LocalArena&) = delete;

  [[nodiscard]] std::string Kind() const override { return "local"; }
  [[nodiscard]] std::vector<NodeRow> Nodes() const override;
  [[nodiscard]] Result<RunOutcome> Run(const RunRequest& request) override;

 private:
  LocalArena(LiveOptions options, sim::ClusterSpec cluster, TempDir directory, local::Guardian guardian)
      : options_(std::move(options)),
        cluster_(std::move(cluster)),
        directory_(std::move(directory)),
        guardian_(std::move(guardian)) {}

  [[nodiscard]] std::string In(const std::string& name) const { return directory_.path() + "/" + name; }
  // Returns the options of a cluster in this directory; `again` as in ClusterOptions. If `scheduler` has settings, the
  // cluster uses the scheduler file of the run.
  [[nodiscard]] Result<local::ClusterOptions> OptionsOf(const std::string& directory, bool again,
                                                        const sched::Variant& scheduler) const;
  [[nodiscard]] cli::Invocation At(const local::LocalCluster& cluster) const;
  // Adds the data and executables that the workload needs to the prepared cluster.
  Status Prepare(const LiveWorkload& workload);
  Result<RunOutcome> RunIn(const std::string& directory, LiveWorkload workload, const sched::Variant& scheduler);
  // Assigns a row to each node of the cluster: nodes of the same place and size are taken in the order of their ids.
  Result<NodeNumbers> Number(dfs::DfsClient& files) const;

  LiveOptions options_;
  sim::ClusterSpec cluster_;
  local::Signals signals_;
  TempDir directory_;
  local::Guardian guardian_;
  bool prepared_ = false;
  std::set<std::string> stored_, executables_;  // of the prepared cluster
};

}  // namespace millrace::compare
