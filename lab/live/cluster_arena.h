// SPDX-License-Identifier: Apache-2.0
// ClusterArena implements the kinds `cluster` and `testbed` of live_arena.h, with the same thread rule. Private to
// lab/live.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "client/job_client/job_client.h"
#include "client/local/local_cluster.h"
#include "lab/live/live_run.h"
#include "lab/run/arena.h"

namespace millrace::compare {

// The nodes of a cluster that take part in runs, as rows, and the row of each node's number.
struct ClusterRows {
  std::vector<NodeRow> rows;
  NodeNumbers numbers;
};

// Returns the rows of the nodes that are alive and do not drain, in order of datacenter, rack and address. Numbers are
// given in the order in which workers come, so that they differ when the same cluster is set up again, and runs of a
// comparison may have been made before.
[[nodiscard]] ClusterRows RowsOf(std::vector<job::Node> nodes);

class ClusterArena final : public Arena {
 public:
  static Result<std::unique_ptr<Arena>> Make(LiveOptions options);
  ~ClusterArena() override;
  ClusterArena(const ClusterArena&) = delete;
  ClusterArena& operator=(const ClusterArena&) = delete;

  [[nodiscard]] std::string Kind() const override { return options_.kind; }
  [[nodiscard]] std::vector<NodeRow> Nodes() const override { return rows_; }
  [[nodiscard]] Result<RunOutcome> Run(const RunRequest& request) override;

 private:
  ClusterArena(LiveOptions options, TempDir scratch) : options_(std::move(options)), scratch_(std::move(scratch)) {}

  Status Connect();
  // Waits until no job is live. Returns kTimeout, naming a live job, if that takes longer than LiveOptions::patience.
  Status AwaitIdle(job::JobClient& client);
  Status CheckNodes(job::JobClient& client) const;

  LiveOptions options_;
  local::Signals signals_;
  TempDir scratch_;
  std::string root_;  // of the file system
  std::unique_ptr<dfs::DfsClient> files_;
  std::string scheduler_;  // the scheduler that was in force before
  std::string fallback_;   // of its program
  std::vector<NodeRow> rows_;
  NodeNumbers numbers_;
  std::set<std::string> stored_;
};

}  // namespace millrace::compare
