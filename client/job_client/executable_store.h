// SPDX-License-Identifier: Apache-2.0
// Keeps job executables in the file system by their content: /.millrace/executables/<sha256 in hex>, so that the same
// executable is stored once and workers recognise it. Thread rule: any thread.
#pragma once

#include <string>

#include "base/protocol/job_values.h"
#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::job {

// Stores the local executable unless it is stored already. If another client is writing the same executable, this call
// writes a copy beside it, under a name that ends in `token` (no other client has the same one), and then renames the
// copy. So a job never waits for another client's upload.
[[nodiscard]] Result<StoredExecutable> StoreExecutable(dfs::DfsClient& files, const std::string& executable,
                                                       const std::string& token);

}  // namespace millrace::job
