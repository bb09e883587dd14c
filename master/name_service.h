// NameService: the file system as clients and tasks call it (dfs/name/name.capnp). Thread rule: the control thread;
// `control` outlives every connection.
#pragma once

#include "dfs/name/name.capnp.h"

namespace millrace::master {

class Control;
[[nodiscard]] dfs::wire::NameService::Client MakeNameService(Control& control);

}  // namespace millrace::master
