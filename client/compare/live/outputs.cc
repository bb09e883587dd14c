#include "client/compare/live/outputs.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/crc32c.h"

namespace millrace::compare {
namespace {

Result<std::uint32_t> Checksum(dfs::DfsClient& files, const dfs::FileStatus& file) {
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::FileReader> reader, files.Open(file.path));
  std::uint32_t sum = 0;
  MILLRACE_TRY(reader->Stream(0, file.length, [&sum](std::string_view bytes) {
    sum = Crc32c(bytes, sum);
    return true;
  }));
  return sum;
}

}  // namespace

Result<std::string> DigestOutputs(dfs::DfsClient& files, const std::vector<std::string>& directories) {
  std::uint32_t digest = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    std::vector<dfs::FileStatus> found;
    const Status listed = files.List(directories[i], [&found](const dfs::FileStatus& file) {
      if (!file.directory) found.push_back(file);
      return true;
    });
    if (!listed.ok() && listed.code() != StatusCode::kNotFound) return listed;
    std::ranges::sort(found, {}, &dfs::FileStatus::path);
    for (const dfs::FileStatus& file : found) {
      MILLRACE_ASSIGN(const std::uint32_t sum, Checksum(files, file));
      const std::string name = file.path.substr(file.path.rfind('/') + 1);
      digest =
          Crc32c(std::to_string(i) + "/" + name + " " + std::to_string(file.length) + " " + std::to_string(sum) + "\n",
                 digest);
      bytes += file.length;
    }
  }
  if (bytes == 0) return std::string();
  char text[48];
  std::snprintf(text, sizeof text, "%08x of %llu bytes", digest, static_cast<unsigned long long>(bytes));
  return std::string(text);
}

}  // namespace millrace::compare
