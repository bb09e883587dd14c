// JobService: jobs as clients call them (master/master.capnp). Thread rule: the control thread; `control` outlives
// every connection.
#pragma once

#include "master/master.capnp.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::JobService::Client MakeJobService(Control& control);

}  // namespace millrace::master
