// JobService serves the calls of one client about jobs (base/protocol/master.capnp). With TLS, the owner of a job is
// the user in the client's certificate, whatever the request says, and calls about the jobs of others are denied by the
// rules in caller.h. Thread rule: the control thread; `control` outlives every connection.
#pragma once

#include <memory>

#include "base/protocol/master.capnp.h"
#include "master/access/caller.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::JobService::Client MakeJobService(Control& control, std::shared_ptr<const Caller> caller);

}  // namespace millrace::master
