// FileLease is the capability to write one open file (base/protocol/name.capnp). Dropping it starts the grace after
// which the file is given up. Thread rule: the control thread; `control` outlives every connection.
#pragma once

#include <memory>

#include "base/protocol/name.capnp.h"
#include "dfs/name/types.h"
#include "master/access/caller.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

class Control;

// Makes a lease of the file for the caller; its former holder loses the right.
[[nodiscard]] dfs::wire::FileLease::Client MakeFileLease(Control& control, dfs::FileId file,
                                                         std::shared_ptr<const Caller> caller);
// Returns the worker on whose machine the asker runs; null if there is none.
[[nodiscard]] const NodeRecord* FindAsker(const NodeTable& nodes, dfs::wire::Asker::Reader asker);

}  // namespace millrace::master
