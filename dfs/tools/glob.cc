#include "dfs/tools/glob.h"

#include <fnmatch.h>

#include <utility>

#include "base/text.h"
#include "dfs/tools/remote_path.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

// Appends what matches the component in each of the directories. What is no directory, or gone, holds nothing.
Status Match(DfsClient& client, const std::vector<std::string>& directories, const std::string& component,
             std::vector<std::string>* matches) {
  for (const std::string& directory : directories) {
    const Result<FileInfo> info = client.Stat(directory);
    if (info.status().code() == StatusCode::kNotFound) continue;
    MILLRACE_TRY(info.status());
    if (!info->directory) continue;
    MILLRACE_TRY(client.List(directory, [&](const FileInfo& entry) {
      if (::fnmatch(component.c_str(), LastName(entry.path).c_str(), FNM_PERIOD) == 0) matches->push_back(entry.path);
      return true;
    }));
  }
  return Status::Ok();
}

}  // namespace

bool HasPattern(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

Result<std::vector<std::string>> ExpandPattern(DfsClient& client, const std::string& path) {
  if (!HasPattern(path) || client.Stat(path).ok()) return std::vector<std::string>{path};
  std::vector<std::string> found{"/"};
  for (const std::string_view component : SplitPath(path)) {
    std::vector<std::string> next;
    if (HasPattern(component)) {
      MILLRACE_TRY(Match(client, found, std::string(component), &next));
    } else {
      for (const std::string& directory : found) next.push_back(JoinPath(directory, component));
    }
    found = std::move(next);
  }
  // Components without a pattern after the last one with a pattern have not been looked for yet.
  std::vector<std::string> there;
  for (std::string& match : found) {
    if (client.Stat(match).ok()) there.push_back(std::move(match));
  }
  if (there.empty()) return NotFound(Quote(path) + ": nothing matches");
  return there;
}

Result<std::vector<std::string>> ExpandPatterns(DfsClient& client, const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
    MILLRACE_ASSIGN(const std::vector<std::string> some, ExpandPattern(client, canonical));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace millrace::dfs
