// SPDX-License-Identifier: Apache-2.0
// JobService serves the calls of one client about jobs (base/protocol/master.capnp). With TLS, the owner of a job is
// the user in the client's certificate, whatever the request says, and calls about the jobs of others are denied by the
// rules in caller.h. Thread rule: the control thread; the parts outlive every connection.
#pragma once

#include <kj/timer.h>

#include <memory>

#include "base/log.h"
#include "base/protocol/master.capnp.h"
#include "master/access/caller.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/block_tokens.h"
#include "master/control/disk_room.h"
#include "master/control/dispatcher.h"
#include "master/control/forecasts.h"
#include "master/control/steps.h"
#include "master/control/watchers.h"
#include "master/control/what_helps.h"
#include "master/control/workers.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// The parts of the master that the calls about jobs use.
struct JobParts {
  kj::Timer& timer;
  const DiskRoom& room;
  FileSystem& files;
  const NodeTable& nodes;
  JobTracker& jobs;
  Watchers& watchers;
  const BlockTokens& tokens;
  Dispatcher& dispatcher;
  Steps& steps;
  Workers& workers;
  Forecasts& forecasts;
  WhatHelps& what_helps;
  Log log;
};

[[nodiscard]] wire::JobService::Client MakeJobService(const JobParts& parts, std::shared_ptr<const Caller> caller);

}  // namespace millrace::master
