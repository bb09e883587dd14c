// What a path or a pattern (dfs/wire/pattern.h) stands for in the file system. Thread rule: the call blocks.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"
#include "dfs/wire/pattern.h"

namespace millrace::dfs {

// Returns the files and directories, as ExpandPattern says; none for a pattern that matches nothing. Fails as Stat does
// for a path that is no pattern.
[[nodiscard]] Result<std::vector<FileInfo>> MatchFiles(DfsClient& client, std::string_view path, Hidden hidden);

}  // namespace millrace::dfs
