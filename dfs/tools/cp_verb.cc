// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "base/console/arguments.h"
#include "base/text.h"
#include "dfs/tools/remote_path.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

// The copy has the replication and the block size of the original, and appears when it is whole.
Status CopyFile(DfsClient& client, const FileStatus& from, const std::string& to, bool overwrite) {
  MILLRACE_ASSIGN(const std::unique_ptr<FileReader> reader, client.Open(from.path));
  WriteOptions options;
  options.replication = from.replication;
  options.block_size = from.block_size;
  options.overwrite = overwrite;
  Result<std::unique_ptr<FileWriter>> writer = client.Create(to, options);
  if (writer.status().code() == StatusCode::kExists) return Exists(writer.status().message() + "; -f replaces it");
  MILLRACE_TRY(writer.status());
  Status written;
  const Status read = reader->Stream(0, from.length, [&](std::string_view piece) {
    written = (*writer)->Write(piece);
    return written.ok();
  });
  MILLRACE_TRY(written);
  MILLRACE_TRY(read);
  return (*writer)->Close();
}

Status CopyTree(DfsClient& client, const FileStatus& from, const std::string& to, bool overwrite) {
  MILLRACE_TRY(client.MakeDirectory(to));
  std::vector<FileStatus> below;
  MILLRACE_TRY(Walk(client, from.path, [&](const FileStatus& entry) {
    below.push_back(entry);
    return Status::Ok();
  }));
  for (const FileStatus& entry : below) {
    const std::string target = to + entry.path.substr(from.path == "/" ? 0 : from.path.size());
    MILLRACE_TRY(entry.directory ? client.MakeDirectory(target) : CopyFile(client, entry, target, overwrite));
  }
  return Status::Ok();
}

struct CopyOptions {
  bool recursive = false, overwrite = false;
};

Status Copy(DfsClient& client, const Args& sources, const std::string& target, const CopyOptions& options) {
  MILLRACE_ASSIGN(const std::string to, CanonicalPath(target));
  MILLRACE_TRY(CheckNotTrash(to));
  MILLRACE_ASSIGN(const std::vector<std::string> all, ExpandPatterns(client, sources));
  const Result<FileStatus> there = client.Stat(to);
  if (!there.ok() && there.status().code() != StatusCode::kNotFound) return there.status();
  const bool into = there.ok() && there->directory;
  if (!there.ok()) MILLRACE_TRY(CheckParent(client, to));
  if (all.size() > 1 && !into) return Invalid(Quote(to) + " is not a directory; make it first");
  for (const std::string& source : all) {
    MILLRACE_ASSIGN(const FileStatus from, client.Stat(source));
    const std::string place = into ? JoinPath(to, LastName(from.path)) : to;
    if (!from.directory) {
      if (!into && target.ends_with('/')) return Invalid(Quote(to) + " is not a directory; make it first");
      if (place == from.path) return Invalid(Quote(place) + " and its copy are the same file");
      MILLRACE_TRY(CopyFile(client, from, place, options.overwrite));
      continue;
    }
    if (!options.recursive) return Invalid(Quote(from.path) + ": is a directory; -r copies it with everything in it");
    if (IsWithin(place, from.path)) return Invalid(Quote(from.path) + ": cannot be copied into itself");
    MILLRACE_TRY(CopyTree(client, from, place, options.overwrite));
  }
  return Status::Ok();
}

}  // namespace

int RunCp(const Args& args, const FsContext& context) {
  CopyOptions options;
  console::Arguments arguments(
      "fs cp", "SOURCE... TARGET",
      "Copies files within the file system, by way of this machine: to the name TARGET, or into TARGET if that is a "
      "directory.");
  arguments.Example("/in/2024/*.log /archive");
  arguments.Flag("-r,-R,--recursive", &options.recursive, "copy directories with everything in them");
  arguments.Flag("-f,--force", &options.overwrite, "replace a file that exists");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Args sources = arguments.operands();
  const std::string target = sources.back();
  sources.pop_back();
  if (const Status checked = CheckPaths(arguments.operands()); !checked.ok()) {
    console::SayError(context.console, "fs cp", checked);
    return console::kWrongUsage;
  }
  return WithClient(context, "cp", [&](DfsClient& client) { return Copy(client, sources, target, options); });
}

}  // namespace millrace::dfs
