// The master's bootstrap capability (master/master.capnp). Thread rule: the control thread; `control` outlives every
// connection.
#pragma once

#include "master/master.capnp.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::Master::Client MakeMasterService(Control& control);

}  // namespace millrace::master
