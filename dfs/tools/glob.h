// ExpandPattern expands a path given to `millrace fs`: to itself, or to all that a pattern matches
// (dfs/wire/pattern.h). Thread rule: the calls block.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

// Returns the paths that `path` stands for, in canonical form and in order; the path itself if it is not a pattern.
// Returns kNotFound for a pattern that matches nothing.
[[nodiscard]] Result<std::vector<std::string>> ExpandPattern(DfsClient& client, const std::string& path);

// Expands each path, in order.
[[nodiscard]] Result<std::vector<std::string>> ExpandPatterns(DfsClient& client, const std::vector<std::string>& paths);

}  // namespace millrace::dfs
