// SPDX-License-Identifier: Apache-2.0
// FileLease is the capability to write one open file (base/protocol/name.capnp). Dropping it starts the grace after
// which the file is given up. Thread rule: the control thread; the parts outlive every connection.
#pragma once

#include <kj/timer.h>

#include <memory>

#include "base/protocol/name.capnp.h"
#include "dfs/name/types.h"
#include "master/access/caller.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/block_tokens.h"
#include "master/control/disk_room.h"
#include "master/control/dispatcher.h"
#include "master/control/node_watch.h"
#include "master/control/open_files.h"
#include "master/control/steps.h"
#include "master/control/workers.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// The parts of the master that the writing of a file uses.
struct FileLeaseParts {
  kj::Timer& timer;
  const DiskRoom& room;
  FileSystem& files;
  const NodeTable& nodes;
  JobTracker& jobs;
  const BlockTokens& tokens;
  Dispatcher& dispatcher;
  Steps& steps;
  NodeWatch& watch;
  Workers& workers;
  OpenFiles& open_files;
};

// Makes a lease of the file for the caller; its former holder loses the right.
[[nodiscard]] dfs::wire::FileLease::Client MakeFileLease(const FileLeaseParts& parts, dfs::FileId file,
                                                         std::shared_ptr<const Caller> caller);
// Returns the worker on whose machine the asker runs; null if there is none.
[[nodiscard]] const NodeRecord* FindAsker(const NodeTable& nodes, dfs::wire::Asker::Reader asker);

}  // namespace millrace::master
