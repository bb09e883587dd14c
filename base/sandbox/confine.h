// SPDX-License-Identifier: Apache-2.0
// The steps by which the launcher confines the task process that it is about to become: a view of files of its own
// (view.cc) and the limits of Landlock, which the kernel enforces for ever (landlock.cc). Thread rule: the only thread.
#pragma once

#include <string>

#include "base/file.h"
#include "base/sandbox/launch_order.h"
#include "base/status.h"

namespace millrace::sandbox {

// Makes and enters the new root, which contains the order's readable and writable places under their old names, /tmp,
// /dev and /proc. Nothing else remains visible. An error begins with the part that failed: "mounts: ...", or
// "processes: ..." for /proc. Requires: this process has its own namespace of mounts, and the right to mount.
[[nodiscard]] Status EnterView(const LaunchOrder& order);

// Returns a read-only mount of the directory, and of all mounts below it, that is attached nowhere. Has the same
// requirements as EnterView.
[[nodiscard]] Result<Fd> MountReadOnly(const std::string& directory);

// Limits this process for ever to the order's readable and writable places, /tmp, /dev and /proc. Where the kernel
// supports it, also limits its signals and abstract unix sockets to its own processes. If the process has a view of its
// own, it may read everything in that view. An error begins with "landlock: ". Requires: no_new_privs is set.
[[nodiscard]] Status EnterLandlock(const LaunchOrder& order);

}  // namespace millrace::sandbox
