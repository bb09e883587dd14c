// The master's bootstrap capabilities (base/protocol/master.capnp). Thread rule: the control thread; `control` outlives
// every connection.
#pragma once

#include <functional>

#include "base/protocol/master.capnp.h"
#include "base/rpc/transport.h"

namespace millrace::master {

class Control;
// Makes the capability of one peer.
[[nodiscard]] rpc::Server::BootstrapFor MakeMasterServices(Control& control);

}  // namespace millrace::master
