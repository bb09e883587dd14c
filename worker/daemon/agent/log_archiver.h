// SPDX-License-Identifier: Apache-2.0
// LogArchiver puts the logs of jobs that have ended into the file system (dfs/wire/job_logs.h), so that they can be
// read when this worker has deleted them, or is lost. It asks the master about every job whose logs are here and not
// noted as archived: after each registration, when a job has ended here, and when a try has failed. So it also catches
// up on jobs that ended while this worker or the master was away. The reading, compressing and writing is done on a
// Background of its own. What fails is tried again, less and less often, and given up after kPatience, or when the logs
// themselves are gone (worker.log_retention). Thread rule: the control thread.
#pragma once

#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/rpc/background.h"
#include "base/rpc/task_group.h"
#include "worker/daemon/agent/master_session.h"
#include "worker/daemon/process/attempt_files.h"

namespace millrace::worker {

// Writes a file of the file system: `fill` passes its bytes to `write`, in order. If `fill` fails there is no file. It
// blocks, on the thread of the Background.
using WriteBytes = std::function<Status(std::string_view bytes)>;
using StoreFile = std::function<Status(const std::string& path, const std::function<Status(const WriteBytes&)>& fill)>;

// Writes the archive of the job's logs on this node, in which at most `most` bytes of text are kept. If there are no
// logs, writes nothing. It blocks.
[[nodiscard]] Status ArchiveLogs(const AttemptFiles& files, JobId job, NodeId node, std::uint64_t most,
                                 const StoreFile& store);

class LogArchiver {
 public:
  static constexpr kj::Duration kPatience = 6 * kj::HOURS;

  // `is_here` says whether a job is set up on this worker, so that its logs may grow. Without `store` nothing is
  // archived. Requires: all but the log outlive this.
  LogArchiver(kj::Timer& timer, AttemptFiles& files, rpc::Background* background, StoreFile store,
              MasterSession& session, std::function<bool(JobId)> is_here, Log log);
  ~LogArchiver() noexcept { *self_ = nullptr; }

  void Registered(NodeId node);
  // Notes that a job has ended here, and none of its processes runs any more.
  void JobEnded() { Look(); }

 private:
  static constexpr std::size_t kMostAsked = 100;
  static constexpr kj::Duration kFirstPause = 5 * kj::SECONDS, kLongestPause = 5 * kj::MINUTES;

  struct Failure {
    kj::TimePoint since, again;
    kj::Duration pause = kFirstPause;
  };
  void Look();
  void Ask(std::vector<JobId> jobs);
  void Take(master::wire::LogOrder::Reader order);
  void Write(JobId job, std::uint64_t most);
  void Note(JobId job);
  void Failed(JobId job, const Status& why);
  void LookAfter(kj::Duration pause);

  kj::Timer& timer_;
  AttemptFiles& files_;
  rpc::Background* const background_;
  const StoreFile store_;
  MasterSession& session_;
  const std::function<bool(JobId)> is_here_;
  const Log log_;
  NodeId node_;
  bool unknown_call_ = false;  // to the present master
  bool looking_ = false, again_ = false;
  std::set<JobId> writing_;  // or being noted
  std::map<JobId, Failure> failures_;
  std::set<JobId> given_up_;
  std::shared_ptr<LogArchiver*> self_;
  rpc::TaskGroup tasks_;
};

}  // namespace millrace::worker
