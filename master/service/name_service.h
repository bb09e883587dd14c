// NameService serves the calls of clients and tasks about the file system (base/protocol/name.capnp). Thread rule: the
// control thread; `control` outlives every connection.
#pragma once

#include "base/protocol/name.capnp.h"

namespace millrace::master {

class Control;
[[nodiscard]] dfs::wire::NameService::Client MakeNameService(Control& control);

}  // namespace millrace::master
