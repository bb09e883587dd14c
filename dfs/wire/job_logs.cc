// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/job_logs.h"

#include <charconv>

#include "dfs/wire/path.h"

namespace millrace::dfs {

std::string JobLogsDirectory(JobId job) { return std::string(kJobLogsDirectory) + "/" + ToText(job); }

std::string PathOf(const JobLogsPlace& place) {
  return JobLogsDirectory(place.job) + "/node" + std::to_string(place.node.value);
}

std::optional<JobLogsPlace> ParseJobLogsPath(std::string_view canonical) {
  if (ParentPath(ParentPath(canonical)) != kJobLogsDirectory) return std::nullopt;
  const std::optional<JobId> job = ParseJob(BaseName(ParentPath(canonical)));
  std::string_view node = BaseName(canonical);
  if (!job || !node.starts_with("node")) return std::nullopt;
  node.remove_prefix(4);
  JobLogsPlace place{*job, {}};
  (void)std::from_chars(node.data(), node.data() + node.size(), place.node.value);
  if (PathOf(place) != canonical) return std::nullopt;
  return place;
}

}  // namespace millrace::dfs
