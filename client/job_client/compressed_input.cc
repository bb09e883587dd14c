#include "client/job_client/compressed_input.h"

#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/format/compression.h"
#include "client/job/list_input.h"

namespace millrace::job {
namespace {

// A message to the master has room for a MiB.
constexpr std::size_t kMostPathBytes = std::size_t{512} << 10;

bool BeginsCompressed(dfs::DfsClient& files, const InputFile& file) {
  dfs::FileInfo info;
  info.path = file.path;
  info.length = file.length;
  std::string first;
  const bool read = files.OpenKnown(std::move(info), {})->ReadAt(0, kCompressionBytes, &first).ok();
  return read && CompressionOf(first) != Compression::kNone;
}

}  // namespace

Result<std::vector<std::string>> FindCompressedInput(dfs::DfsClient& files, const std::vector<std::string>& inputs) {
  std::vector<std::string> found;
  std::size_t bytes = 0;
  for (const std::string& input : inputs) {
    MILLRACE_ASSIGN(const std::vector<InputFile> listed, ListInput(files, input));
    for (const InputFile& file : listed) {
      const bool cut = file.length > file.block_size && CompressionOfName(file.path) == Compression::kNone;
      if (!cut || !BeginsCompressed(files, file)) continue;
      bytes += file.path.size() + 16;  // and its place in the list
      if (bytes > kMostPathBytes) {
        return Invalid("the input " + Quote(input) +
                       " has too many compressed files without the name of one, such as " + Quote(file.path) +
                       "; give them names that end with .gz, .zst or .bz2");
      }
      found.push_back(file.path);
    }
  }
  return found;
}

}  // namespace millrace::job
