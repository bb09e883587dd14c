// SPDX-License-Identifier: Apache-2.0
// AgentParts holds the seams of the agent, which owns no socket, thread or file itself. Tests and simulated clusters
// supply their own parts.
#pragma once

#include <kj/timer.h>

#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/rpc/background.h"
#include "base/rpc/transport.h"
#include "dfs/data/block_store.h"
#include "dfs/data/sync_meter.h"
#include "worker/daemon/agent/data_plane.h"
#include "worker/daemon/agent/executables.h"
#include "worker/daemon/agent/log_archiver.h"
#include "worker/daemon/process/attempt_files.h"
#include "worker/daemon/process/task_runner.h"

namespace millrace::worker {

// Requires: all parts outlive the agent.
struct AgentParts {
  kj::Timer& timer;
  rpc::Dialer& dialer;
  TaskRunner& runner;
  dfs::BlockStore& blocks;
  DataPlane& plane;
  AttemptFiles& files;
  Executables& executables;
  rpc::Background& background;
  rpc::Background& checks;  // reads whole blocks to check them, so it should have no other work
  const Clock& clock;       // for the trash
  // Reaches the bulk servers of other workers. Without a dialer, the worker does not check whether other workers can be
  // reached.
  rpc::Dialer* peers = nullptr;
  std::function<std::vector<dfs::SyncTimes>()> syncs = {};  // of each disk; empty: syncs are not measured
  std::function<Micros()> certificate_until = {};           // since the epoch; empty: there is no TLS
  std::function<std::string()> python = {};                 // what python3 means to tasks; it does not block
  // Archives logs of ended jobs in the file system. Without these two, no logs are archived.
  rpc::Background* archiving = nullptr;  // it waits for the file system, so it should have no other work
  StoreFile store_file = {};
};

}  // namespace millrace::worker
