// WorkerSession: what a registered worker tells the master (master/master.capnp). Dropping the session starts the grace
// after which the worker is lost. Thread rule: the control thread; `control` outlives every connection.
#pragma once

#include <cstdint>

#include "master/master.capnp.h"
#include "master/node_table.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::WorkerSession::Client MakeWorkerSession(Control& control, NodeNumber node, std::uint64_t epoch);

}  // namespace millrace::master
