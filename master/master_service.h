// The master's bootstrap capabilities (master/master.capnp). Thread rule: the control thread; `control` outlives every
// connection.
#pragma once

#include <functional>

#include "base/rpc/transport.h"
#include "master/master.capnp.h"

namespace millrace::master {

class Control;
// Makes the capability of one peer.
[[nodiscard]] rpc::Server::BootstrapFor MakeMasterServices(Control& control);

}  // namespace millrace::master
