// SPDX-License-Identifier: Apache-2.0
#include "client/job/list_input.h"

#include <string_view>
#include <utility>

#include "base/text.h"
#include "dfs/client/match_files.h"
#include "dfs/wire/path.h"

namespace millrace {
namespace {

bool Hidden(std::string_view name) { return name.starts_with('_') || name.starts_with('.'); }

// Appends a file, or the files below a directory, by names below `root`.
Status Collect(dfs::DfsClient& files, const dfs::FileStatus& entry, const std::string& root,
               std::vector<InputFile>* found) {
  if (!entry.directory) {
    std::string name =
        entry.path == root ? std::string(dfs::BaseName(root)) : entry.path.substr(root == "/" ? 1 : root.size() + 1);
    found->push_back({entry.path, std::move(name), entry.length, entry.block_size});
    return Status::Ok();
  }
  std::vector<dfs::FileStatus> entries;
  MILLRACE_TRY(files.List(entry.path, [&](const dfs::FileStatus& each) {
    if (!Hidden(dfs::BaseName(each.path))) entries.push_back(each);
    return true;
  }));
  for (const dfs::FileStatus& each : entries) MILLRACE_TRY(Collect(files, each, root, found));
  return Status::Ok();
}

}  // namespace

Result<std::vector<InputFile>> ListInput(dfs::DfsClient& files, const std::string& input) {
  MILLRACE_ASSIGN(const std::vector<dfs::FileStatus> matches, dfs::MatchFiles(files, input, dfs::Hidden::kMarks));
  if (matches.empty()) return NotFound("input " + Quote(input) + ": the pattern matches no file");
  std::vector<InputFile> found;
  for (const dfs::FileStatus& match : matches) MILLRACE_TRY(Collect(files, match, match.path, &found));
  return found;
}

}  // namespace millrace
