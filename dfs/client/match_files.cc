// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/match_files.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

// Remembers all answers, so it asks for nothing twice.
class ClientTree final : public PathTree {
 public:
  explicit ClientTree(DfsClient& client) : client_(client) {}

  Result<std::string> Canonical(std::string_view path) override { return CanonicalPath(path); }
  Result<bool> Exists(const std::string& path) override {
    if (seen_.contains(path)) return true;
    Result<FileStatus> info = client_.Stat(path);
    if (info.status().code() == StatusCode::kNotFound) return false;
    MILLRACE_TRY(info.status());
    seen_.emplace(path, std::move(info).value());
    return true;
  }
  Result<std::vector<std::string>> NamesIn(const std::string& directory) override {
    std::vector<std::string> names;
    MILLRACE_ASSIGN(const bool exists, Exists(directory));
    if (!exists || !seen_.at(directory).directory) return names;
    MILLRACE_TRY(client_.List(directory, [&](const FileStatus& entry) {
      names.emplace_back(BaseName(entry.path));
      seen_.emplace(entry.path, entry);
      return true;
    }));
    return names;
  }

  [[nodiscard]] FileStatus Take(const std::string& path) { return std::move(seen_.extract(path).mapped()); }

 private:
  DfsClient& client_;
  std::map<std::string, FileStatus, std::less<>> seen_;
};

}  // namespace

Result<std::vector<FileStatus>> MatchFiles(DfsClient& client, std::string_view path, Hidden hidden) {
  if (!HasPattern(path)) {
    MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
    MILLRACE_ASSIGN(FileStatus info, client.Stat(canonical));
    return std::vector<FileStatus>{std::move(info)};
  }
  ClientTree tree(client);
  MILLRACE_ASSIGN(const std::vector<std::string> paths, ExpandPattern(tree, path, hidden));
  std::vector<FileStatus> found;
  for (const std::string& each : paths) found.push_back(tree.Take(each));
  return found;
}

}  // namespace millrace::dfs
