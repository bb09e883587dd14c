// SPDX-License-Identifier: Apache-2.0
// Helpers with which the verbs of `millrace fs` join, walk and expand paths of the file system (dfs/wire/path.h).
// Thread rule: free functions, any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

[[nodiscard]] std::string JoinPath(std::string_view directory, std::string_view name);
[[nodiscard]] std::string LastName(std::string_view path);  // of a local path, too; "" for "/"

// Returns kNotFound, with what to do, if the directory in which `canonical` is to be made does not exist: a typing
// error shall move or copy nothing away.
[[nodiscard]] Status CheckParent(DfsClient& client, const std::string& canonical);

// Returns kInvalid, with what to do instead, if the path is that of the trash or lies in it: nothing can be put there.
[[nodiscard]] Status CheckNotTrash(const std::string& canonical);

// Calls `visit` for everything below a directory, parents before their entries, or for a file itself. Returns the first
// failure of `visit`, which ends the walk.
[[nodiscard]] Status Walk(DfsClient& client, const std::string& path,
                          const std::function<Status(const FileStatus&)>& visit);

// ExpandPattern expands a path given to `millrace fs`: to itself, or to all that a pattern matches
// (dfs/wire/pattern.h). It blocks.
//
// Returns the paths that `path` stands for, in canonical form and in order; the path itself if it is not a pattern.
// Returns kNotFound for a pattern that matches nothing.
[[nodiscard]] Result<std::vector<std::string>> ExpandPattern(DfsClient& client, const std::string& path);

// Expands each path, in order.
[[nodiscard]] Result<std::vector<std::string>> ExpandPatterns(DfsClient& client, const std::vector<std::string>& paths);

}  // namespace millrace::dfs
