// SPDX-License-Identifier: Apache-2.0
// JobWatch receives a job's status from the master whenever it changes, until the job has ended. If the connection or
// the master is lost, JobWatch starts to watch again by itself. Thread rule: one thread at a time; the connection's
// control thread and a thread of the watch deliver the changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "client/job_client/job_types.h"
#include "dfs/client/dfs_client.h"

namespace millrace::job {

class JobWatch {
 public:
  // `patience` is the time for which the master may be out of reach before the watch gives up. Requires: `connection`
  // outlives the watch.
  static Result<std::unique_ptr<JobWatch>> Start(dfs::DfsClient& connection, JobId job, Micros patience);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // Returns a descriptor that is readable (poll) while Take has something to return.
  [[nodiscard]] int fd() const;
  // Returns the newest status if it has not been taken yet, or the failure that ended the watch (kUnavailable or
  // kTimeout: the master stayed out of reach). Returns nothing if there is neither. Never blocks.
  std::optional<Result<JobStatus>> Take();
  // Returns since when the master is out of reach; nothing if it is not. The descriptor becomes readable when that
  // changes, too.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> AwaySince() const;

 private:
  struct Impl;
  explicit JobWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::job
