// The view of files of a task process: a new root with everything that the process may see, in its own namespace of
// mounts. Thread rule: the only thread.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"
#include "worker/sandbox/launch_order.h"

namespace millrace::sandbox {

// Makes and enters the new root, which contains the order's readable and writable places under their old names, /tmp,
// /dev and /proc. Nothing else remains visible. An error begins with the part that failed: "mounts: ...", or
// "processes: ..." for /proc. Requires: this process has its own namespace of mounts, and the right to mount.
[[nodiscard]] Status EnterView(const LaunchOrder& order);

// Returns a read-only mount of the directory, and of all mounts below it, that is attached nowhere. Has the same
// requirements as EnterView.
[[nodiscard]] Result<Fd> MountReadOnly(const std::string& directory);

}  // namespace millrace::sandbox
