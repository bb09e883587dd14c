// Digests the outputs of the jobs of a run into one text, which must be the same for all runs of the same jobs. Thread
// rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::compare {

// Returns a checksum over the names and bytes of all files below `directories`. A directory counts by its place in the
// list; one that does not exist counts as empty. Returns an empty text if no file has a byte.
[[nodiscard]] Result<std::string> DigestOutputs(dfs::DfsClient& files, const std::vector<std::string>& directories);

}  // namespace millrace::compare
