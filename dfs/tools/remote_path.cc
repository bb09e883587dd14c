#include "dfs/tools/remote_path.h"

#include <vector>

#include "base/text.h"

namespace millrace::dfs {
namespace {

constexpr std::size_t kLongestName = 255;

Status WalkDirectory(DfsClient& client, const std::string& path, const std::function<Status(const FileInfo&)>& visit) {
  std::vector<std::string> directories;
  Status visited;
  MILLRACE_TRY(client.List(path, [&](const FileInfo& entry) {
    if (entry.directory) directories.push_back(entry.path);
    visited = visit(entry);
    return visited.ok();
  }));
  MILLRACE_TRY(visited);
  for (const std::string& directory : directories) MILLRACE_TRY(WalkDirectory(client, directory, visit));
  return Status::Ok();
}

}  // namespace

Result<std::string> CheckPath(std::string_view path) {
  if (path.empty() || path.front() != '/') return Invalid(Quote(path) + ": a path of the file system begins with /");
  std::string out;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    if (name == "..") return Invalid(Quote(path) + ": \"..\" has no meaning here; write the path without it");
    if (name.size() > kLongestName)
      return Invalid("name " + Quote(name) + " is too long; a name has at most 255 bytes");
    out += '/';
    out += name;
  }
  return out.empty() ? std::string("/") : out;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::string LastName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

Status Walk(DfsClient& client, const std::string& path, const std::function<Status(const FileInfo&)>& visit) {
  MILLRACE_ASSIGN(const FileInfo root, client.Stat(path));
  if (!root.directory) return visit(root);
  return WalkDirectory(client, root.path, visit);
}

}  // namespace millrace::dfs
