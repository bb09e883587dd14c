// SPDX-License-Identifier: Apache-2.0
// The documents that commands print with --json (docs/use/json.md), for whoever shows them elsewhere: `millrace ui`
// serves the same. Those of jobs, counters and events are in job_list.h, report.h and history_json.h. Thread rule: any
// thread.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/status.h"
#include "client/cli/cluster_notes.h"
#include "client/job_client/job_types.h"
#include "dfs/client/dfs_client.h"

namespace millrace::cli {

// What `cluster status` asks for.
struct ClusterReport {
  job::ClusterStatus status;     // with what is to be said of the user's own certificate
  std::vector<job::Node> nodes;  // all of them, if some are out of use
  std::vector<ClusterNote> notes;
};
[[nodiscard]] Result<ClusterReport> AskForCluster(dfs::DfsClient& files);

[[nodiscard]] nlohmann::ordered_json ClusterDocument(const ClusterReport& report);       // `cluster status`
[[nodiscard]] nlohmann::ordered_json NodeDocument(const job::Node& node);                // an element of `node list`
[[nodiscard]] nlohmann::ordered_json SchedulerDocument(const job::SchedulerView& view);  // `scheduler show`
[[nodiscard]] nlohmann::ordered_json AttemptDocument(const AttemptStatus& attempt);      // an element of `job tasks`
[[nodiscard]] nlohmann::ordered_json CallerDocument(const job::CallerRights& rights);    // `whoami`

}  // namespace millrace::cli
