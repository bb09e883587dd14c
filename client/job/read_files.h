// Reads the files that a job needs besides its splits, and lists the files of an input.
// Thread rule: the caller's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace millrace {

namespace dfs {
class DfsClient;
}  // namespace dfs

struct InputFile {
  std::string path;
  std::uint64_t length = 0;
  std::uint64_t block_size = 0;
};

// Returns the files that the master would split (master/jobs/splits.h): the file, the files below the directory, or
// those that match the pattern, without those that begin with '_' or '.'. They are in order of names in each directory.
// kNotFound if there is none.
[[nodiscard]] Result<std::vector<InputFile>> ListInput(dfs::DfsClient& files, const std::string& input);

// What TaskContext::ReadFile reads at most.
inline constexpr std::uint64_t kMostSideFileBytes = std::uint64_t{1} << 30;

// Returns the bytes of a file, or of all files of such an input, one after the other. kInvalid if there are more than
// `limit` bytes.
[[nodiscard]] Result<std::string> ReadWhole(dfs::DfsClient& files, const std::string& input, std::uint64_t limit);

}  // namespace millrace
