// Landlock lets a process set limits for itself that the kernel enforces. Thread rule: the only thread.
#pragma once

#include "base/status.h"
#include "worker/sandbox/launch_order.h"

namespace millrace::sandbox {

// Limits this process for ever to the order's readable and writable places, /tmp, /dev and /proc; where the kernel
// supports it, also signals and abstract unix sockets to its own processes. In a view of its own the process may read
// everything there. An error begins with "landlock: ". Requires: no_new_privs is set.
[[nodiscard]] Status EnterLandlock(const LaunchOrder& order);

}  // namespace millrace::sandbox
