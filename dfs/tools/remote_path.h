// Paths of the file system as a command line gives them. Thread rule: free functions, any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

// Returns the path without repeated slashes, "." and a slash at the end. Returns kInvalid, in one short line, for a
// path that is not absolute, or holds ".." or a name of more than 255 bytes.
[[nodiscard]] Result<std::string> CheckPath(std::string_view path);
[[nodiscard]] std::string JoinPath(std::string_view directory, std::string_view name);
[[nodiscard]] std::string LastName(std::string_view path);  // of a local path too; of "/" is ""

// Calls `visit` for everything below a directory, parents before what they hold, or for a file itself. A failure of
// `visit` ends it.
[[nodiscard]] Status Walk(DfsClient& client, const std::string& path,
                          const std::function<Status(const FileInfo&)>& visit);

}  // namespace millrace::dfs
