// NameService serves the calls of one client or task about the file system (base/protocol/name.capnp). With TLS, the
// owner of new files and directories is the user in the peer's certificate, whatever the call says. Thread rule: the
// control thread; `control` outlives every connection.
#pragma once

#include <memory>

#include "base/protocol/name.capnp.h"
#include "master/access/caller.h"

namespace millrace::master {

class Control;
[[nodiscard]] dfs::wire::NameService::Client MakeNameService(Control& control, std::shared_ptr<const Caller> caller);

}  // namespace millrace::master
