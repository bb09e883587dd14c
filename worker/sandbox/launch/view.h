// The view of files of a task process: a new root of what it may see, in its own namespace of mounts. Thread rule: the
// only thread.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"
#include "worker/sandbox/launch_order.h"

namespace millrace::sandbox {

// Makes the new root, with the order's readable and writable places under the names that they had, /tmp, /dev and
// /proc, and enters it. Nothing else remains to be seen. An error begins with the part that failed: "mounts: ...", or
// "processes: ..." where it is /proc. Requires: this process has its own namespace of mounts, and the right to mount.
[[nodiscard]] Status EnterView(const LaunchOrder& order);

// Returns a mount of the directory, and of what is mounted below it, that is read-only and attached nowhere. Requires:
// as above.
[[nodiscard]] Result<Fd> MountReadOnly(const std::string& directory);

}  // namespace millrace::sandbox
