// SPDX-License-Identifier: Apache-2.0
// ReadOnlyMounts reopens files of the worker for tasks, so that the new descriptor allows reading and nothing else. A
// descriptor that was opened for reading is not enough: where tasks run as the worker's own unix user, they own the
// file. They may then change its mode, times and attributes through the descriptor, and reopen it for writing or
// truncate it through /proc/self/fd. So millrace-launch mounts the file's directory a second time, read-only, in a
// namespace of its own if need be. The mount is attached nowhere, and lives as long as this object and the descriptors.
// A file that is opened through the mount, or reopened from such a descriptor, cannot be changed (EROFS). Thread rule:
// Reopen from any thread; it blocks on the disk.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

class ReadOnlyMounts {
 public:
  // Mounts `directories`. Returns kUnavailable, with the reason, if this machine or user cannot. Requires: the
  // directories exist.
  [[nodiscard]] static Result<ReadOnlyMounts> Open(const std::string& launcher,
                                                   const std::vector<std::string>& directories);
  // Reopens the file for reading. Returns kUnavailable if it does not lie below the directories, or no longer does.
  [[nodiscard]] Result<Fd> Reopen(const Fd& file) const;

 private:
  struct Mount {
    std::string path;  // without links
    Fd top;
  };
  std::vector<Mount> mounts_;
};

}  // namespace millrace::sandbox
