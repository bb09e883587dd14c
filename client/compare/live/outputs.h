// Digests the outputs of the jobs of a run into one text: runs of the same jobs must have the same text. Thread rule:
// any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::compare {

// Returns a checksum over the names and bytes of all files below `directories`, each of which counts by its place in
// the list; directories that do not exist count as empty. Empty if no file has a byte.
[[nodiscard]] Result<std::string> DigestOutputs(dfs::DfsClient& files, const std::vector<std::string>& directories);

}  // namespace millrace::compare
