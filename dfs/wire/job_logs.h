// SPDX-License-Identifier: Apache-2.0
// The places of the archived logs of jobs: what the attempts of job 3 on node 7 printed lies in
// kJobLogsDirectory/job3/node7 (dfs/wire/log_archive.h has the format). The worker of the node writes the file when the
// job has ended, and nobody else does. It belongs to the job's user, but counts against nobody's quota: the master
// bounds it and removes it (master/control/job_logs.h). Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids/ids.h"
#include "dfs/wire/mode.h"

namespace millrace::dfs {

inline constexpr std::string_view kJobLogsDirectory = "/.millrace/logs";
inline constexpr Mode kJobLogsMode = 0640;  // of a file

struct JobLogsPlace {
  JobId job;
  NodeId node;
  bool operator==(const JobLogsPlace&) const = default;
};

[[nodiscard]] std::string JobLogsDirectory(JobId job);
[[nodiscard]] std::string PathOf(const JobLogsPlace& place);
// Returns the place of the file; nothing for any path that PathOf cannot have returned.
[[nodiscard]] std::optional<JobLogsPlace> ParseJobLogsPath(std::string_view canonical);

}  // namespace millrace::dfs
