// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/remote_path.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "dfs/client/match_files.h"
#include "dfs/wire/path.h"
#include "dfs/wire/trash.h"

namespace millrace::dfs {
namespace {

Status WalkDirectory(DfsClient& client, const std::string& path,
                     const std::function<Status(const FileStatus&)>& visit) {
  std::vector<std::string> directories;
  Status visited;
  MILLRACE_TRY(client.List(path, [&](const FileStatus& entry) {
    if (entry.directory) directories.push_back(entry.path);
    visited = visit(entry);
    return visited.ok();
  }));
  MILLRACE_TRY(visited);
  for (const std::string& directory : directories) MILLRACE_TRY(WalkDirectory(client, directory, visit));
  return Status::Ok();
}

}  // namespace

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::string LastName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

Status CheckNotTrash(const std::string& canonical) {
  if (!IsTrash(canonical)) return Status::Ok();
  return Invalid(Quote(canonical) +
                 ": nothing is put into the trash by hand; `millrace fs rm --trash` removes into it, and "
                 "`millrace fs undelete` brings back what was removed");
}

Status CheckParent(DfsClient& client, const std::string& canonical) {
  const std::string parent(ParentPath(canonical));
  const Result<FileStatus> there = client.Stat(parent);
  if (there.status().code() == StatusCode::kNotFound) {
    return NotFound(Quote(canonical) + ": there is no directory " + Quote(parent) +
                    " to put it into; `millrace fs mkdir` makes it");
  }
  if (there.ok() && !there->directory)
    return Invalid(Quote(canonical) + ": " + Quote(parent) + " is a file, not a directory");
  return there.status();
}

Status Walk(DfsClient& client, const std::string& path, const std::function<Status(const FileStatus&)>& visit) {
  MILLRACE_ASSIGN(const FileStatus root, client.Stat(path));
  if (!root.directory) return visit(root);
  return WalkDirectory(client, root.path, visit);
}

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
