// SPDX-License-Identifier: Apache-2.0
#include "client/solo/local_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "dfs/wire/pattern.h"

namespace millrace::solo {
namespace {

class LocalTree final : public dfs::PathTree {
 public:
  Result<std::string> Canonical(std::string_view path) override { return std::string(path); }
  Result<bool> Exists(const std::string& path) override {
    struct stat entry {};
    return ::lstat(path.c_str(), &entry) == 0;
  }
  Result<std::vector<std::string>> NamesIn(const std::string& directory) override {
    const std::string path = directory.empty() ? "." : directory;
    struct stat entry {};
    if (::stat(path.c_str(), &entry) != 0 || !S_ISDIR(entry.st_mode)) return std::vector<std::string>();
    return ListDirectory(path);
  }
};

bool Hidden(const std::string& name) { return name.starts_with('_') || name.starts_with('.'); }

// Appends the file, or the files below the directory, whose names begin with `prefix`.
Status Collect(const std::string& path, const std::string& prefix, std::vector<InputFile>* found) {
  struct stat entry {};
  if (::stat(path.c_str(), &entry) != 0) return FromErrno(errno, "input " + Quote(path));
  if (!S_ISDIR(entry.st_mode)) {
    if (!S_ISREG(entry.st_mode)) return Invalid("input " + Quote(path) + " is neither a file nor a directory");
    const std::string name = prefix.empty() ? path.substr(path.rfind('/') + 1) : prefix;
    found->push_back({path, name, static_cast<std::uint64_t>(entry.st_size), 0});
    return Status::Ok();
  }
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    if (!Hidden(name)) MILLRACE_TRY(Collect(path + "/" + name, (prefix.empty() ? "" : prefix + "/") + name, found));
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<std::string>> MatchLocal(const std::string& path) {
  LocalTree tree;
  return dfs::ExpandPattern(tree, path, dfs::Hidden::kMarks);
}

Result<std::vector<InputFile>> ListLocal(const std::string& path) {
  std::vector<InputFile> files;
  MILLRACE_TRY(Collect(path, "", &files));
  return files;
}

Result<std::vector<InputFile>> ListLocalInput(const std::string& input) {
  MILLRACE_ASSIGN(const std::vector<std::string> matches, MatchLocal(input));
  if (matches.empty()) return NotFound("input " + Quote(input) + ": the pattern matches no file");
  std::vector<InputFile> files;
  for (const std::string& match : matches) MILLRACE_TRY(Collect(match, "", &files));
  return files;
}

}  // namespace millrace::solo
