// The master's bootstrap capabilities (master/master.capnp). Thread rule: the control thread; `control` outlives every
// connection.
#pragma once

#include <functional>

#include "base/rpc/transport.h"
#include "master/master.capnp.h"

namespace millrace::master {

class Control;
// Makes the capability of one peer. With `dial_back`, which outlives it, a worker's bulk port is dialed before the
// worker is taken in.
[[nodiscard]] rpc::Server::BootstrapFor MakeMasterServices(Control& control, rpc::Dialer* dial_back = nullptr);

}  // namespace millrace::master
