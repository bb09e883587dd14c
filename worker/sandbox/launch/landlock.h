// Landlock lets a process set limits for itself that the kernel enforces. Thread rule: the only thread.
#pragma once

#include "base/status.h"
#include "worker/sandbox/launch_order.h"

namespace millrace::sandbox {

// Limits this process for ever to the order's readable and writable places, /tmp, /dev and /proc. Where the kernel
// supports it, also limits its signals and abstract unix sockets to its own processes. If the process has a view of its
// own, it may read everything in that view. An error begins with "landlock: ". Requires: no_new_privs is set.
[[nodiscard]] Status EnterLandlock(const LaunchOrder& order);

}  // namespace millrace::sandbox
