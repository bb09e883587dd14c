// SPDX-License-Identifier: Apache-2.0
// Holds the verb getmerge.
#include <algorithm>
#include <string>
#include <vector>

#include "base/console/arguments.h"
#include "base/console/interrupt.h"
#include "base/local_place.h"
#include "base/text.h"
#include "dfs/client/match_files.h"
#include "dfs/tools/get.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

// Returns the files that the sources stand for: those in a directory by their names, without markers such as _SUCCESS.
Result<std::vector<FileStatus>> FilesToMerge(DfsClient& client, const Args& sources) {
  std::vector<FileStatus> files;
  for (const std::string& source : sources) {
    MILLRACE_ASSIGN(const std::vector<FileStatus> found, MatchFiles(client, source, Hidden::kDots));
    if (found.empty()) return NotFound(Quote(source) + ": nothing matches");
    for (const FileStatus& each : found) {
      if (!each.directory) {
        files.push_back(each);
        continue;
      }
      std::vector<FileStatus> in;
      MILLRACE_TRY(client.List(each.path, [&](const FileStatus& entry) {
        const std::string_view name = BaseName(entry.path);
        if (!entry.directory && !name.starts_with('_') && !name.starts_with('.')) in.push_back(entry);
        return true;
      }));
      std::ranges::sort(in, {}, &FileStatus::path);
      files.insert(files.end(), in.begin(), in.end());
    }
  }
  return files;
}

struct MergeOptions {
  bool overwrite = false, newline = false, skip_empty = false;
};

Status Merge(DfsClient& client, const std::vector<FileStatus>& files, const MergeOptions& options,
             const console::Interrupt& interrupt, const WriteBytes& write) {
  for (const FileStatus& file : files) {
    if (options.skip_empty && file.length == 0) continue;
    MILLRACE_TRY(CopyOut(client, file, {}, write, &interrupt, nullptr));
    if (options.newline) MILLRACE_TRY(write("\n"));
  }
  return Status::Ok();
}

Status MergeInto(DfsClient& client, const Args& sources, const std::string& target, const MergeOptions& options,
                 const console::Interrupt& interrupt, int standard_output) {
  MILLRACE_ASSIGN(const std::vector<FileStatus> files, FilesToMerge(client, sources));
  if (target == "-") {
    return Merge(client, files, options, interrupt,
                 [&](std::string_view bytes) { return console::WriteOut(standard_output, bytes); });
  }
  Result<LocalFile> place = LocalFile::Open(target, {.replace = options.overwrite});
  if (place.status().code() == StatusCode::kExists && LookAtLocal(target) == LocalKind::kFile)
    return Exists(Quote(target) + ": exists already; -f replaces it");
  MILLRACE_TRY(place.status());
  MILLRACE_TRY(Merge(client, files, options, interrupt,
                     [&](std::string_view bytes) { return console::WriteOut(place->fd(), bytes, Quote(target)); }));
  return place->Commit();
}

}  // namespace

int RunGetmerge(const Args& args, const FsContext& context) {
  MergeOptions options;
  console::Arguments arguments(
      "fs getmerge", "SOURCE... TARGET",
      "Fetches files as one: all that the sources stand for, one after another, into the local "
      "file TARGET, or to standard output for -. A directory stands for the files in it, by "
      "their names; those that begin with _ or . are left out, as jobs do.");
  arguments.Example("/out words.txt");
  arguments.OneDash();
  arguments.Flag("-n,--nl,--newline", &options.newline, "add a newline after each file");
  arguments.Flag("--skip-empty-file", &options.skip_empty, "leave empty files out, and their newlines");
  arguments.Flag("-f,--force", &options.overwrite, "replace a local file that exists");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Args sources = arguments.operands();
  const std::string target = sources.back();
  sources.pop_back();
  if (const Status checked = CheckPaths(sources); !checked.ok()) {
    console::SayError(context.console, "fs getmerge", checked);
    return console::kWrongUsage;
  }
  const console::Interrupt interrupt;
  const int status = WithClient(context, "getmerge", [&](DfsClient& client) {
    return MergeInto(client, sources, target, options, interrupt, context.console.out);
  });
  return status == console::kFailed && interrupt.Seen() ? console::kInterrupted : status;
}

}  // namespace millrace::dfs
