#include "dfs/tools/glob.h"

#include <utility>

#include "base/text.h"
#include "dfs/client/match_files.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {

Result<std::vector<std::string>> ExpandPattern(DfsClient& client, const std::string& path) {
  if (!HasPattern(path)) {
    MILLRACE_ASSIGN(std::string canonical, CanonicalPath(path));
    return std::vector<std::string>{std::move(canonical)};
  }
  MILLRACE_ASSIGN(std::vector<FileStatus> found, MatchFiles(client, path, Hidden::kDots));
  if (found.empty()) return NotFound(Quote(path) + ": nothing matches");
  std::vector<std::string> paths;
  for (FileStatus& each : found) paths.push_back(std::move(each.path));
  return paths;
}

Result<std::vector<std::string>> ExpandPatterns(DfsClient& client, const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    MILLRACE_ASSIGN(const std::vector<std::string> some, ExpandPattern(client, path));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace millrace::dfs
