// SPDX-License-Identifier: Apache-2.0
// LogSource reads what an attempt printed from where it still is: from its worker or, if that does not answer or has
// deleted it, from the archive in the file system (dfs/wire/job_logs.h). It says on standard error when a log comes
// from the archive, and counts the attempts whose logs are lost with their node. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "client/cli/invocation.h"
#include "client/job_client/job_client.h"
#include "dfs/client/dfs_client.h"
#include "dfs/wire/log_archive.h"

namespace millrace::cli {

class LogSource {
 public:
  // Requires: the arguments outlive this.
  LogSource(const Invocation& invocation, dfs::DfsClient& files, job::JobClient& jobs)
      : invocation_(invocation), files_(files), jobs_(jobs) {}

  // Gives the whole log to `sink`, piece by piece. Returns kUnavailable if it is neither on a worker that answers nor
  // in the archive; Lost then counts the attempt.
  [[nodiscard]] Status Read(const AttemptStatus& attempt, job::LogStream stream,
                            const std::function<void(std::string_view)>& sink);
  // Returns one line for each node with which logs were lost: "logs of 3 attempts were on b7 (node 2), which was ...".
  [[nodiscard]] std::string Lost() const;

 private:
  struct Archive {
    std::unique_ptr<dfs::FileReader> file;
    std::optional<dfs::LogArchiveReader> reader;
    Status status;  // why there is no reader
    bool told = false;
  };
  Archive& Open(JobId job, NodeId node);
  [[nodiscard]] Status ReadArchived(const AttemptStatus& attempt, job::LogStream stream, std::uint64_t known,
                                    const Status& why, const std::function<void(std::string_view)>& sink);

  const Invocation& invocation_;
  dfs::DfsClient& files_;
  job::JobClient& jobs_;
  std::map<std::pair<JobId, NodeId>, Archive> archives_;
  std::map<std::pair<NodeId, std::string>, std::set<AttemptId>> lost_;  // by node and host
};

}  // namespace millrace::cli
