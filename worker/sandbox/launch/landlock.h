// Landlock: the kernel's limits that a process sets for itself. Thread rule: the only thread.
#pragma once

#include "base/status.h"
#include "worker/sandbox/launch_order.h"

namespace millrace::sandbox {

// Limits this process for ever to the order's readable and writable places, /tmp, /dev and /proc; where the kernel can,
// also signals and abstract unix sockets to its own processes. In a view of its own it may read all of that. An error
// begins with "landlock: ". Requires: no_new_privs is set.
[[nodiscard]] Status EnterLandlock(const LaunchOrder& order);

}  // namespace millrace::sandbox
