// SPDX-License-Identifier: Apache-2.0
// Holds the verb touch.
#include <memory>

#include "base/console/arguments.h"
#include "base/text.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

// Makes an empty file. What exists is never replaced, since somebody may write it at this moment.
Status Touch(DfsClient& client, const std::string& path, bool quiet, const console::Console& console) {
  Result<std::unique_ptr<FileWriter>> writer = client.Create(path, {});
  const Status made = writer.ok() ? (*writer)->Close() : writer.status();
  if (made.ok()) return made;
  const Result<FileStatus> there = client.Stat(path);
  if (!there.ok()) return made;
  if (!quiet) {
    console::SayLine(console, "millrace: fs touch: " + Quote(path) +
                                  " exists already and stays as it is; the time of a file cannot be set");
  }
  return Status::Ok();
}

}  // namespace

int RunTouch(const Args& args, const FsContext& context) {
  bool quiet = false;
  console::Arguments arguments("fs touch", "PATH...",
                               "Makes empty files where nothing exists yet, and their parents. What exists stays as it "
                               "is, its time included.");
  arguments.Flag("-q,--quiet", &quiet, "do not mention paths that exist already");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  return ForEachPath(context, "touch", arguments.operands(), [&](DfsClient& client, const std::string& path) {
    return Touch(client, path, quiet, context.console);
  });
}

}  // namespace millrace::dfs
