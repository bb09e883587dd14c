// Patterns in the paths of `millrace fs`. Within a component, * stands for any bytes, ? for one and [...] for one of
// several (fnmatch(3)); none of them for a '.' at the beginning of a name. A path that exists stands for itself,
// whatever is in it. Thread rule: the calls block.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

[[nodiscard]] bool HasPattern(std::string_view path);

// Returns the paths that `path` stands for, in order; itself if there is no pattern in it. kNotFound for a pattern that
// matches nothing. Requires: `path` is canonical.
[[nodiscard]] Result<std::vector<std::string>> ExpandPattern(DfsClient& client, const std::string& path);

// Makes the paths canonical and expands each.
[[nodiscard]] Result<std::vector<std::string>> ExpandPatterns(DfsClient& client, const std::vector<std::string>& paths);

}  // namespace millrace::dfs
