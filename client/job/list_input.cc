#include "client/job/list_input.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"
#include "dfs/client/dfs_client.h"

namespace millrace {
namespace {

std::size_t GlobAt(const std::string& path) { return path.find_first_of("*?["); }

bool Hidden(const std::string& path) {
  const char first = path[path.rfind('/') + 1];
  return first == '_' || first == '.';
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Collects the files below `directory`. `depth` is how many names of the pattern are still to be matched; at 0,
// everything below is taken, and named by its path below `root`.
Status Collect(dfs::DfsClient& files, const std::string& directory, const std::string& root, const std::string& pattern,
               long depth, std::vector<InputFile>* found) {
  std::vector<dfs::FileInfo> entries;
  MILLRACE_TRY(files.List(directory, [&](const dfs::FileInfo& entry) {
    entries.push_back(entry);
    return true;
  }));
  for (const dfs::FileInfo& entry : entries) {
    if (depth == 0 && Hidden(entry.path)) continue;
    // Cuts the pattern after as many names as the entry's path has.
    const auto names = std::count(entry.path.begin(), entry.path.end(), '/');
    std::size_t end = 0;
    for (long i = 0; i < names && end != std::string::npos; ++i) end = pattern.find('/', end + 1);
    if (depth > 0 && ::fnmatch(pattern.substr(0, end).c_str(), entry.path.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0)
      continue;
    const long left = std::max(depth - 1, 0L);
    if (entry.directory) {
      MILLRACE_TRY(Collect(files, entry.path, depth == 0 ? root : entry.path, pattern, left, found));
    } else if (left == 0) {
      std::string name = depth == 0 ? entry.path.substr(root == "/" ? 1 : root.size() + 1) : BaseName(entry.path);
      found->push_back({entry.path, std::move(name), entry.length, entry.block_size});
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<InputFile>> ListInput(dfs::DfsClient& files, const std::string& input) {
  std::vector<InputFile> found;
  const Result<dfs::FileInfo> info = files.Stat(input);
  if (info.ok() && !info->directory) {
    return std::vector<InputFile>{{info->path, BaseName(info->path), info->length, info->block_size}};
  }
  if (info.ok()) {
    MILLRACE_TRY(Collect(files, info->path, info->path, "", 0, &found));
    return found;
  }
  const std::size_t glob = GlobAt(input);
  if (glob == std::string::npos || info.status().code() != StatusCode::kNotFound) return info.status();
  const std::size_t slash = input.rfind('/', glob);
  if (slash == std::string::npos) return Invalid("input " + Quote(input) + ": a path begins with a slash");
  MILLRACE_TRY(Collect(files, slash == 0 ? "/" : input.substr(0, slash), "", input,
                       std::count(input.begin() + static_cast<std::ptrdiff_t>(slash), input.end(), '/'), &found));
  if (found.empty()) return NotFound("input " + Quote(input) + ": the pattern matches no file");
  return found;
}

}  // namespace millrace
