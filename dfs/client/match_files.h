// SPDX-License-Identifier: Apache-2.0
// MatchFiles finds the files that a path or a pattern (dfs/wire/pattern.h) stands for in the file system. Thread rule:
// the call blocks.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"
#include "dfs/wire/pattern.h"

namespace millrace::dfs {

// Returns the files and directories, in the order of ExpandPattern; none for a pattern that matches nothing. For a path
// that is not a pattern, fails as Stat does.
[[nodiscard]] Result<std::vector<FileStatus>> MatchFiles(DfsClient& client, std::string_view path, Hidden hidden);

}  // namespace millrace::dfs
