// JobService serves the calls of clients about jobs (base/protocol/master.capnp). Thread rule: the control thread;
// `control` outlives every connection.
#pragma once

#include "base/protocol/master.capnp.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::JobService::Client MakeJobService(Control& control);

}  // namespace millrace::master
