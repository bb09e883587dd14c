// SPDX-License-Identifier: Apache-2.0
// WorkerSession serves the calls of a registered worker (base/protocol/master.capnp). Dropping the session starts the
// grace after which the worker is lost. Thread rule: the control thread; the parts outlive every connection.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "base/protocol/master.capnp.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/database_age.h"
#include "master/control/disk_room.h"
#include "master/control/job_logs.h"
#include "master/control/master_clock.h"
#include "master/control/node_watch.h"
#include "master/control/steps.h"
#include "master/control/workers.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// The parts of the master that the calls of workers use.
struct WorkerSessionParts {
  const MasterClock& clock;
  DiskRoom& room;
  FileSystem& files;
  NodeTable& nodes;
  JobTracker& jobs;
  Steps& steps;
  const DatabaseAge& age;
  NodeWatch& watch;
  Workers& workers;
  const JobLogs& job_logs;
  Log log;
};

[[nodiscard]] wire::WorkerSession::Client MakeWorkerSession(const WorkerSessionParts& parts, NodeId node,
                                                            std::uint64_t epoch);

}  // namespace millrace::master
