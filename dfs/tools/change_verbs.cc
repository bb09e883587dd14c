// SPDX-License-Identifier: Apache-2.0
// Holds the verbs mkdir, mv and setrep.
#include <charconv>

#include "base/console/arguments.h"
#include "base/text.h"
#include "dfs/tools/remote_path.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {

int RunMkdir(const Args& args, const FsContext& context) {
  bool parents = true;
  std::string mode_text;
  console::Arguments arguments("fs mkdir", "PATH...",
                               "Makes directories and their parents. Existing directories are not an error.");
  arguments.Flag("-p,--parents", &parents, "accepted for compatibility: parents are always made");
  arguments.Text("--mode", &mode_text, "mode of the directories, such as 750 or u=rwx,go=; parents have 755");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  const Result<Mode> mode = ModeOf(mode_text, kDirectoryMode, true);
  if (!mode.ok()) {
    console::SayError(context.console, "fs mkdir", mode.status().Within("--mode"));
    return console::kWrongUsage;
  }
  return ForEachPath(context, "mkdir", arguments.operands(),
                     [&](DfsClient& client, const std::string& path) { return client.MakeDirectory(path, *mode); });
}

int RunMv(const Args& args, const FsContext& context) {
  console::Arguments arguments("fs mv", "SOURCE... TARGET",
                               "Renames SOURCE to TARGET, or moves it into TARGET if that is a directory.");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Args sources = arguments.operands();
  const std::string target = sources.back();
  sources.pop_back();
  if (const Status checked = CheckPaths(arguments.operands()); !checked.ok()) {
    console::SayError(context.console, "fs mv", checked);
    return console::kWrongUsage;
  }
  return WithClient(context, "mv", [&](DfsClient& client) -> Status {
    MILLRACE_ASSIGN(const std::string to, CanonicalPath(target));
    MILLRACE_TRY(CheckNotTrash(to));
    MILLRACE_TRY(CheckParent(client, to));
    MILLRACE_ASSIGN(const std::vector<std::string> all, ExpandPatterns(client, sources));
    if (all.size() > 1 || target.ends_with('/')) {
      const Result<FileStatus> found = client.Stat(to);
      if (!found.ok() && found.status().code() != StatusCode::kNotFound) return found.status();
      bool fits = found.ok() && found->directory;
      if (!found.ok() && all.size() == 1) {  // a directory may get a new name with a slash at its end, as mv takes it
        MILLRACE_ASSIGN(const FileStatus from, client.Stat(all[0]));
        fits = from.directory;
      }
      if (!fits) return Invalid(Quote(to) + " is not a directory; make it first");
    }
    for (const std::string& from : all) MILLRACE_TRY(client.Rename(from, to));
    return Status::Ok();
  });
}

int RunSetrep(const Args& args, const FsContext& context) {
  bool recursive = true;
  console::Arguments arguments("fs setrep", "REPLICAS PATH...",
                               "Sets how many replicas a file, or each file below a directory, should have.");
  arguments.Flag("-R,--recursive", &recursive,
                 "accepted for compatibility: files below directories are always included");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Args paths = arguments.operands();
  const std::string text = paths.front();
  paths.erase(paths.begin());
  std::uint32_t replicas = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), replicas);
  if (error != std::errc() || end != text.data() + text.size() || replicas < 1 || replicas > 64) {
    console::SayError(context.console, "fs setrep",
                      Invalid(Quote(text) + " is not a number of replicas from 1 to 64, which "
                                            "stands before the paths"));
    return console::kWrongUsage;
  }
  return ForEachMatch(context, "setrep", paths, [&](DfsClient& client, const std::string& path) {
    return Walk(client, path, [&](const FileStatus& entry) {
      return entry.directory ? Status::Ok() : client.SetReplication(entry.path, replicas);
    });
  });
}

}  // namespace millrace::dfs
