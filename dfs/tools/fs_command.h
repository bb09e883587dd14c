// `millrace fs VERB ...`: the file system from a command line. Thread rule: the main thread, before others start.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/console/console.h"
#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

struct FsContext {
  console::Console console;
  // Called once, after the arguments were found right. Its failure is exit status 3.
  std::function<Result<std::unique_ptr<DfsClient>>()> connect;
};

// `args`: those after "fs". Gives the exit status (console.h); every failure is one line on standard error.
[[nodiscard]] int RunFsCommand(const std::vector<std::string>& args, const FsContext& context);

struct FsVerb {
  std::string name;
  std::string one_line;
  int (*run)(const std::vector<std::string>& args, const FsContext& context);
};
// In the order of --help.
[[nodiscard]] const std::vector<FsVerb>& FsVerbs();

}  // namespace millrace::dfs
