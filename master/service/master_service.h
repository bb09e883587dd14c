// SPDX-License-Identifier: Apache-2.0
// The master's bootstrap capabilities (base/protocol/master.capnp). Thread rule: the control thread; `control` outlives
// every connection, except for those calls that still wait (Steps::self).
#pragma once

#include <functional>

#include "base/protocol/master.capnp.h"
#include "base/rpc/transport.h"
#include "master/service/job_service.h"
#include "master/service/name_service.h"

namespace millrace::master {

class Control;
// These return the parts of the master that its calls about files, and about jobs, use.
[[nodiscard]] NameParts NamePartsOf(Control& control);
[[nodiscard]] JobParts JobPartsOf(Control& control);
// Makes the capability of one peer.
[[nodiscard]] rpc::Server::BootstrapFor MakeMasterServices(Control& control);

}  // namespace millrace::master
