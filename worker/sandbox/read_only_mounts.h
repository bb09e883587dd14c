// ReadOnlyMounts: files of the worker, opened once more for tasks so that a descriptor can be used to read and for
// nothing else. A descriptor that was opened for reading does not do: where tasks are the worker's own unix user, they
// own the file, may change its mode, times and attributes by the descriptor, and open it anew for writing or cut it by
// way of /proc/self/fd. So its directory is mounted once more, read-only, by millrace-launch, in a namespace of its own
// if need be; the mount is attached nowhere, and goes with this object and the descriptors. What is opened by it, and
// anew by way of that, cannot be changed (EROFS). Thread rule: Reopen from any thread; it blocks on the disk.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

class ReadOnlyMounts {
 public:
  // Mounts directories, which exist. kUnavailable with the reason if this machine or user cannot.
  [[nodiscard]] static Result<ReadOnlyMounts> Open(const std::string& launcher,
                                                   const std::vector<std::string>& directories);
  // Opens the file once more, for reading. kUnavailable if it does not lie below the directories, or does so no longer.
  [[nodiscard]] Result<Fd> Reopen(const Fd& file) const;

 private:
  struct Mount {
    std::string path;  // without links
    Fd top;
  };
  std::vector<Mount> mounts_;
};

}  // namespace millrace::sandbox
