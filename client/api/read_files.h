// Files that a job reads besides its splits, and the files that an input is.
// Thread rule: the caller's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace {

struct InputFile {
  std::string path;
  std::uint64_t length = 0;
};

// What the master would split (master/splits.h): the file, the files below the directory, or those that the pattern
// matches, without those that begin with '_' or '.'; in order of names in each directory. kNotFound if there is none.
[[nodiscard]] Result<std::vector<InputFile>> ListInput(dfs::DfsClient& files, const std::string& input);

// The bytes of a file, or of all files of such an input, one after the other. kInvalid for more than `limit` bytes.
[[nodiscard]] Result<std::string> ReadWhole(dfs::DfsClient& files, const std::string& input, std::uint64_t limit);

}  // namespace millrace
