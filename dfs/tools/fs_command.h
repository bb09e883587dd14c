// SPDX-License-Identifier: Apache-2.0
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
  // Called once, after the arguments were checked. If it fails, the exit status is 3.
  std::function<Result<std::unique_ptr<DfsClient>>()> connect;
};

// Runs a command; `args` are the arguments after "fs". Returns the exit status (console.h). Every failure is one line
// on standard error.
[[nodiscard]] int RunFsCommand(const std::vector<std::string>& args, const FsContext& context);

struct FsVerb {
  std::string name;
  std::string one_line;
  int (*run)(const std::vector<std::string>& args, const FsContext& context);
};
// Returns the verbs in the order of --help.
[[nodiscard]] const std::vector<FsVerb>& FsVerbs();

}  // namespace millrace::dfs
