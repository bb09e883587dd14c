// JobService serves the calls of one client about jobs (base/protocol/master.capnp). With TLS, a job is the user's
// whose certificate the client has shown, whatever the request says, and what is another's is refused (caller.h).
// Thread rule: the control thread; `control` outlives every connection.
#pragma once

#include <memory>

#include "base/protocol/master.capnp.h"
#include "master/access/caller.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::JobService::Client MakeJobService(Control& control, std::shared_ptr<const Caller> caller);

}  // namespace millrace::master
