// Paths of the file system as the verbs of `millrace fs` join and walk them; dfs/wire/path.h says what a path may be.
// Thread rule: free functions, any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

[[nodiscard]] std::string JoinPath(std::string_view directory, std::string_view name);
[[nodiscard]] std::string LastName(std::string_view path);  // of a local path too; of "/" is ""

// Calls `visit` for everything below a directory, parents before what they hold, or for a file itself. A failure of
// `visit` ends it.
[[nodiscard]] Status Walk(DfsClient& client, const std::string& path,
                          const std::function<Status(const FileInfo&)>& visit);

}  // namespace millrace::dfs
