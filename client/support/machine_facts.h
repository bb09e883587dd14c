// SPDX-License-Identifier: Apache-2.0
// Texts about this machine: its kernel, its control groups, its clock and its disks. Thread rule: free functions, any
// thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace millrace::support {

// Returns the kernel, the system, the processors, the memory, the load and the limits of this process.
[[nodiscard]] std::string SystemText();
// Returns the control groups of this process and what they allow; `root` is where /proc and /sys are.
[[nodiscard]] std::string CgroupsText(const std::string& root = "");
// Returns the time of this machine, and whether its kernel takes the clock for synchronized.
[[nodiscard]] std::string ClockText();
// Returns a table of the file systems of these paths, as df prints it.
[[nodiscard]] std::string DisksText(const std::vector<std::string>& paths);

// Returns the last lines of a file, at most `lines` lines and `bytes` bytes. Returns kDenied unless it is a regular
// file of the user `owner`: a process may say that any file is its log.
[[nodiscard]] Result<std::string> TailOf(const std::string& path, uid_t owner, std::size_t lines, std::size_t bytes);

}  // namespace millrace::support
