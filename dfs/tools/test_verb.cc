// SPDX-License-Identifier: Apache-2.0
// Holds the verb test.
#include <algorithm>
#include <vector>

#include "base/console/arguments.h"
#include "dfs/client/match_files.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

struct Asked {
  bool exists = false, directory = false, file = false, filled = false, empty = false;
  [[nodiscard]] int count() const { return exists + directory + file + filled + empty; }
};

bool Holds(const Asked& asked, const FileStatus& info) {
  if (asked.directory) return info.directory;
  if (asked.file) return !info.directory;
  if (asked.filled) return !info.directory && info.length > 0;
  if (asked.empty) return !info.directory && info.length == 0;
  return true;
}

}  // namespace

int RunTest(const Args& args, const FsContext& context) {
  Asked asked;
  console::Arguments arguments("fs test", "(-e | -d | -f | -s | -z) PATH",
                               "Tells by the exit status whether something is so: 0 yes, 1 no, and then nothing is "
                               "printed. A pattern is asked about all that it matches: one is enough.");
  arguments.Example("-e /out/_SUCCESS && millrace fs get /out");
  arguments.Flag("-e", &asked.exists, "the path exists");
  arguments.Flag("-d", &asked.directory, "it is a directory");
  arguments.Flag("-f", &asked.file, "it is a file");
  arguments.Flag("-s", &asked.filled, "it is a file and is not empty");
  arguments.Flag("-z", &asked.empty, "it is a file and is empty");
  if (const auto status = arguments.Parse(args, context.console, 1, 1)) return *status;
  Status wrong = CheckPaths(arguments.operands());
  if (asked.count() != 1) wrong = Invalid("give one of -e, -d, -f, -s and -z; see millrace fs test --help");
  if (!wrong.ok()) {
    console::SayError(context.console, "fs test", wrong);
    return console::kWrongUsage;
  }
  bool holds = false;
  const int status = WithClient(context, "test", [&](DfsClient& client) -> Status {
    const Result<std::vector<FileStatus>> found = MatchFiles(client, arguments.operands()[0], Hidden::kDots);
    if (found.status().code() == StatusCode::kNotFound) return Status::Ok();
    MILLRACE_TRY(found.status());
    holds = std::ranges::any_of(*found, [&](const FileStatus& info) { return Holds(asked, info); });
    return Status::Ok();
  });
  return status == console::kDone && !holds ? console::kFailed : status;
}

}  // namespace millrace::dfs
