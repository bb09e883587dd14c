// SPDX-License-Identifier: Apache-2.0
// JobLogs decides about the archive of the logs of ended jobs (dfs/wire/job_logs.h): whose logs a worker archives and
// how much of them, who may write which file of it, and what of it is removed. A worker asks, at each registration and
// when a job has ended there, about all jobs whose logs it has: so nothing needs to be remembered of workers that are
// away when a job ends, or across a restart of the master. Thread rule: the control thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "base/tls/peer_identity.h"
#include "dfs/name/namespace.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/disk_room.h"
#include "master/control/master_clock.h"
#include "master/control/master_config.h"
#include "master/control/steps.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

class JobLogs {
 public:
  // Requires: all arguments but the log outlive this.
  JobLogs(const MasterConfig& config, const MasterClock& clock, FileSystem& files, const NodeTable& nodes,
          const JobTracker& jobs, const DiskRoom& room, Steps& steps, Log log)
      : config_(config),
        clock_(clock),
        files_(files),
        nodes_(nodes),
        jobs_(jobs),
        room_(room),
        steps_(steps),
        log_(std::move(log)) {}

  enum class Fate { kLater, kArchive, kLeave };  // as in master.capnp
  struct Order {
    JobId job;
    Fate fate = Fate::kLeave;
    std::uint64_t bytes = 0;
  };
  // Returns what a node is to do with the logs that it has of these jobs.
  [[nodiscard]] std::vector<Order> OrdersFor(NodeId node, const std::vector<JobId>& jobs) const;

  // Returns the options of a new file at `path`, below dfs::kJobLogsDirectory; kDenied unless the peer is the worker of
  // the node that the path names, or anybody where there is no TLS, and the job has ended.
  [[nodiscard]] Result<dfs::CreateOptions> OptionsFor(std::string_view path, const tls::PeerIdentity& peer,
                                                      dfs::CreateOptions asked) const;
  // Returns kDenied unless the peer may write to the open file at `path`. Requires: the peer is a worker.
  [[nodiscard]] Status CheckWorkerWrites(std::string_view path, const tls::PeerIdentity& peer) const;
  // Makes the directory of the job's files; nobody but the master can make or remove anything there.
  [[nodiscard]] Status KeepDirectories(std::string_view path, Step* step);

  // Removes some of the logs of jobs that are not to be kept; the next call goes on. Requires: Sweep is called now and
  // then.
  void Sweep();

 private:
  const MasterConfig& config_;
  const MasterClock& clock_;
  FileSystem& files_;
  const NodeTable& nodes_;
  const JobTracker& jobs_;
  const DiskRoom& room_;
  Steps& steps_;
  const Log log_;
  Micros swept_ = 0;
};

}  // namespace millrace::master
