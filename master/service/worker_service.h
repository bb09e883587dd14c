// WorkerSession serves the calls of a registered worker (base/protocol/master.capnp). Dropping the session starts the
// grace after which the worker is lost. Thread rule: the control thread; `control` outlives every connection.
#pragma once

#include <cstdint>

#include "base/protocol/master.capnp.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::WorkerSession::Client MakeWorkerSession(Control& control, NodeId node, std::uint64_t epoch);

}  // namespace millrace::master
