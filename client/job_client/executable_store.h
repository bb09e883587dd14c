// Keeps job executables in the file system by their content: /.millrace/executables/<sha256 in hex>, so that the same
// executable is stored once and workers know it again. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::job {

struct StoredExecutable {
  std::string path;  // in the file system
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // crc32c
};

// Stores the local executable unless it is stored already. While another client writes the same executable, this one is
// written beside it under a name that ends in `token`, which no other client has, and is then renamed: a job never
// waits for another client's upload.
[[nodiscard]] Result<StoredExecutable> StoreExecutable(dfs::DfsClient& files, const std::string& executable,
                                                       const std::string& token);

}  // namespace millrace::job
