// SPDX-License-Identifier: Apache-2.0
// NameService serves the calls of one client or task about the file system (base/protocol/name.capnp). With TLS, the
// owner of new files and directories is the user in the peer's certificate, whatever the call says. Thread rule: the
// control thread; the parts outlive every connection.
#pragma once

#include <kj/timer.h>

#include <memory>

#include "base/protocol/name.capnp.h"
#include "master/access/caller.h"
#include "master/control/job_logs.h"
#include "master/control/master_clock.h"
#include "master/control/master_config.h"
#include "master/control/replica_work.h"
#include "master/service/file_lease.h"

namespace millrace::master {

// The parts of the master that the calls about files use.
struct NameParts {
  const MasterConfig& config;
  const MasterClock& clock;
  kj::Timer& timer;
  const DiskRoom& room;
  FileSystem& files;
  const NodeTable& nodes;
  JobTracker& jobs;
  const BlockTokens& tokens;
  Dispatcher& dispatcher;
  Steps& steps;
  Workers& workers;
  ReplicaWork& replicas;
  JobLogs& job_logs;
  FileLeaseParts leases;
};

[[nodiscard]] dfs::wire::NameService::Client MakeNameService(const NameParts& parts,
                                                             std::shared_ptr<const Caller> caller);

}  // namespace millrace::master
